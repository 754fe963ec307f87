// Fourier transforms one dimension after the other: many lines as tiles, single and long ones as matrices.
#include "neura/backend/kernels/fft.h"

#include <cmath>

#include "neura/backend/cpu/fft/fft_job.h"
#include "neura/backend/cpu/fft/fft_four_step.h"
#include "neura/backend/cpu/fft/fft_dense.h"

namespace neura {
namespace {

using std::int64_t;
// Bytes of one part of a line from which a tile leaves the caches and a matrix is faster: of lines side by side, which
// a matrix would have to gather; of others; and of complex ones whose rows and columns fill tiles.
constexpr int64_t kLongColumn = 256 << 10, kLongRow = 48 << 10, kLongSquare = 2 << 10;
constexpr int64_t kPast = 4 << 20;   // bytes of long lines from which results are written past the caches
constexpr int64_t kImage = 1 << 20;  // bytes of an image that stays in the cache

template <class T> FftTile<T> other(FftTile<T> y, FftTile<T> a, FftTile<T> b) { return y.re == a.re ? b : a; }

template <class T> void tile(const FftJob<T>& job, FftTile<T> a, FftTile<T> b, int64_t row, int count) {
  const FftKernels<T>& k = fft_kernels_of<T>();
  const FftPlan<T>& plan = *job.plan;
  const T* in[kFftLanes];
  T* out[kFftLanes];
  for (int l = 0; l < count; ++l) in[l] = job.from(row + l), out[l] = job.to(row + l);
  const FftLines<const T> source = job.source(in, count);
  FftLines<T> target = job.target(out, count);
  if (job.kind == FftKind::complex) {
    k.load(source, job.inverse ? a.turned() : a);
    const FftTile<T> y = k.transform(plan, a, b);
    return k.store(job.inverse ? y.turned() : y, target, job.scale);
  }
  k.load(source, a);
  if (job.kind == FftKind::real_inverse) {
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

template <class T> void as_tiles(Context& c, const FftJob<T>& job) {
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

template <class T> void unpack_line(const FftJob<T>& job, const T* pairs, T* to) {
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
template <class T> void pack_line(const FftJob<T>& job, const T* from, T* pairs) {
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
template <class T> void mirror_line(const FftJob<T>& job, const T* from, T* to) {
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
template <class T> void line(const FftJob<T>& job, int64_t row, T* buffer, const FftLineSpace<T>& space) {
  const T* const from = job.from(row);
  T* const to = job.to(row);
  const FftLines<const T> source = job.source(&from, 1);
  const FftLines<T> target = job.target(&to, 1);
  const T* x = from;
  if (job.kind == FftKind::real_inverse)
    job.even ? pack_line(job, from, buffer) : mirror_line(job, from, buffer), x = buffer;
  else if (source.step != 2 || source.gap != 1) gather(source, buffer), x = buffer;
  const bool direct = job.kind != FftKind::real && target.step == 2 && target.gap == 1;
  T* const y = direct ? to : buffer;
  const T factor = job.kind == FftKind::real && job.even ? T(1) : job.scale;
  fft_line(*job.plan, x, y, job.inverse, factor, space);
  if (direct) return;
  if (job.kind == FftKind::real && job.even) return unpack_line(job, buffer, to);
  if (job.kind == FftKind::real)
    for (int64_t k = 2; k < 2 * job.bins; ++k) buffer[k] *= job.weight;
  scatter(buffer, target);
}

template <class T> void as_lines(Context& c, const FftJob<T>& job) {
  const bool together = job.in.count < get_num_threads();  // all threads at one line, or each at its own
  Slots slots;
  const int outer = together ? 1 : slots.count, inner = together ? slots.count : 1;
  const int64_t size = (2 * job.plan->room() + 15) / 16 * 16, tile = FftLineSpace<T>::tile_elements(*job.plan);
  const bool direct = job.kind == FftKind::complex && job.step_in == 2 && job.step_out == 2;
  const int64_t buffer = direct ? 0 : (2 * (job.n + 1) + 15) / 16 * 16, work = job.plan->inner ? size : 0;
  const int64_t each = size + work + buffer + inner * tile;
  const bool past = job.in.count * job.n * 2 * int64_t(sizeof(T)) >= kPast && !job.plan->inner;
  T* const all = c.scratch_of<T>(outer * each);
  const auto run = [&](int64_t begin, int64_t end) {
    const int slot = together ? 0 : slots.take();
    T *const matrix = all + slot * each, *const own = matrix + size + work;
    Slots tiles;
    const FftLineSpace<T> space{matrix, matrix + size, own + buffer, tile, &tiles, direct && past};
    for (; begin < end; ++begin) line(job, begin, own, space);
    if (!together) slots.give(slot);
  };
  if (together) run(0, job.in.count);
  else parallel_for(job.in.count, kSerial / (16 * job.plan->room()) + 1, run);
}

template <class T> void run(Context& c, const FftJob<T>& job) {
  if (const FftDense<T> near(job); near) return near.run(c);
  const FftPlan<T>& plan = *job.plan;
  const int lanes = fft_kernels_of<T>().lanes;
  const bool fills = job.kind == FftKind::complex && !plan.inner && job.step_in == 2 && job.step_out == 2 &&
                     plan.rows % lanes == 0 && plan.columns % lanes == 0;
  const bool row = job.step_in == (job.kind == FftKind::real ? 1 : 2);
  const bool is_long = plan.room() * int64_t(sizeof(T)) > (fills ? kLongSquare : row ? kLongRow : kLongColumn);
  const bool matrix = plan.split() && (is_long || job.in.count < lanes);
  matrix ? as_lines(c, job) : as_tiles(c, job);
}

// Jobs that follow one another, each on what the one before has written. Where they are of small images, image by
// image, which then stays in the cache of a thread.
template <class T> class Jobs {
 public:
  Jobs(const View& y, const FftShape& s) : shape_(s) {
    int64_t least = y.rank(), numbers = 1;
    for (const int64_t d : s.dims) least = std::min(least, d);
    for (int d = 0; d < y.rank(); ++d) (d < least ? images_ : numbers) *= y.size(d);
    small_ = numbers * 2 * int64_t(sizeof(T)) <= kImage;
  }
  void add(FftKind kind, const View& x, const View& y, int64_t dim, bool last) {
    jobs_.emplace_back(kind, x, y, int(dim), shape_, last ? T(shape_.scale) : T(1));
  }
  // Complex transforms over dims[0] to dims[count - 1].
  void over(View x, const View& y, int count, bool last) {
    for (int i = count; i-- > 0; x = y) add(FftKind::complex, x, y, shape_.dims[i], last && !i);
  }
  void run(Context& c) const {
    if (!by_images(c))
      for (const FftJob<T>& job : jobs_) neura::run<T>(c, job);
  }

 private:
  bool by_images(Context& c) const {
    if (jobs_.size() < 2 || images_ < get_num_threads() || !small_) return false;
    std::vector<FftDense<T>> all;
    int64_t space = 0, work = 0;
    for (const FftJob<T>& job : jobs_) {
      const FftDense<T>& near = all.emplace_back(job);
      if (!near) return false;
      space = std::max(space, near.space()), work += near.work() * (near.units() / images_);
    }
    Slots slots;
    T* const spaces = c.scratch_of<T>(space * slots.count);
    parallel_for(images_, kSerial / work + 1, [&](int64_t image, int64_t end) {
      const int slot = slots.take();
      for (; image < end; ++image)
        for (const FftDense<T>& near : all) {
          const int64_t each = near.units() / images_;
          near.run(image * each, (image + 1) * each, spaces + slot * space);
        }
      slots.give(slot);
    });
    return true;
  }

  const FftShape& shape_;
  std::vector<FftJob<T>> jobs_;
  int64_t images_ = 1;
  bool small_ = false;
};

template <class T> void complex_of(Context& c, View x, View y, const FftShape& s) {
  Jobs<T> jobs(y, s);
  jobs.over(x, y, s.dims.size(), true);
  jobs.run(c);
}
template <class T> void real_of(Context& c, View x, View y, const FftShape& s) {
  const int others = s.dims.size() - 1;
  FftShape forward = s;
  forward.inverse = false;
  Jobs<T> jobs(y, forward);
  jobs.add(FftKind::real, x, y, s.dims.back(), !others);
  jobs.over(y, y, others, true);
  jobs.run(c);
}
template <class T> void real_inverse_of(Context& c, View x, View y, const FftShape& s) {
  const int others = s.dims.size() - 1;
  const Spec spec = Spec::dense(x.dtype(), x.spec->sizes(), x.spec->device);
  const View half = others ? View{static_cast<char*>(c.scratch(spec.bytes())), &spec} : x;
  FftShape inverse = s;
  inverse.inverse = true;
  Jobs<T> jobs(y, inverse);
  jobs.over(x, half, others, false);
  jobs.add(FftKind::real_inverse, half, y, s.dims.back(), true);
  jobs.run(c);
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
