// Fourier transforms by cuFFT, which takes up to three dimensions at a time of evenly spaced batches.
#include "neura/backend/cuda/fft/fft.h"

#include <algorithm>
#include <vector>

#include "neura/backend/cuda/pointwise/execute.h"
#include "neura/backend/cuda/runtime/scratch.h"

namespace neura::cuda {
namespace {

using std::int64_t;
constexpr int kTogether = 3;       // dimensions that cuFFT transforms at once
constexpr int64_t kMostCalls = 8;  // for one pass: beyond, lines are copied side by side

struct FftCall {
  int index;
  const FftShape& shape;
  Scratch& scratch;
};
// Neighbouring dimensions, which are transformed together; a halved one is the last of them.
struct Pass {
  FftKind kind;
  bool inverse;
  int first, count;
  int end() const { return first + count; }
};

int64_t product(const View& x, int from, int to) {
  int64_t n = 1;
  while (from < to) n *= x.size(from++);
  return n;
}
bool wide(const View& x) { return to_real(x.dtype()) == DType::float64; }

// [outer, inner, line] of x [outer, line, inner]
Spec turned(const View& x, int64_t outer, int64_t line, int64_t inner) {
  const int64_t sizes[] = {outer, inner, line};
  Spec s = Spec::dense(x.dtype(), sizes, x.spec->device);
  s.strides[1] = 1, s.strides[2] = inner;
  s.finish();
  return s;
}

// Lines side by side in memory of its own, there and back.
Failed run_moved(int index, const Pass& p, FftBatch b, int64_t outer, int64_t inner, const View& x, const View& y) {
  Scratch scratch(index, current_stream(index));
  const Spec from = turned(x, outer, b.distance_in, inner), to = turned(y, outer, b.distance_out, inner);
  const Spec dense = Spec::dense(x.dtype(), from.sizes(), x.spec->device),
             result = Spec::dense(y.dtype(), to.sizes(), y.spec->device);
  View lines{nullptr, &dense}, done{nullptr, &result};
  if (Failed f = scratch.take(dense.bytes(), &lines.data)) return f;
  done.data = lines.data;
  if (p.kind != FftKind::complex)
    if (Failed f = scratch.take(result.bytes(), &done.data)) return f;
  if (Failed f = assign(lines, View{x.data, &from})) return f;
  b.batch = outer * inner, b.stride_in = b.stride_out = 1;
  if (Failed f = transform(index, b, p.inverse, lines.data, done.data)) return f;
  return assign(View{y.data, &to}, done);
}

// Of contiguous x and y, which differ at most in the size of a halved dimension.
Failed run(int index, const Pass& p, const View& x, const View& y) {
  const View& real = p.kind == FftKind::real ? x : y;
  FftBatch b{.kind = p.kind, .wide = wide(x), .rank = p.count};
  for (int d = 0; d < p.count; ++d) b.n[d] = real.size(p.first + d);
  const int64_t outer = product(x, 0, p.first), inner = product(x, p.end(), x.rank());
  const int64_t line_in = product(x, p.first, p.end()), line_out = product(y, p.first, p.end());
  if (line_in == 1 && line_out == 1) return assign(y, x);
  b.stride_in = b.stride_out = inner, b.batch = inner;
  const int64_t step_in = line_in * inner * size_of(x.dtype()), step_out = line_out * inner * size_of(y.dtype());
  const int64_t whole = wide(x) ? 16 : 8;  // alignment of complex numbers, and of real ones in cuFFT
  if (inner == 1) {
    b.batch = outer, b.distance_in = line_in, b.distance_out = line_out;
    return transform(index, b, p.inverse, x.data, y.data);
  }
  if (outer > 1 && (outer > kMostCalls || step_in % whole || step_out % whole)) {
    b.distance_in = line_in, b.distance_out = line_out;
    return run_moved(index, p, b, outer, inner, x, y);
  }
  for (int64_t i = 0; i < outer; ++i)
    if (Failed f = transform(index, b, p.inverse, x.data + i * step_in, y.data + i * step_out)) return f;
  return nullptr;
}

// Complex passes over all of `dims` but those from `first` to `end`.
std::vector<Pass> complex_passes(const View& x, const FftShape& s, bool inverse, int first, int end) {
  std::vector<int> dims;
  for (const int64_t d : s.dims)
    if ((d < first || d >= end) && x.size(int(d)) > 1) dims.push_back(int(d));
  std::sort(dims.begin(), dims.end());
  std::vector<Pass> passes;
  for (const int d : dims)
    if (!passes.empty() && passes.back().end() == d && passes.back().count < kTogether) ++passes.back().count;
    else passes.push_back({FftKind::complex, inverse, d, 1});
  return passes;
}
// The halved dimension with the transformed ones right before it.
Pass halved_pass(FftKind kind, bool inverse, const View& x, const FftShape& s) {
  Pass p{kind, inverse, int(s.dims.back()), 1};
  while (p.count < kTogether && s.dims.contains(p.first - 1) && x.size(p.first - 1) > 1) --p.first, ++p.count;
  return p;
}
FftBins bins_of(const View& bins, const FftShape& s, int64_t n, double weight) {
  const int last = int(s.dims.back());
  return {.wide = wide(bins),
          .count = bins.numel(),
          .bins = bins.size(last),
          .inner = product(bins, last + 1, bins.rank()),
          .n = n,
          .factor = s.scale,
          .weight = weight};
}

// x as it is if it is contiguous and aligned for complex numbers.
Failed readable(Scratch& scratch, View& x, Spec& own) {
  if (x.spec->contiguous && reinterpret_cast<std::uintptr_t>(x.data) % (wide(x) ? 16 : 8) == 0) return nullptr;
  own = Spec::dense(x.dtype(), x.spec->sizes(), x.spec->device);
  View copy{nullptr, &own};
  if (Failed f = scratch.take(own.bytes(), &copy.data)) return f;
  if (Failed f = assign(copy, x)) return f;
  x = copy;
  return nullptr;
}

Failed complex_of(const FftCall& c, View x, const View& y) {
  const std::vector<Pass> passes = complex_passes(x, c.shape, c.shape.inverse, 0, 0);
  if (!x.spec->contiguous || passes.empty()) {
    if (Failed f = assign(y, x)) return f;
    x = y;
  }
  for (const Pass& p : passes) {
    if (Failed f = run(c.index, p, x, y)) return f;
    x = y;
  }
  return weigh(c.index, bins_of(y, c.shape, 1, 1), y.data);
}

Failed real_of(const FftCall& c, View x, const View& y) {
  Spec own;
  if (Failed f = readable(c.scratch, x, own)) return f;
  const Pass halved = halved_pass(FftKind::real, false, x, c.shape);
  if (Failed f = run(c.index, halved, x, y)) return f;
  for (const Pass& p : complex_passes(y, c.shape, false, halved.first, halved.end()))
    if (Failed f = run(c.index, p, y, y)) return f;
  const int64_t n = x.size(int(c.shape.dims.back()));
  return weigh(c.index, bins_of(y, c.shape, n, c.shape.two_fold ? 2 : 1), y.data);
}

Failed real_inverse_of(const FftCall& c, View x, const View& y) {
  Spec own;
  if (Failed f = readable(c.scratch, x, own)) return f;
  const Spec spec = Spec::dense(x.dtype(), x.spec->sizes(), x.spec->device);
  View half{nullptr, &spec};
  if (Failed f = c.scratch.take(spec.bytes(), &half.data)) return f;
  FftBins bins = bins_of(x, c.shape, y.size(int(c.shape.dims.back())), c.shape.two_fold ? 1 : 0.5);
  for (int i = 0; i + 1 < c.shape.dims.size(); ++i, ++bins.others) {
    const int d = int(c.shape.dims[i]);
    bins.size[i] = x.size(d), bins.stride[i] = spec.strides[d];
  }
  if (Failed f = weigh_hermitian(c.index, bins, x.data, half.data)) return f;
  const Pass halved = halved_pass(FftKind::real_inverse, true, x, c.shape);
  for (const Pass& p : complex_passes(half, c.shape, true, halved.first, halved.end()))
    if (Failed f = run(c.index, p, half, half)) return f;
  return run(c.index, halved, half, y);
}

template <Failed (*kind)(const FftCall&, View, const View&)> void entry(Context& c, View x, View y, const FftShape& s) {
  if (!y.numel()) return;
  const int index = c.device.index;
  const OnDevice on(index);
  Scratch scratch(index, current_stream(index));
  c.fail(kind({index, s, scratch}, x, y));
}

}  // namespace

const fft_kernels* fft() {
  static constexpr fft_kernels table{
      .complex = &entry<complex_of>, .real = &entry<real_of>, .real_inverse = &entry<real_inverse_of>};
  return &table;
}

}  // namespace neura::cuda
