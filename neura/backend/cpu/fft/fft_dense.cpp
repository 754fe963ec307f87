#include "neura/backend/cpu/fft/fft_dense.h"

#include <cmath>
#include <cstring>

namespace neura {
namespace {

using std::int64_t;

constexpr int64_t kTogether = 1024;  // elements of lines that go through each pass together: a part of the cache
constexpr int64_t kAhead = 512;      // longest line for which the next ones, prefetched, fit besides that

int64_t innermost(const Rows& r) { return r.rank ? r.sizes[r.rank - 1] : 1; }
template <class T> int64_t apart(const Rows& r) { return r.rank ? r.strides[r.rank - 1] / int64_t(sizeof(T)) : 0; }

}  // namespace

template <class T> FftDense<T>::FftDense(const FftJob<T>& job)
    : job_(job), kernels_(fft_interleaved_kernels_of<T>()), n_(job.plan->n) {
  if (!kernels_.lanes || (job.kind != FftKind::complex && !job.even)) return;
  row_ = job.kind == FftKind::real ? job.step_in == 1 && job.step_out == 2
                                   : job.step_in == 2 && job.step_out == (job.kind == FftKind::complex ? 2 : 1);
  const int64_t lanes = kernels_.lanes;
  even_ = std::min(innermost(job.in), innermost(job.out));  // the one divides the other
  const double steps = std::log2(double(n_));
  if (row_) {
    steps_ = job.plan->row_steps(job.inverse);
    if (!steps_) return;
    together_ = std::min(std::max<int64_t>(kTogether / n_, 1), even_);
    units_ = job.in.count, space_ = (job.kind == FftKind::complex ? 4 : 6) * n_ * together_;
    work_ = int64_t(double(n_) / double(lanes) * steps) + 1;
  } else {
    if (job.kind != FftKind::complex || even_ < lanes || apart<T>(job.in) != 2 || apart<T>(job.out) != 2) return;
    steps_ = job.plan->column_steps(job.inverse);
    if (!steps_) return;
    blocks_ = (even_ + lanes - 1) / lanes;
    units_ = job.in.count / even_ * blocks_, space_ = 4 * n_ * lanes;
    work_ = int64_t(double(n_) * steps) + 1;
  }
  space_ = (space_ + 15) / 16 * 16;
}

template <class T> void FftDense<T>::lines(int64_t row, int64_t count, T* space) const {
  const bool go_on = job_.kind == FftKind::complex && n_ <= kAhead;
  const FftInterleavedLines<const T> from{job_.from(row), apart<T>(job_.in), go_on};
  const FftInterleavedLines<T> to{job_.to(row), apart<T>(job_.out)}, pairs{space + 4 * n_ * count, 2 * n_};
  const FftInterleavedLines<const T> made{pairs.at, pairs.apart};
  const T* const roots = job_.kind == FftKind::complex ? nullptr : job_.plan->half_roots();
  if (job_.kind == FftKind::complex) {
    kernels_.rows(*steps_, n_, count, from, to, job_.scale, space);
  } else if (job_.kind == FftKind::real) {
    kernels_.rows(*steps_, n_, count, from, pairs, T(1), space);
    for (int64_t k = 0; k < count; ++k) {
      const T* const x = pairs.at + k * pairs.apart;
      T* const y = to.at + k * to.apart;
      kernels_.fold(x, y, n_, roots, false, job_.weight * job_.scale / 2);
      y[0] = (x[0] + x[1]) * job_.scale, y[1] = 0;
      y[2 * n_] = (x[0] - x[1]) * job_.scale, y[2 * n_ + 1] = 0;
    }
  } else {
    for (int64_t k = 0; k < count; ++k) {
      const T* const x = from.at + k * from.apart;
      T* const y = pairs.at + k * pairs.apart;
      kernels_.fold(x, y, n_, roots, true, job_.weight);
      y[0] = x[0] + x[2 * n_], y[1] = x[0] - x[2 * n_];
    }
    kernels_.rows(*steps_, n_, count, made, to, job_.scale, space);
  }
}

template <class T> void FftDense<T>::block(int64_t unit, T* space) const {
  const int64_t lanes = kernels_.lanes, first = unit % blocks_ * lanes, row = unit / blocks_ * even_ + first;
  const T* const from = job_.from(row);
  T* const to = job_.to(row);
  const auto count = std::size_t(std::min(lanes, even_ - first)) * 2;
  if (count == std::size_t(2 * lanes))
    return kernels_.columns(*steps_, n_, {from, job_.step_in}, {to, job_.step_out}, job_.scale, space);
  // Part of a vector: through the halves of the working memory.
  T* const half = space + 2 * n_ * lanes;
  std::fill(space, half, T(0));
  for (int64_t k = 0; k < n_; ++k) std::memcpy(space + 2 * k * lanes, from + k * job_.step_in, count * sizeof(T));
  T* const y = steps_->radices.size() % 2 ? half : space;
  kernels_.columns(*steps_, n_, {space, 2 * lanes}, {y, 2 * lanes}, job_.scale, space);
  for (int64_t k = 0; k < n_; ++k) std::memcpy(to + k * job_.step_out, y + 2 * k * lanes, count * sizeof(T));
}

template <class T> void FftDense<T>::run(int64_t begin, int64_t end, T* space) const {
  while (begin < end) {
    if (!row_) {
      block(begin++, space);
      continue;
    }
    const int64_t count = std::min({together_, end - begin, even_ - begin % even_});
    lines(begin, count, space);
    begin += count;
  }
}
template <class T> void FftDense<T>::run(Context& c) const {
  Slots slots;
  T* const all = c.scratch_of<T>(space_ * slots.count);
  const int64_t grain =
      units_ * work_ < kSerial / 2 ? units_ : kSerial / 16 / work_ + 1;  // two threads, or many pieces
  parallel_for(units_, grain, [&](int64_t begin, int64_t end) {
    const int slot = slots.take();
    run(begin, end, all + slot * space_);
    slots.give(slot);
  });
}

template class FftDense<float>;
template class FftDense<double>;

}  // namespace neura
