// clang++ -fsanitize=fuzzer,address,undefined: any bytes are read as a picture of any format, or refused with a
// FormatError.
#include <cstdint>

#include "neura/data/image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    neura::data::decode_image(std::as_bytes(std::span(data, size)), neura::data::ImageMode::rgb, true);
  } catch (const neura::FormatError&) {
  } catch (const neura::NotImplementedError&) {  // JPEG or WebP in a library without it
  }
  return 0;
}
