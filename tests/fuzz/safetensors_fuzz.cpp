// clang++ -fsanitize=fuzzer,address,undefined: any bytes load or are refused with a FormatError.
#include <cstdint>

#include "neura/io/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    neura::load_bytes(std::as_bytes(std::span(data, size)), "cpu");
  } catch (const neura::FormatError&) {
  }
  return 0;
}
