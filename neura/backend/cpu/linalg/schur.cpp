// Sweeps of many shifts, and early deflation of what a window at the end has already found (Braman, Byers and Mathias,
// The multishift QR algorithm, parts I and II, 2002). Both are LAPACK's; what is here is their order and their sizes:
// LAPACK's own choice continues with small sweeps where a block is small enough for the plain algorithm.
#include "neura/backend/cpu/linalg/schur.h"

#include <cmath>

namespace neura::blocked {
namespace {

template <class T> class Schur {
 public:
  using Routines = lapack::SchurRoutines<T>;
  using Range = typename Routines::Range;
  Schur(Context& c, const Routines& l, const typename Routines::Problem& p, T* re, T* im)
      : l_(l), p_(p), re_(re), im_(im) {
    const int64_t n = p.n;
    most_ = std::min(2 * window_, n);
    size_ = l.workspace_laqr3(p, most_);
    for (T** m : {&v_, &t_, &u_}) *m = c.scratch_of<T>(n * std::max(most_, 3 * shifts_));
    square_ = c.scratch_of<T>(9 * shifts_ * shifts_);
    work_ = c.scratch_of<T>(size_);
  }
  int run(Range whole) {
    Range r = whole;
    failed_ = 1;
    for (int64_t round = 0; r.high >= whole.low && round < 30 * std::max<int64_t>(10, p_.n); ++round) {
      r.low = r.high;
      while (r.low > whole.low && at(r.low, r.low - 1) != 0) --r.low;
      if (r.high - r.low < least_) {
        if (const int info = l_.lahqr(p_, r, re_, im_)) return info;
        r.high = r.low - 1, failed_ = 1;
      } else {
        step(r);
      }
    }
    return r.high < whole.low ? 0 : int(r.high);
  }

 private:
  T& at(int64_t i, int64_t j) const { return p_.h[(i - 1) + (j - 1) * p_.ld]; }

  void step(Range& r) {
    const int64_t rows = r.high - r.low + 1;
    int64_t window = std::min(rows, failed_ < 5 ? window_ : most_);
    if (window >= rows - 1) window = rows;
    else if (const int64_t i = r.high - window + 1;
             window < most_ && std::abs(at(i, i - 1)) > std::abs(at(i - 1, i - 2)))
      ++window;
    const auto [left, deflated] = l_.laqr3(p_, r, window, re_, im_, v_, t_, u_, work_, size_);
    r.high -= deflated;
    if (!deflated || (100 * deflated <= 14 * window && r.high - r.low >= least_)) sweep(r, left);
    failed_ = deflated ? 1 : failed_ + 1;
  }
  // With the values that the window left over as shifts, at the end of the range.
  void sweep(Range r, int64_t left) {
    int64_t count = std::min(shifts_, std::max<int64_t>(2, r.high - r.low)) / 2 * 2, first = r.high - left + 1;
    if (failed_ % 6 == 0) first = exceptional(r, count);
    else {
      if (left <= count / 2) first = of_last(r, count);
      sort(first, r.high);
      pair(first, r.high);
    }
    count = std::min(count, r.high - first + 1) / 2 * 2;
    if (!count) return;
    first = r.high - count + 1;
    l_.laqr5(p_, r, count, re_ + first - 1, im_ + first - 1, v_, square_, t_, u_);
  }
  int64_t exceptional(Range r, int64_t count) {  // a cycle is left by other shifts
    const int64_t first = r.high - count + 1;
    for (int64_t i = r.high; i > first; i -= 2) {
      const T size = std::abs(at(i, i - 1)) + (i - 1 > r.low ? std::abs(at(i - 1, i - 2)) : T(0));
      re_[i - 1] = re_[i - 2] = T(0.75) * size + at(i, i);
      im_[i - 2] = T(0.6614) * size, im_[i - 1] = -im_[i - 2];
    }
    return first;
  }
  int64_t of_last(Range r, int64_t count) {  // of the last rows and columns
    const int64_t first = r.high - count + 1;
    for (int64_t j = 0; j < count; ++j)
      for (int64_t i = 0; i < count; ++i) square_[j * count + i] = i <= j + 1 ? at(first + i, first + j) : T(0);
    T unread{};
    const int info = l_.lahqr({false, count, square_, count, &unread}, {1, count}, re_ + first - 1, im_ + first - 1);
    if (info < count - 1) return first + info;
    for (int64_t i = 0; i < count; ++i) re_[first + i - 1] = at(r.high, r.high), im_[first + i - 1] = 0;
    return first;
  }
  void sort(int64_t first, int64_t last) {  // descending
    for (int64_t i = first + 1; i <= last; ++i)
      for (int64_t k = i; k > first && size(k - 1) < size(k); --k) swap(k - 1, k);
  }
  T size(int64_t i) const { return std::abs(re_[i - 1]) + std::abs(im_[i - 1]); }
  void swap(int64_t i, int64_t j) { std::swap(re_[i - 1], re_[j - 1]), std::swap(im_[i - 1], im_[j - 1]); }
  void pair(int64_t first, int64_t last) {  // conjugates side by side, two real ones side by side
    for (int64_t i = last; i >= first + 2; i -= 2)
      if (im_[i - 1] != -im_[i - 2]) swap(i, i - 1), swap(i - 1, i - 2);
  }

  const Routines& l_;
  const typename Routines::Problem& p_;
  T *const re_, *const im_;
  const int64_t shifts_ = p_.n < 192 ? 12 : p_.n < 384 ? 16 : 24, window_ = shifts_;
  const int64_t least_ = p_.whole && p_.n < 192 ? 40 : 64;  // rows that are worth a sweep
  int64_t most_, size_;
  T *v_, *t_, *u_, *square_, *work_;
  int64_t failed_ = 1;  // rounds without a deflation, and one
};

}  // namespace

template <class T> int schur(Context& c, const lapack::SchurRoutines<T>& l,
                             const typename lapack::SchurRoutines<T>::Problem& p,
                             typename lapack::SchurRoutines<T>::Range r, T* re, T* im) {
  Context own(c.backend, c.device, c.op);
  return Schur<T>(own, l, p, re, im).run(r);
}

template int schur(Context&, const lapack::SchurRoutines<float>&, const lapack::SchurRoutines<float>::Problem&,
                   lapack::SchurRoutines<float>::Range, float*, float*);
template int schur(Context&, const lapack::SchurRoutines<double>&, const lapack::SchurRoutines<double>::Problem&,
                   lapack::SchurRoutines<double>::Range, double*, double*);

}  // namespace neura::blocked
