// Fourier transforms one dimension after the other: many lines as tiles, single and long ones as matrices.
#include "neura/backend/kernels/fft.h"

#include <cmath>

#include "neura/backend/cpu/fft_line.h"

namespace neura {
namespace {

using std::int64_t;
// Bytes of one part of a line from which a tile leaves the caches and a matrix is faster: of lines side by side, which
// a matrix would have to gather; of others; and of complex ones whose rows and columns fill tiles.
constexpr int64_t kLongColumn = 256 << 10, kLongRow = 48 << 10, kLongSquare = 2 << 10;

enum class Kind { complex, real, real_inverse };

// The lines of one dimension of one call. A real line of even length is a complex one of half as many pairs.
template <class T> struct Job {
  Kind kind;
  bool inverse, even;
  int64_t n, bins;  // real numbers and bins, of a real transform; of a complex one both are the length
  T scale, weight;  // weight: of bins that stand for two
  Rows in, out;
  int64_t step_in, step_out;  // in numbers, of which a complex element has two
  std::shared_ptr<const FftPlan<T>> plan;

  Job(Kind k, const View& x, const View& y, int dim, const FftShape& s, T f)
      : kind(k), inverse(k == Kind::complex ? s.inverse : k == Kind::real_inverse), scale(f), in(x, dim), out(y, dim) {
    n = k == Kind::real ? x.size(dim) : y.size(dim);
    bins = k == Kind::complex ? n : n / 2 + 1;
    even = k != Kind::complex && n % 2 == 0;
    weight = k == Kind::real ? T(s.two_fold ? 2 : 1) : T(s.two_fold ? 1 : 0.5);
    step_in = in.stride / int64_t(sizeof(T)), step_out = out.stride / int64_t(sizeof(T));
    plan = fft_plan<T>(even ? n / 2 : n);
  }
  int64_t half() const { return n / 2; }
  int64_t room() const { return std::max(plan->room(), bins); }
  const T* from(int64_t row) const { return reinterpret_cast<const T*>(in.at(row)); }
  T* to(int64_t row) const { return reinterpret_cast<T*>(out.at(row)); }
  // Operands as lines for load and store.
  FftLines<const T> source(const T* const* at, int count) const {
    if (kind != Kind::real) return {at, count, bins, step_in, 1};
    return even ? FftLines<const T>{at, count, half(), 2 * step_in, step_in}
                : FftLines<const T>{at, count, n, step_in, kFftReal};
  }
  FftLines<T> target(T* const* at, int count) const {
    if (kind != Kind::real_inverse) return {at, count, bins, step_out, 1};
    return even ? FftLines<T>{at, count, half(), 2 * step_out, step_out}
                : FftLines<T>{at, count, n, step_out, kFftReal};
  }
};

template <class T> FftTile<T> other(FftTile<T> y, FftTile<T> a, FftTile<T> b) { return y.re == a.re ? b : a; }

template <class T> void tile(const Job<T>& job, FftTile<T> a, FftTile<T> b, int64_t row, int count) {
  const FftKernels<T>& k = fft_kernels_of<T>();
  const FftPlan<T>& plan = *job.plan;
  const T* in[kFftLanes];
  T* out[kFftLanes];
  for (int l = 0; l < count; ++l) in[l] = job.from(row + l), out[l] = job.to(row + l);
  const FftLines<const T> source = job.source(in, count);
  FftLines<T> target = job.target(out, count);
  if (job.kind == Kind::complex) {
    k.load(source, job.inverse ? a.turned() : a);
    const FftTile<T> y = k.transform(plan, a, b);
    return k.store(job.inverse ? y.turned() : y, target, job.scale);
  }
  k.load(source, a);
  if (job.kind == Kind::real_inverse) {
    FftTile<T> x = a;
    if (job.even) k.pack(a, b, job.half(), plan.half_roots(), job.weight), x = b;
    else k.mirror(a, job.n, job.weight);
    const FftTile<T> y = k.transform(plan, x.turned(), other(x, a, b).turned());
    return k.store(y.turned(), target, job.scale);
  }
  const FftTile<T> y = k.transform(plan, a, b);
  if (job.even) {
    const FftTile<T> bins = other(y, a, b);
    k.unpack(y, bins, job.half(), plan.half_roots(), job.weight);
    return k.store(bins, target, job.scale);
  }
  target.n = 1;
  k.store(y, target, job.scale);
  for (int l = 0; l < count; ++l) out[l] += job.step_out;
  target.n = job.bins - 1;
  k.store({y.re + k.lanes, y.im + k.lanes}, target, job.scale * job.weight);
}

template <class T> void as_tiles(Context& c, const Job<T>& job) {
  const int64_t lanes = fft_kernels_of<T>().lanes, tiles = (job.in.count + lanes - 1) / lanes, room = job.room();
  const int64_t part = (room * lanes + 15) / 16 * 16, work = 2 * lanes * room * int64_t(std::log2(double(room)) + 1);
  Slots slots;
  T* const space = c.scratch_of<T>(4 * part * slots.count);
  parallel_for(tiles, kSerial / work + 1, [&](int64_t begin, int64_t end) {
    const int slot = slots.take();
    T* const at = space + 4 * part * slot;
    for (; begin < end; ++begin)
      tile(job, FftTile<T>{at, at + part}, FftTile<T>{at + 2 * part, at + 3 * part}, begin * lanes,
           int(std::min(lanes, job.in.count - begin * lanes)));
    slots.give(slot);
  });
}

// The same steps as those of a tile for one line, of numbers side by side.
template <class T> struct Z { T re, im; };
template <class T> Z<T> times(Z<T> a, Z<T> b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

template <class T> void unpack_line(const Job<T>& job, const T* pairs, T* to) {
  const int64_t half = job.half(), step = job.step_out;
  const T f = job.weight * job.scale / 2, *const roots = job.plan->half_roots();
  const T first = pairs[0], second = pairs[1];
  to[0] = (first + second) * job.scale, to[1] = 0;
  to[half * step] = (first - second) * job.scale, to[half * step + 1] = 0;
  for (int64_t k = 1; k <= half / 2; ++k) {
    const Z<T> a{pairs[2 * k], pairs[2 * k + 1]}, b{pairs[2 * (half - k)], pairs[2 * (half - k) + 1]};
    const Z<T> even{a.re + b.re, a.im - b.im};
    const Z<T> odd = times(Z<T>{a.im + b.im, b.re - a.re}, Z<T>{roots[2 * k], roots[2 * k + 1]});
    to[(half - k) * step] = (even.re - odd.re) * f, to[(half - k) * step + 1] = (odd.im - even.im) * f;
    to[k * step] = (even.re + odd.re) * f, to[k * step + 1] = (even.im + odd.im) * f;
  }
}
template <class T> void pack_line(const Job<T>& job, const T* from, T* pairs) {
  const int64_t half = job.half(), step = job.step_in;
  const T f = job.weight, *const roots = job.plan->half_roots();
  pairs[0] = from[0] + from[half * step], pairs[1] = from[0] - from[half * step];
  for (int64_t k = 1; k <= half / 2; ++k) {
    const T *const low = from + k * step, *const high = from + (half - k) * step;
    const Z<T> even{low[0] + high[0], low[1] - high[1]};
    const Z<T> odd = times(Z<T>{low[0] - high[0], low[1] + high[1]}, Z<T>{roots[2 * k], -roots[2 * k + 1]});
    pairs[2 * (half - k)] = (even.re + odd.im) * f, pairs[2 * (half - k) + 1] = (odd.re - even.im) * f;
    pairs[2 * k] = (even.re - odd.im) * f, pairs[2 * k + 1] = (even.im + odd.re) * f;
  }
}
template <class T> void mirror_line(const Job<T>& job, const T* from, T* to) {
  to[0] = from[0], to[1] = 0;
  for (int64_t k = 1; k < job.bins; ++k) {
    const T re = from[k * job.step_in] * job.weight, im = from[k * job.step_in + 1] * job.weight;
    to[2 * k] = re, to[2 * k + 1] = im, to[2 * (job.n - k)] = re, to[2 * (job.n - k) + 1] = -im;
  }
}
// Elements as load and store see them, to complex numbers side by side and back.
template <class T> void gather(const FftLines<const T>& l, T* to) {
  for (int64_t i = 0; i < l.n; ++i) {
    to[2 * i] = l.at[0][i * l.step];
    to[2 * i + 1] = l.gap != kFftReal ? l.at[0][i * l.step + l.gap] : T(0);
  }
}
template <class T> void scatter(const T* from, const FftLines<T>& l) {
  for (int64_t i = 0; i < l.n; ++i) {
    l.at[0][i * l.step] = from[2 * i];
    if (l.gap != kFftReal) l.at[0][i * l.step + l.gap] = from[2 * i + 1];
  }
}

// buffer: 2 (n + 1) numbers.
template <class T> void line(const Job<T>& job, int64_t row, T* buffer, const FftLineSpace<T>& space) {
  const T* const from = job.from(row);
  T* const to = job.to(row);
  const FftLines<const T> source = job.source(&from, 1);
  const FftLines<T> target = job.target(&to, 1);
  const T* x = from;
  if (job.kind == Kind::real_inverse)
    job.even ? pack_line(job, from, buffer) : mirror_line(job, from, buffer), x = buffer;
  else if (source.step != 2 || source.gap != 1) gather(source, buffer), x = buffer;
  const bool direct = job.kind != Kind::real && target.step == 2 && target.gap == 1;
  T* const y = direct ? to : buffer;
  const T factor = job.kind == Kind::real && job.even ? T(1) : job.scale;
  fft_line(*job.plan, x, y, job.inverse, factor, space);
  if (direct) return;
  if (job.kind == Kind::real && job.even) return unpack_line(job, buffer, to);
  if (job.kind == Kind::real)
    for (int64_t k = 2; k < 2 * job.bins; ++k) buffer[k] *= job.weight;
  scatter(buffer, target);
}

template <class T> void as_lines(Context& c, const Job<T>& job) {
  const bool together = job.in.count < get_num_threads();  // all threads at one line, or each at its own
  Slots slots;
  const int outer = together ? 1 : slots.count, inner = together ? slots.count : 1;
  const int64_t size = (2 * job.plan->room() + 15) / 16 * 16, tile = FftLineSpace<T>::tile_elements(*job.plan);
  const bool direct = job.kind == Kind::complex && job.step_in == 2 && job.step_out == 2;
  const int64_t buffer = direct ? 0 : (2 * (job.n + 1) + 15) / 16 * 16, work = job.plan->inner ? size : 0;
  const int64_t each = size + work + buffer + inner * tile;
  T* const all = c.scratch_of<T>(outer * each);
  const auto run = [&](int64_t begin, int64_t end) {
    const int slot = together ? 0 : slots.take();
    T *const matrix = all + slot * each, *const own = matrix + size + work;
    Slots tiles;
    const FftLineSpace<T> space{matrix, matrix + size, own + buffer, tile, &tiles};
    for (; begin < end; ++begin) line(job, begin, own, space);
    if (!together) slots.give(slot);
  };
  if (together) run(0, job.in.count);
  else parallel_for(job.in.count, kSerial / (16 * job.plan->room()) + 1, run);
}

template <class T> void run(Context& c, Kind kind, const View& x, const View& y, int dim, const FftShape& s, T scale) {
  const Job<T> job(kind, x, y, dim, s, scale);
  const FftPlan<T>& plan = *job.plan;
  const int lanes = fft_kernels_of<T>().lanes;
  const bool fills = kind == Kind::complex && !plan.inner && job.step_in == 2 && job.step_out == 2 &&
                     plan.rows % lanes == 0 && plan.columns % lanes == 0;
  const bool row = job.in.stride == size_of(x.dtype());
  const bool is_long = plan.room() * int64_t(sizeof(T)) > (fills ? kLongSquare : row ? kLongRow : kLongColumn);
  const bool matrix = plan.split() && (is_long || job.in.count < lanes);
  matrix ? as_lines(c, job) : as_tiles(c, job);
}

// Complex transforms over dims[0] to dims[count - 1].
template <class T> void over(Context& c, View x, const View& y, const FftShape& s, int count, T scale) {
  for (int i = count; i-- > 0; x = y) run<T>(c, Kind::complex, x, y, int(s.dims[i]), s, i ? T(1) : scale);
}

template <class T> void complex_of(Context& c, View x, View y, const FftShape& s) {
  over<T>(c, x, y, s, s.dims.size(), T(s.scale));
}
template <class T> void real_of(Context& c, View x, View y, const FftShape& s) {
  const int others = s.dims.size() - 1;
  run<T>(c, Kind::real, x, y, int(s.dims.back()), s, others ? T(1) : T(s.scale));
  FftShape forward = s;
  forward.inverse = false;
  over<T>(c, y, y, forward, others, T(s.scale));
}
template <class T> void real_inverse_of(Context& c, View x, View y, const FftShape& s) {
  const int others = s.dims.size() - 1;
  if (!others) return run<T>(c, Kind::real_inverse, x, y, int(s.dims.back()), s, T(s.scale));
  const Spec spec = Spec::dense(x.dtype(), x.spec->sizes(), x.spec->device);
  const View half{static_cast<char*>(c.scratch(spec.bytes())), &spec};
  FftShape inverse = s;
  inverse.inverse = true;
  over<T>(c, x, half, inverse, others, T(1));
  run<T>(c, Kind::real_inverse, half, y, int(s.dims.back()), s, T(s.scale));
}

bool wide(const View& x) { return to_real(x.dtype()) == DType::float64; }
void complex(Context& c, View x, View y, const FftShape& s) {
  if (y.numel()) wide(x) ? complex_of<double>(c, x, y, s) : complex_of<float>(c, x, y, s);
}
void real(Context& c, View x, View y, const FftShape& s) {
  if (y.numel()) wide(x) ? real_of<double>(c, x, y, s) : real_of<float>(c, x, y, s);
}
void real_inverse(Context& c, View x, View y, const FftShape& s) {
  if (y.numel()) wide(x) ? real_inverse_of<double>(c, x, y, s) : real_inverse_of<float>(c, x, y, s);
}

}  // namespace

const fft_kernels* cpu_fft() {
  static constexpr fft_kernels table{.complex = &complex, .real = &real, .real_inverse = &real_inverse};
  return &table;
}

}  // namespace neura
