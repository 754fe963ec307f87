// A model as small programs have it behind them: no JSON, no hashes and no names of tensors, for neura deploy has
// checked the file that it was. Numbers are 64 bits, little-endian; a text is its length and its bytes. In this order:
// version, names of outputs, pairs of metadata, the program, and how many externals it has that are in the file; zeros
// up to a multiple of 64; and these tensors, each of which begins at such a multiple.
#pragma once
#include <cstdint>
#include <string>

namespace neura {
struct ProgramFile;
}

namespace neura::cli {

inline constexpr std::uint64_t kPlainAlign = 64;
constexpr std::uint64_t plain_aligned(std::uint64_t at) { return (at + kPlainAlign - 1) / kPlainAlign * kPlainAlign; }

std::string plain_bytes(const ProgramFile&);

}  // namespace neura::cli
