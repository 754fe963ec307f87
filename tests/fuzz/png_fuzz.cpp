// clang++ -fsanitize=fuzzer,address,undefined: any bytes are read or refused with a FormatError.
#include <cstdint>

#include "neura/data/png.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    neura::data::decode_png(std::as_bytes(std::span(data, size)));
  } catch (const neura::FormatError&) {
  }
  return 0;
}
