#include "neura/backend/cpu/fft/fft_four_step.h"

#include <cmath>

#include "neura/backend/cpu/fft/fft_interleaved.h"
#include "neura/backend/cpu/streaming_store.h"

namespace neura {
namespace {

using std::int64_t;

// f(a, b, first line, count) for tiles of `lines` lines of n elements.
template <class T, class F> void each_tile(const FftLineSpace<T>& space, int64_t lines, int64_t n, F f) {
  const int64_t lanes = fft_kernels_of<T>().lanes, work = 2 * lanes * n * int64_t(std::log2(double(n)) + 1);
  parallel_for((lines + lanes - 1) / lanes, kSerial / work + 1, [&](int64_t begin, int64_t end) {
    const int slot = space.slots->take();
    T* const at = space.tiles + slot * space.tile_size;
    const int64_t part = space.tile_size / 4;
    for (; begin < end; ++begin) {
      const int64_t first = begin * lanes;
      f(FftTile<T>{at, at + part}, FftTile<T>{at + 2 * part, at + 3 * part}, first,
        int(std::min(lanes, lines - first)));
    }
    space.slots->give(slot);
  });
}

// Element (r, c) of the matrix is element r columns + c of the line, and r + rows c of its transform.
template <class T>
void as_matrix(const FftPlan<T>& plan, const T* from, T* to, bool inverse, T scale, const FftLineSpace<T>& space) {
  const FftKernels<T>& k = fft_kernels_of<T>();
  const int64_t rows = plan.rows, columns = plan.columns;
  const T* const between = plan.between();
  each_tile(space, columns, rows, [&](FftTile<T> a, FftTile<T> b, int64_t first, int count) {
    const T* in[kFftLanes];
    T* out[kFftLanes];
    for (int l = 0; l < count; ++l) in[l] = from + 2 * (first + l), out[l] = space.matrix + 2 * (first + l);
    k.load({in, count, rows, 2 * columns, 1}, inverse ? a.turned() : a);
    const FftTile<T> y = k.transform(*plan.of_columns, a, b);
    k.twist(y, between + 2 * first, rows, columns, count);
    k.store(y, {out, count, rows, 2 * columns, 1}, T(1));
  });
  each_tile(space, rows, columns, [&](FftTile<T> a, FftTile<T> b, int64_t first, int count) {
    const T* in[kFftLanes];
    T* out[kFftLanes];
    for (int l = 0; l < count; ++l) in[l] = space.matrix + 2 * (first + l) * columns, out[l] = to + 2 * (first + l);
    k.load({in, count, columns, 2, 1}, a);
    const FftTile<T> y = k.transform(*plan.of_rows, a, b);
    k.store(inverse ? y.turned() : y, {out, count, columns, 2 * rows, 1}, scale);
  });
}

// Where both sizes fill vectors of adjacent lines. Between, the matrix is as many of its rows at a time, of which each
// column is a vector: each transform reads or writes rows of a vector far apart, and is alone with them in the cache.
template <class T> struct SquareMatrix {
  const FftPlan<T>& plan;
  const FftInterleavedKernels<T>& kernels = fft_interleaved_kernels_of<T>();

  bool fit() const {
    const int64_t lanes = kernels.lanes;
    return lanes && plan.batches() && kFftBatch % lanes == 0 && plan.rows % lanes == 0 &&
           plan.of_columns->column_steps(false) && plan.of_rows->column_steps(false);
  }
  void run(const T* from, T* to, bool inverse, T scale, const FftLineSpace<T>& space) const {
    const int64_t rows = plan.rows, columns = plan.columns, wide = 2 * kernels.lanes;
    const FftSteps<T>&down = *plan.of_columns->column_steps(inverse), &across = *plan.of_rows->column_steps(inverse);
    const T *const heads = plan.heads(), *const tails = plan.tails();
    // Whole lines of the cache, which would be read before they are written.
    const bool past = space.past && wide * sizeof(T) == 64 && reinterpret_cast<std::uintptr_t>(to) % 64 == 0;
    each(space, columns, rows, [&](int64_t first, T* work) {
      T* const y = down.radices.size() % 2 ? work + wide * rows : work;
      kernels.columns(down, rows, {from + 2 * first, 2 * columns}, {y, wide}, T(1), work);
      kernels.turn(y, rows, heads + first / kFftBatch * rows * 2, tails + first % kFftBatch * 2, inverse,
                   space.matrix + wide * first, wide * columns);
    });
    each(space, rows, columns, [&](int64_t first, T* work) {
      kernels.columns(across, columns, {space.matrix + 2 * first * columns, wide},
                      {to + 2 * first, 2 * rows, false, past}, scale, work);
      if (past) stream_done();
    });
  }

 private:
  // f(first, working memory) for as many lines as there are lanes, of n elements each.
  template <class F> void each(const FftLineSpace<T>& space, int64_t lines, int64_t n, const F& f) const {
    const int64_t lanes = kernels.lanes, work = 2 * n * int64_t(std::log2(double(n)) + 1);
    parallel_for(lines / lanes, kSerial / work + 1, [&](int64_t begin, int64_t end) {
      const int slot = space.slots->take();
      for (; begin < end; ++begin) f(begin * lanes, space.tiles + slot * space.tile_size);
      space.slots->give(slot);
    });
  }
};

// to = x w for n complex numbers; `before` and `after` exchange the parts of x and of the result.
template <class T> void multiply(const T* x, const T* w, T* to, int64_t n, bool before, bool after, T scale) {
  parallel_for(n, kSerial / 4, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      const T re = x[2 * i + before] * scale, im = x[2 * i + !before] * scale, c = w[2 * i], s = w[2 * i + 1];
      to[2 * i + after] = re * c - im * s, to[2 * i + !after] = re * s + im * c;
    }
  });
}

}  // namespace

template <class T> int64_t FftLineSpace<T>::tile_elements(const FftPlan<T>& plan) {
  const FftPlan<T>& p = plan.inner ? *plan.inner : plan;
  return 4 * std::max(p.rows, p.columns) * kFftLanes;
}

template <class T>
void fft_line(const FftPlan<T>& plan, const T* from, T* to, bool inverse, T scale, const FftLineSpace<T>& space) {
  const auto matrix = [&](const FftPlan<T>& p, const T* x, T* y, bool back, T f) {
    const SquareMatrix<T> by_squares{p};
    by_squares.fit() ? by_squares.run(x, y, back, f, space) : as_matrix(p, x, y, back, f, space);
  };
  if (!plan.inner) return matrix(plan, from, to, inverse, scale);
  const int64_t length = plan.inner->n;
  multiply(from, plan.chirp.data(), space.work, plan.n, inverse, false, T(1));
  std::fill(space.work + 2 * plan.n, space.work + 2 * length, T(0));
  matrix(*plan.inner, space.work, space.work, false, T(1));
  multiply(space.work, plan.spectrum.data(), space.work, length, false, false, T(1));
  matrix(*plan.inner, space.work, space.work, true, T(1));
  multiply(space.work, plan.chirp.data(), to, plan.n, false, inverse, scale);
}

template struct FftLineSpace<float>;
template struct FftLineSpace<double>;
template void fft_line<float>(const FftPlan<float>&, const float*, float*, bool, float, const FftLineSpace<float>&);
template void fft_line<double>(const FftPlan<double>&, const double*, double*, bool, double,
                               const FftLineSpace<double>&);

}  // namespace neura
