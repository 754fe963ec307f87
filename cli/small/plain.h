// The format of the model appended to a small program. It has no JSON, no hashes and no names of tensors:
// neura deploy has checked the file that it comes from. Numbers are 64 bits, little-endian; a text is its length and
// its bytes. In this order: the version; the number of outputs and their names; the number of pairs of metadata and
// these pairs; the program's text (graph::str); the tensors that are not in the text (io/program.h, kInText), in the
// order of the program's externals. Each tensor begins at a multiple of kPlainAlign bytes, with zeros before it.
#pragma once
#include <cstdint>
#include <string>

namespace neura {
struct ProgramFile;
}

namespace neura::cli {

inline constexpr std::uint64_t kPlainAlign = 64;
constexpr std::uint64_t plain_aligned(std::uint64_t at) { return (at + kPlainAlign - 1) / kPlainAlign * kPlainAlign; }

std::string plain_bytes(const ProgramFile&);  // cli/small/embedded_model.cpp reads them

}  // namespace neura::cli
