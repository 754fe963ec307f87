#include "neura/io/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace neura::io {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

}  // namespace

void Sha256::block(const std::uint8_t* at) {
  std::uint32_t w[64];
  for (int i = 0; i < 16; ++i)
    w[i] = std::uint32_t(at[4 * i]) << 24 | std::uint32_t(at[4 * i + 1]) << 16 | std::uint32_t(at[4 * i + 2]) << 8 |
           at[4 * i + 3];
  for (int i = 16; i < 64; ++i) {
    const std::uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  std::array<std::uint32_t, 8> s = h_;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t e = s[4], a = s[0];
    const std::uint32_t one =
        s[7] + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + kRound[i] + w[i];
    const std::uint32_t two =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
    s = {one + two, s[0], s[1], s[2], s[3] + one, s[4], s[5], s[6]};
  }
  for (std::size_t i = 0; i < 8; ++i) h_[i] += s[i];
}

void Sha256::add(const void* bytes, std::size_t n) {
  const auto* at = static_cast<const std::uint8_t*>(bytes);
  while (n) {
    const std::size_t have = std::size_t(size_ % 64), take = std::min(n, 64 - have);
    if (take == 64) {
      block(at);
    } else {
      std::memcpy(rest_ + have, at, take);
      if (have + take == 64) block(rest_);
    }
    at += take, n -= take, size_ += take;
  }
}

std::string Sha256::hex() {
  const std::uint64_t bits = size_ * 8;
  const std::uint8_t one = 0x80, zero = 0;
  add(&one, 1);
  while (size_ % 64 != 56) add(&zero, 1);
  std::uint8_t tail[8];
  for (int i = 0; i < 8; ++i) tail[i] = std::uint8_t(bits >> (56 - 8 * i));
  add(tail, 8);
  std::string text;
  for (const std::uint32_t h : h_)
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[h >> shift & 15];
  return text;
}

}  // namespace neura::io
