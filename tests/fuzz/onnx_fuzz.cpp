// clang++ -fsanitize=fuzzer,address,undefined: any bytes load or are refused with an error of Neura's.
#include <cstdint>

#include "neura/onnx/model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    neura::onnx::load_bytes({reinterpret_cast<const char*>(data), size});
  } catch (const neura::Error&) {
  }
  return 0;
}
