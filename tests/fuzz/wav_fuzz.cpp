// clang++ -fsanitize=fuzzer,address,undefined: any bytes are read or refused with a FormatError.
#include <cstdint>

#include "neura/data/wav.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const bool normalize : {true, false}) {
    try {
      neura::data::decode_wav(std::as_bytes(std::span(data, size)), {.normalize = normalize});
    } catch (const neura::FormatError&) {
    }
  }
  return 0;
}
