// A tensor's metadata: dtype, device, sizes and strides. Offset and strides are in elements.
#pragma once
#include "neura/core/device.h"
#include "neura/core/dtype.h"
#include "neura/core/shape.h"

namespace neura {

struct Spec {
  DType dtype = DType::float32;
  std::uint8_t rank = 0;
  Device device;
  bool contiguous = true;  // cached, as is numel: call finish() after an edit of shape or strides
  std::int64_t offset = 0, numel = 1;
  std::int64_t shape[kMaxRank], strides[kMaxRank];  // the first `rank` of each mean something
  Spec() {}                                         // the arrays stay uninitialised: zeroing them costs 25 ns a call

  static Spec dense(DType, std::span<const std::int64_t> shape, Device = {});
  Shape sizes() const { return {shape, rank}; }
  std::size_t bytes() const { return std::size_t(numel) * std::size_t(size_of(dtype)); }
  bool same_shape(const Spec& o) const {
    if (rank != o.rank) return false;
    for (int i = 0; i < rank; ++i)
      if (shape[i] != o.shape[i]) return false;
    return true;
  }
  bool same_geometry(const Spec& o) const;  // the same elements in the same order, of one storage
  bool dense() const;                       // every element of the span exactly once, in any order of dimensions
  bool overlaps() const;                    // may two indices mean one element?
  void finish();                            // numel and contiguous from shape and strides
  std::int64_t span() const;                // elements from the first to the last, inclusive; 0 if empty
  std::string str() const;                  // float32 [2, 3], with the device where it is not the cpu
};

}  // namespace neura
