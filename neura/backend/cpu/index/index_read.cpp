#include "neura/backend/cpu/index/index_read.h"

#include <algorithm>
#include <functional>

#include "neura/core/parallel_reduce.h"

namespace neura {

const std::int64_t* dense_index(Context& c, const View& index) {
  const std::int64_t n = index.numel();
  if (index.dtype() == DType::int64 && index.spec->contiguous) return index.as<std::int64_t>();
  std::int64_t* const to = c.scratch_of<std::int64_t>(n);
  const auto gather = [&]<class T>(const T* from) {
    StridedIterator<1> o;
    for (int d = 0; d < index.rank(); ++d) o.add(index.size(d), {index.stride(d)});
    if (n) o.seek(0);
    for (std::int64_t i = 0; i < n; ++i, o.next()) to[i] = std::int64_t(from[o.at[0]]);
  };
  if (index.dtype() == DType::int64) gather(index.as<std::int64_t>());
  else gather(index.as<std::int32_t>());
  return to;
}

bool all_inside(Context& c, const std::int64_t* index, std::int64_t n, std::int64_t bound) {
  const auto some_outside = [&](std::int64_t b, std::int64_t e) { return any_outside(index + b, e - b, bound); };
  if (!parallel_reduce(n, kSerial, false, some_outside, std::logical_or<>())) return true;
  const auto outside = [&](std::int64_t i) { return std::uint64_t(i) >= std::uint64_t(bound); };
  return c.fail_index(*std::find_if(index, index + n, outside), bound), false;
}

const std::int64_t* checked_index(Context& c, const View& index, std::int64_t bound) {
  const std::int64_t* const p = dense_index(c, index);
  return all_inside(c, p, index.numel(), bound) ? p : nullptr;
}

template <> Small<true>::Small(float x) {
  std::uint32_t u;
  std::memcpy(&u, &x, 4);
  bits = x != x ? 0x7fc0 : std::uint16_t((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}
template <> Small<true>::operator float() const {
  const std::uint32_t u = std::uint32_t(bits) << 16;
  float x;
  std::memcpy(&x, &u, 4);
  return x;
}
template <> Small<false>::Small(float x) {
  // 112 is the difference of the exponents' biases. Adding 0.5 rounds a subnormal; the rest is rounded as an integer.
  std::uint32_t u;
  std::memcpy(&u, &x, 4);
  const std::uint32_t sign = u >> 16 & 0x8000;
  u &= 0x7fffffff;
  if (u > 0x7f800000) {
    bits = 0x7e00;
  } else if (u >= 0x47800000) {
    bits = 0x7c00;
  } else if (u < 0x38800000) {
    float a;
    std::memcpy(&a, &u, 4);
    a += 0.5f;
    std::memcpy(&u, &a, 4);
    bits = std::uint16_t(u - 0x3f000000);
  } else {
    bits = std::uint16_t((u - (112u << 23) + 0xfff + (u >> 13 & 1)) >> 13);
  }
  bits = std::uint16_t(bits | sign);
}
template <> Small<false>::operator float() const {
  std::uint32_t u = std::uint32_t(bits & 0x7fff) << 13;
  float x;
  if ((bits & 0x7c00) == 0x7c00) u |= 0x7f800000;
  else if (bits & 0x7c00) u += 112u << 23;
  else u = 0;
  std::memcpy(&x, &u, 4);
  if (!(bits & 0x7c00)) x = float(bits & 0x3ff) * 0x1p-24f;
  return bits & 0x8000 ? -x : x;
}

void divide(const View& out, const std::int64_t* counts) {
  visit_number(out.dtype(), [&]<class T>(T) {
    T* p = out.as<T>();
    for (std::int64_t i = 0; i < out.numel(); ++i) {
      const std::int64_t n = counts[i];
      if (n <= 1) continue;
      if constexpr (std::is_integral_v<T>) p[i] = T(std::int64_t(p[i]) / n - (std::int64_t(p[i]) % n < 0));
      else if constexpr (is_complex_number<T>) p[i] /= T(n);
      else p[i] = T(p[i] / n);
    }
  });
}

}  // namespace neura
