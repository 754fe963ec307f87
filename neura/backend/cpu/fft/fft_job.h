// The lines of one dimension of one call.
#pragma once
#include "neura/backend/cpu/fft/fft_tile.h"
#include "neura/backend/cpu/rowwise.h"
#include "neura/backend/kernels/fft.h"

namespace neura {

enum class FftKind { complex, real, real_inverse };

// A real line of even length is a complex one of half as many pairs.
template <class T> struct FftJob {
  FftKind kind;
  bool inverse, even;
  std::int64_t n, bins;  // real numbers and bins, of a real transform; of a complex one both are the length
  T scale, weight;       // weight: of bins that represent two
  Rows in, out;
  std::int64_t step_in, step_out;  // in numbers, of which a complex element has two
  std::shared_ptr<const FftPlan<T>> plan;

  FftJob(FftKind k, const View& x, const View& y, int dim, const FftShape& s, T f)
      : kind(k),
        inverse(k == FftKind::complex ? s.inverse : k == FftKind::real_inverse),
        scale(f),
        in(x, dim),
        out(y, dim) {
    n = k == FftKind::real ? x.size(dim) : y.size(dim);
    bins = k == FftKind::complex ? n : n / 2 + 1;
    even = k != FftKind::complex && n % 2 == 0;
    weight = k == FftKind::real ? T(s.two_fold ? 2 : 1) : T(s.two_fold ? 1 : 0.5);
    step_in = in.stride / std::int64_t(sizeof(T)), step_out = out.stride / std::int64_t(sizeof(T));
    plan = fft_plan<T>(even ? n / 2 : n);
  }
  std::int64_t half() const { return n / 2; }
  std::int64_t room() const { return std::max(plan->room(), bins); }
  const T* from(std::int64_t row) const { return reinterpret_cast<const T*>(in.at(row)); }
  T* to(std::int64_t row) const { return reinterpret_cast<T*>(out.at(row)); }
  // Operands as lines for load and store.
  FftLines<const T> source(const T* const* at, int count) const {
    if (kind != FftKind::real) return {at, count, bins, step_in, 1};
    return even ? FftLines<const T>{at, count, half(), 2 * step_in, step_in}
                : FftLines<const T>{at, count, n, step_in, kFftReal};
  }
  FftLines<T> target(T* const* at, int count) const {
    if (kind != FftKind::real_inverse) return {at, count, bins, step_out, 1};
    return even ? FftLines<T>{at, count, half(), 2 * step_out, step_out}
                : FftLines<T>{at, count, n, step_out, kFftReal};
  }
};

}  // namespace neura
