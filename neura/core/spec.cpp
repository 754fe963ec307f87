#include "neura/core/spec.h"

#include "neura/core/error.h"

namespace neura {

void Spec::finish() {
  numel = 1, contiguous = true;
  for (int i = rank - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != numel) contiguous = false;
    numel *= shape[i];
  }
  contiguous |= numel == 0;
}

Spec Spec::dense(DType dtype, std::span<const std::int64_t> sizes, Device device) {
  check<ShapeError>(sizes.size() <= std::size_t(kMaxRank), [&] {
    return "shape: expected at most " + std::to_string(kMaxRank) + " dimensions, got " + std::to_string(sizes.size()) +
           "; flatten some of them";
  });
  Spec s;
  s.dtype = dtype, s.rank = std::uint8_t(sizes.size()), s.device = device;
  std::int64_t step = 1;
  bool fits = true;
  for (int i = s.rank - 1; i >= 0; --i) {
    const std::int64_t n = sizes[std::size_t(i)];
    check<ValueError>(n >= 0, [&] { return "shape: expected sizes of 0 and up, got " + neura::str(sizes); });
    s.shape[i] = n, s.strides[i] = step;
    fits &= !__builtin_mul_overflow(s.numel, n, &s.numel);
    fits &= !__builtin_mul_overflow(step, std::max<std::int64_t>(n, 1), &step);
  }
  // Of any dtype, a later conversion included; where addresses have 32 bits, of this one.
  const std::int64_t most = PTRDIFF_MAX / (sizeof(void*) == 8 ? 16 : size_of(dtype));
  check<ValueError>(fits && step <= most,
                    [&] { return "shape: expected a tensor that fits into memory, got " + neura::str(sizes); });
  return s;
}

bool Spec::same_geometry(const Spec& o) const {
  if (!same_shape(o) || offset != o.offset) return false;
  for (int i = 0; i < rank; ++i)
    if (shape[i] > 1 && strides[i] != o.strides[i]) return false;
  return true;
}

bool Spec::dense() const {
  if (contiguous) return true;
  std::int64_t expected = 1;  // find the dimension with each stride in turn
  bool used[kMaxRank] = {};
  for (int found = 0; found < rank; ++found) {
    int next = -1;
    for (int i = 0; i < rank && next < 0; ++i)
      if (!used[i] && (shape[i] == 1 || strides[i] == expected)) next = i;
    if (next < 0) return false;
    used[next] = true, expected *= shape[next];
  }
  return true;
}

bool Spec::overlaps() const {  // no, if each stride steps over all that the smaller ones span
  if (contiguous) return false;
  std::int64_t reach = 0;
  bool used[kMaxRank] = {};
  for (int found = 0; found < rank; ++found) {
    int next = -1;
    for (int i = 0; i < rank; ++i)
      if (!used[i] && (next < 0 || strides[i] < strides[next])) next = i;
    used[next] = true;
    if (shape[next] > 1 && strides[next] <= reach) return true;
    reach += (shape[next] - 1) * strides[next];
  }
  return false;
}

std::int64_t Spec::span() const {
  if (numel == 0) return 0;
  std::int64_t last = 0;
  for (int i = 0; i < rank; ++i) last += (shape[i] - 1) * strides[i];
  return last + 1;
}

std::string Spec::str() const {
  std::string s = std::string(name(dtype)) + " " + neura::str({shape, rank});
  return device.is_cpu() ? s : s + " on " + device.str();
}

}  // namespace neura
