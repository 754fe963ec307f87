// Eigenvalues and vectors of a tridiagonal matrix by divide and conquer: it is cut into two of half its size and a
// correction of rank one (Cuppen, A divide and conquer method for the symmetric tridiagonal eigenproblem, 1981), whose
// parts that change nothing are left out (Dongarra and Sorensen, A fully parallel algorithm for the symmetric
// eigenvalue problem, 1987). The vector of the correction is found again from the roots, so that vectors are orthogonal
// (Gu and Eisenstat, A divide-and-conquer algorithm for the symmetric tridiagonal eigenproblem, 1995). All threads
// share the roots and the products; the smallest parts, and each root, are LAPACK's.
#include <cmath>
#include <limits>
#include <numeric>

#include "neura/backend/cpu/linalg/spectral.h"
#include "neura/backend/cpu/linalg/parallel_steps.h"

namespace neura::blocked {
namespace {

constexpr int64_t kLeaf = 32;   // rows of the smallest parts, at most
constexpr int64_t kRows = 32;   // of a task
constexpr int64_t kAlone = 96;  // rows that are not worth a second thread
constexpr int64_t kSteps = 4;   // of a level: deflate, roots, vector of the correction, vectors

template <class T> class Divide {
 public:
  Divide(Context& c, const lapack::Routines<T>& l, int64_t n, T* d, T* e, Matrix<T> z, std::int32_t* order)
      : c_(c), l_(l), n_(n), d_(d), e_(e), z_(z), order_(order) {
    while (n > kLeaf << levels_) ++levels_;
    for (Matrix<T>* m : {&packed_, &roots_}) *m = {c.scratch_of<T>(n * z.row), z.row};
    for (T** p : {&values_, &poles_, &weights_, &anew_, &correction_}) *p = c.scratch_of<T>(n);
    for (std::int32_t** p : {&sorted_, &list_, &group_}) *p = c.scratch_of<std::int32_t>(n);
    type_ = c.scratch_of<char>(n);
    merges_ = c.scratch_of<Merge>(int64_t(1) << levels_);
  }
  int run() {
    T most = 0;
    for (int64_t i = 0; i < n_; ++i) most = std::max({most, std::abs(d_[i]), i + 1 < n_ ? std::abs(e_[i]) : T(0)});
    if (!(most > 0)) most = 1;
    for (int64_t i = 0; i < n_; ++i) d_[i] /= most;
    for (int64_t i = 0; i + 1 < n_; ++i) e_[i] /= most;
    for (int64_t leaf = 1; leaf < int64_t(1) << levels_; ++leaf) {
      const int64_t i = begin(levels_, leaf);
      d_[i - 1] -= std::abs(e_[i - 1]), d_[i] -= std::abs(e_[i - 1]);
    }
    const auto tasks = [&](int64_t step) {
      if (!step) return int64_t(1) << levels_;
      const int64_t level = level_of(step), merges = int64_t(1) << level;
      return (step - 1) % kSteps ? merges * chunks(level) : merges;
    };
    run_steps(1 + kSteps * levels_, n_ < kAlone, tasks, [&](int64_t step, int64_t task) {
      if (!step) return leaf(task);
      const int64_t level = level_of(step), kind = (step - 1) % kSteps;
      if (!kind) return deflate(level, task);
      const int64_t index = task / chunks(level), from = task % chunks(level) * kRows;
      const Merge m = merges_[index];
      const int64_t end = std::min(from + kRows, m.size);
      if (kind == 1) return find_roots(m, from, std::min(end, m.kept));
      if (kind == 2) return prepare(m, from, end);
      return from < end ? vectors(m, from, end) : void();
    });
    std::copy_n(d_, n_, values_);
    for (int64_t i = 0; i < n_; ++i) d_[i] = most * values_[order_[i]];
    return info_.load();
  }

 private:
  struct Merge {
    int64_t at, first, size;      // where it begins; rows of the first half; of both
    int64_t kept, upper, middle;  // rows that are not deflated; of these with the first half alone, and with both
    T rho;
  };
  int64_t begin(int64_t level, int64_t i) const { return n_ * i >> level; }
  int64_t level_of(int64_t step) const { return levels_ - 1 - (step - 1) / kSteps; }
  int64_t chunks(int64_t level) const { return parts((n_ >> level) + 1, kRows); }

  void leaf(int64_t i) {
    const int64_t at = begin(levels_, i), n = begin(levels_, i + 1) - at;
    Context own(c_.backend, c_.device, c_.op);
    const auto room = l_.workspace_stedc(n);
    fail(l_.stedc(n, d_ + at, e_ + at, z_[at] + at, z_.row, own.scratch_of<T>(room.work), room.work,
                  own.scratch_of<lapack::Int>(room.integers), room.integers));
    std::iota(order_ + at, order_ + at + n, 0);
  }
  void fail(int info) {
    if (info) info_.store(info);
  }

  // Which rows the correction changes. Their poles are those elements of d, ascending, their weights the elements of
  // its vector.
  void deflate(int64_t level, int64_t index) {
    const int64_t at = begin(level, index), size = begin(level, index + 1) - at;
    const int64_t first = begin(level + 1, 2 * index + 1) - at;
    Merge& m = merges_[index] = {at, first, size, 0, 0, 0, 2 * std::abs(e_[at + first - 1])};
    T *const d = d_ + at, *const u = correction_ + at;
    const T root = std::sqrt(T(0.5)), second = e_[at + first - 1] < 0 ? -root : root;
    for (int64_t i = 0; i < size; ++i) {
      u[i] = i < first ? root * z_[at + i][at + first - 1] : second * z_[at + i][at + first];
      type_[at + i] = i < first ? 1 : 3;
    }
    std::int32_t *const order = order_ + at, *const sorted = sorted_ + at;
    for (int64_t i = first; i < size; ++i) order[i] += std::int32_t(first);
    std::merge(order, order + first, order + first, order + size, sorted,
               [&](std::int32_t i, std::int32_t j) { return d[i] < d[j]; });
    T most = 0;
    for (int64_t i = 0; i < size; ++i) most = std::max({most, std::abs(d[i]), std::abs(u[i])});
    const T least = 4 * std::numeric_limits<T>::epsilon() * most;
    int64_t gone = size, before = -1;
    for (int64_t t = 0; t < size; ++t) {
      const int64_t i = sorted[t];
      if (m.rho * std::abs(u[i]) <= least) {
        list_[at + --gone] = std::int32_t(i);
        continue;
      }
      if (before >= 0) {
        if (rotate(m, before, i, least)) list_[at + --gone] = std::int32_t(before);
        else keep(m, before);
      }
      before = i;
    }
    if (before >= 0) keep(m, before);
    finish(m);
  }
  void keep(Merge& m, int64_t i) {
    poles_[m.at + m.kept] = d_[m.at + i], weights_[m.at + m.kept] = correction_[m.at + i];
    list_[m.at + m.kept++] = std::int32_t(i);
  }
  // Poles that are nearly equal: a rotation of both vectors leaves the whole weight to the second one.
  bool rotate(const Merge& m, int64_t i, int64_t j, T least) {
    T *const u = correction_ + m.at, *const d = d_ + m.at;
    const T size = std::hypot(u[j], u[i]), c = u[j] / size, s = -u[i] / size;
    if (!(std::abs((d[j] - d[i]) * c * s) <= least)) return false;
    u[j] = size, u[i] = 0;
    char *const x = type_ + m.at + i, *const y = type_ + m.at + j;
    T *const a = z_[m.at + i] + m.at, *const b = z_[m.at + j] + m.at;
    if (*x != *y) widen(m, *x, a), widen(m, *y, b), *x = *y = 2;
    for (int64_t k = *x == 3 ? m.first : 0; k < (*x == 1 ? m.first : m.size); ++k) {
      const T was = a[k];
      a[k] = c * was + s * b[k], b[k] = c * b[k] - s * was;
    }
    const T low = d[i], high = d[j];
    d[j] = low * s * s + high * c * c, d[i] = low * c * c + high * s * s;
    return true;
  }
  void widen(const Merge& m, char type, T* row) const {  // the half that is not set becomes 0
    if (type == 1) std::fill(row + m.first, row + m.size, T(0));
    if (type == 3) std::fill(row, row + m.first, T(0));
  }
  void finish(Merge& m) {  // groups of rows by type; those that are deflated, ascending
    std::int32_t* const list = list_ + m.at;
    const T* const d = d_ + m.at;
    int64_t count = 0;
    for (const char type : {1, 2, 3}) {
      for (int64_t i = 0; i < m.kept; ++i)
        if (type_[m.at + list[i]] == type) group_[m.at + count++] = std::int32_t(i);
      if (type == 1) m.upper = count;
      if (type == 2) m.middle = count - m.upper;
    }
    std::sort(list + m.kept, list + m.size,
              [&](std::int32_t i, std::int32_t j) { return d[i] < d[j] || (d[i] == d[j] && i < j); });
  }

  // Row i of roots_: the distances of all poles from root i.
  void find_roots(const Merge& m, int64_t from, int64_t end) {
    for (int64_t i = from; i < end; ++i)
      fail(l_.laed4(m.kept, i, poles_ + m.at, weights_ + m.at, roots_[m.at + i] + m.at, m.rho, values_ + m.at + i));
  }
  // The vector whose correction has just these roots; rows in the order of their groups.
  void prepare(const Merge& m, int64_t from, int64_t end) {
    for (int64_t i = from; i < end; ++i) {
      const int64_t row = list_[m.at + (i < m.kept ? group_[m.at + i] : i)], type = type_[m.at + row];
      const int64_t begin = type == 3 ? m.first : 0, stop = type == 1 ? m.first : m.size;
      T *const to = packed_[m.at + i] + m.at, *const x = z_[m.at + row] + m.at;
      std::copy(x + begin, x + stop, to + begin);
      if (i >= m.kept) widen(m, char(type), to);
    }
    end = std::min(end, m.kept);
    if (from >= end) return;
    T product[kRows];
    const T* const pole = poles_ + m.at;
    for (int64_t i = from; i < end; ++i) product[i - from] = roots_[m.at + i][m.at + i];
    for (int64_t j = 0; j < m.kept; ++j) {
      const T* const x = roots_[m.at + j] + m.at;
      for (int64_t i = from; i < std::min(j, end); ++i) product[i - from] *= x[i] / (pole[i] - pole[j]);
      for (int64_t i = std::max(from, j + 1); i < end; ++i) product[i - from] *= x[i] / (pole[i] - pole[j]);
    }
    for (int64_t i = from; i < end; ++i)
      anew_[m.at + i] = std::copysign(std::sqrt(-product[i - from]), weights_[m.at + i]);
  }
  void vectors(const Merge& m, int64_t from, int64_t end) {
    const int64_t rows = std::max<int64_t>(std::min(end, m.kept) - from, 0), at = m.at;
    Context own(c_.backend, c_.device, c_.op);
    const Matrix<T> s{own.scratch_of<T>(kRows * m.kept), m.kept};
    for (int64_t i = 0; i < rows; ++i) {
      T* const x = roots_[at + from + i] + at;
      if (m.kept > 2)
        for (int64_t k = 0; k < m.kept; ++k) x[k] = anew_[at + k] / x[k];
      T sum = 0;
      for (int64_t k = 0; k < m.kept; ++k) sum += x[k] * x[k];
      const T size = std::sqrt(sum);
      for (int64_t k = 0; k < m.kept; ++k) s[i][k] = x[group_[at + k]] / size;
    }
    if (rows) {
      product<T>(own, rows, m.first, m.upper + m.middle, 1, s, packed_.at(at, at), z_.at(at + from, at), false);
      product<T>(own, rows, m.size - m.first, m.kept - m.upper, 1, s.at(0, m.upper),
                 packed_.at(at + m.upper, at + m.first), z_.at(at + from, at + m.first), false);
    }
    for (int64_t i = std::max(from, m.kept); i < end; ++i) std::copy_n(packed_[at + i] + at, m.size, z_[at + i] + at);
    if (!from) sort(m);
  }
  void sort(const Merge& m) {
    T *const d = d_ + m.at, *const values = values_ + m.at;
    std::int32_t *const order = order_ + m.at, *const sorted = sorted_ + m.at;
    for (int64_t i = m.kept; i < m.size; ++i) values[i] = d[list_[m.at + i]];
    std::copy_n(values, m.size, d);
    std::iota(sorted, sorted + m.size, 0);
    std::merge(sorted, sorted + m.kept, sorted + m.kept, sorted + m.size, order,
               [&](std::int32_t i, std::int32_t j) { return d[i] < d[j]; });
  }

  Context& c_;
  const lapack::Routines<T>& l_;
  const int64_t n_;
  int64_t levels_ = 0;
  T *const d_, *const e_;
  const Matrix<T> z_;  // vectors by rows
  std::int32_t* const order_;
  Matrix<T> packed_{}, roots_{};
  T *values_, *poles_, *weights_, *anew_, *correction_;
  std::int32_t *sorted_, *list_, *group_;
  char* type_;
  Merge* merges_;
  std::atomic<int> info_{0};
};

}  // namespace

template <class T>
int divide(Context& c, const lapack::Routines<T>& l, int64_t n, T* d, T* e, Matrix<T> z, std::int32_t* order) {
  Context own(c.backend, c.device, c.op);
  return Divide<T>(own, l, n, d, e, z, order).run();
}

template int divide(Context&, const lapack::Routines<float>&, int64_t, float*, float*, Matrix<float>, std::int32_t*);
template int divide(Context&, const lapack::Routines<double>&, int64_t, double*, double*, Matrix<double>,
                    std::int32_t*);

}  // namespace neura::blocked
