// SHA-256 (FIPS 180-4): by which a file says that its bytes are those that were written.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace neura::io {

class Sha256 {
 public:
  void add(const void* bytes, std::size_t n);
  std::string hex();  // of all that was added; nothing may be added after it

 private:
  void block(const std::uint8_t* at);
  std::array<std::uint32_t, 8> h_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::uint8_t rest_[64];
  std::uint64_t size_ = 0;
};

}  // namespace neura::io
