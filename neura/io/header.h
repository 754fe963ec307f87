// The JSON header of a safetensors file, checked: every tensor is within the data, none overlap, nothing is left
// over.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "neura/core/dtype.h"
#include "neura/core/file.h"

namespace neura {
class MapLocation;
struct TensorFile;
}  // namespace neura

namespace neura::io {

struct TensorEntry {
  std::string name;
  DType dtype;
  std::vector<std::int64_t> shape;   // one longer than a tensor's may be: a complex one ends in 2
  std::uint64_t begin = 0, end = 0;  // in the file's data
};

struct Header {
  std::vector<TensorEntry> tensors;  // as in the header
  std::map<std::string, std::string> metadata;
  std::uint64_t data = 0;  // where the data begins in the file
};

inline constexpr std::uint64_t kMaxHeader = 100'000'000;  // bytes; the format's own limit

// A name from a file as a message may show it: in quotes, short, without control characters.
std::string shown(const std::string& name);

// FormatError, with the place, for everything that is not a valid file.
Header read_header(const Source& source);
// The header as text, with its size in front, padded so that the data begins at a multiple of 8.
std::string write_header(const Header& header);

// As load_file(), of bytes anywhere. Tensors of a mapped source are in its pages.
TensorFile read_tensors(const Source&, const MapLocation&);

}  // namespace neura::io
