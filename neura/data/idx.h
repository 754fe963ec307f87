// The idx format of MNIST: a magic number with type and rank, big-endian sizes, values in row order; plain or gzip.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "neura/core/tensor.h"

namespace neura::data {

// uint8, int8, int16, int32, float32 or float64, as the file says. IoError; FormatError, with the offset, for a damaged
// file; the sizes in its header are checked against its length before anything is allocated.
Tensor read_idx(const std::string& path);
// The same of bytes in memory; `name` is what errors call them.
Tensor parse_idx(std::span<const std::byte> bytes, const std::string& name = "idx");
// Writes a contiguous copy of a tensor of one of these dtypes, gzip where the name ends in ".gz". DTypeError, IoError.
void write_idx(const std::string& path, const Tensor& tensor);

}  // namespace neura::data
