#include "neura/backend/cpu/fft/fft_plan.h"

#include <algorithm>
#include <cmath>
#include <list>
#include <numbers>

namespace neura {
namespace {

using Complex = std::complex<double>;
using std::int64_t;
constexpr int64_t kShortestMatrix = 64, kLeastRows = 8;
constexpr int64_t kLongestSteps = 16384;  // beyond, two working lines leave the caches
constexpr std::size_t kKeptBytes = std::size_t{64} << 20, kKeptPlans = 128;

template <class T> void append(std::vector<T>& to, Complex z) { to.push_back(T(z.real())), to.push_back(T(z.imag())); }

// Prime factors up to kFftLargestRadix; empty if there is a larger one. Pairs of 2 become 4, and come last, where the
// lines of a pass are longest.
std::vector<int> radices_of(int64_t n) {
  std::vector<int> all;
  int twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  for (int p = 3; p <= kFftLargestRadix; p += 2)
    for (; n % p == 0; n /= p) all.push_back(p);
  if (n != 1) return {};
  if (twos % 2) all.push_back(2);
  all.insert(all.end(), std::size_t(twos / 2), 4);
  return all;
}
// Passes of 16 and 8, as few as do, then of 5 and 3; empty if that is not all.
std::vector<int> wide_radices_of(int64_t n, bool row) {
  std::vector<int> all;
  int twos = 0;
  if (n > kLongestSteps) return {};
  for (; n % 2 == 0; n /= 2) ++twos;
  if (row && twos < 6) return {};
  const int count = (twos + 3) / 4, sixteens = twos - 3 * count;
  for (int k = 0; k < count; ++k) all.push_back(k < sixteens ? 16 : 8);
  if (sixteens < 0) {  // 2, 4, or 8 and 4
    if (count == 2) all[1] = 4;
    else all[0] = 1 << twos;
  }
  for (const int p : {5, 3})
    for (; n % p == 0; n /= p) all.push_back(p);
  if (n != 1) return {};
  return all;
}
bool smooth(int64_t n, int most) {
  for (int p = 2; p <= most; ++p)
    while (n % p == 0) n /= p;
  return n == 1;
}

// A plain transform, for plans alone: n has no prime factor above 5. out: n elements; x: `step` apart.
void plain_fft(const Complex* x, int64_t step, Complex* out, int64_t n, const std::vector<Complex>& roots) {
  if (n == 1) {
    out[0] = x[0];
    return;
  }
  const int64_t r = n % 2 == 0 ? 2 : n % 3 == 0 ? 3 : 5, m = n / r, full = int64_t(roots.size()), turn = full / n;
  for (int64_t j = 0; j < r; ++j) plain_fft(x + j * step, step * r, out + j * m, m, roots);
  for (int64_t k = 0; k < m; ++k) {
    Complex part[5];
    for (int64_t j = 0; j < r; ++j) part[j] = out[j * m + k] * roots[std::size_t(j * k * turn)];
    for (int64_t q = 0; q < r; ++q) {
      Complex sum = part[0];
      for (int64_t j = 1; j < r; ++j) sum += part[j] * roots[std::size_t(j * q % r * (full / r))];
      out[q * m + k] = sum;
    }
  }
}

template <class T> void plan_matrix(FftPlan<T>& plan) {
  const int64_t square = int64_t(std::sqrt(double(plan.n)));
  int64_t rows = square;
  while (4 * rows > square && (plan.n % rows || rows % kFftBatch || plan.n / rows % kFftBatch)) --rows;
  if (4 * rows <= square) rows = square;  // no such that both are batches
  while (plan.n % rows) --rows;
  if (rows < kLeastRows) return;
  plan.rows = rows, plan.columns = plan.n / rows;
  plan.of_columns = fft_plan<T>(plan.rows), plan.of_rows = fft_plan<T>(plan.columns);
}
template <class T> void plan_bluestein(FftPlan<T>& plan) {
  const int64_t n = plan.n;
  int64_t length = 2 * n - 1;
  while (!smooth(length, 5)) ++length;
  plan.inner = fft_plan<T>(length);
  std::vector<Complex> other(static_cast<std::size_t>(length)), roots(other.size()), spectrum(other.size());
  for (int64_t j = 0; j < length; ++j) roots[std::size_t(j)] = unit_root(j, length);
  for (int64_t j = 0, square = 0; j < n; square = (square + 2 * j + 1) % (2 * n), ++j) {
    const Complex w = unit_root(square, 2 * n);
    append(plan.chirp, w);
    other[std::size_t(j)] = std::conj(w) / double(length);
    if (j) other[std::size_t(length - j)] = other[std::size_t(j)];
  }
  plain_fft(other.data(), 1, spectrum.data(), length, roots);
  for (const Complex z : spectrum) append(plan.spectrum, z);
}

template <class T> std::shared_ptr<const FftPlan<T>> make(int64_t n) {
  auto plan = std::make_shared<FftPlan<T>>();
  plan->n = n;
  plan->radices = radices_of(n);
  if (n > 1 && plan->radices.empty()) {
    plan_bluestein(*plan);
    return plan;
  }
  if (n >= kShortestMatrix) plan_matrix(*plan);
  return plan;
}

template <class T> class Cache {  // in order of use, the last one first
 public:
  std::shared_ptr<const FftPlan<T>> find(int64_t n) {
    const std::lock_guard hold(lock_);
    for (auto i = plans_.begin(); i != plans_.end(); ++i)
      if ((*i)->n == n) {
        plans_.splice(plans_.begin(), plans_, i);
        return plans_.front();
      }
    return nullptr;
  }
  void add(const std::shared_ptr<const FftPlan<T>>& plan) {
    const std::lock_guard hold(lock_);
    plans_.push_front(plan);
    bytes_ += plan->bytes();
    while (plans_.size() > 1 && (bytes_ > kKeptBytes || plans_.size() > kKeptPlans))
      bytes_ -= plans_.back()->bytes(), plans_.pop_back();
  }

 private:
  std::mutex lock_;
  std::list<std::shared_ptr<const FftPlan<T>>> plans_;
  std::size_t bytes_ = 0;
};

}  // namespace

Complex unit_root(int64_t k, int64_t n) {
  k %= n;
  const bool below =
      2 * k > n;  // the lower half plane mirrors the upper one, and so on down to an eighth of the circle
  if (below) k = n - k;
  int64_t quarters = 4 * k;  // the angle is pi / (2 n) of it, at most pi
  const bool left = quarters > n;
  if (left) quarters = 2 * n - quarters;
  const bool steep = 2 * quarters > n;
  if (steep) quarters = n - quarters;
  const double angle = std::numbers::pi / 2 * (double(quarters) / double(n));
  double x = std::cos(angle), y = std::sin(angle);
  if (steep) std::swap(x, y);
  return {left ? -x : x, below ? y : -y};
}

template <class T> const T* FftPlan<T>::factors() const {
  std::call_once(factors_.once, [&] {
    int64_t rest = n;
    for (const int r : radices) {
      rest /= r;
      for (int j = 0; r > 5 && j < r; ++j) append(factors_.values, unit_root(j, r));
      for (int64_t p = 0; p < rest; ++p)
        for (int k = 1; k < r; ++k) append(factors_.values, unit_root(p * k, rest * r));
    }
  });
  return factors_.values.data();
}
template <class T> const T* FftPlan<T>::between() const {
  std::call_once(between_.once, [&] {
    between_.values.reserve(std::size_t(n) * 2);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) append(between_.values, unit_root(r * c, n));
  });
  return between_.values.data();
}
template <class T> const T* FftPlan<T>::heads() const {
  std::call_once(heads_.once, [&] {
    for (int64_t c = 0; c < columns; c += kFftBatch)
      for (int64_t r = 0; r < rows; ++r) append(heads_.values, unit_root(r * c, n));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < kFftBatch; ++c) append(heads_.values, unit_root(r * c, n));
  });
  return heads_.values.data();
}
template <class T> const T* FftPlan<T>::half_roots() const {
  std::call_once(half_roots_.once, [&] {
    for (int64_t k = 0; k <= n / 2; ++k) append(half_roots_.values, unit_root(k, 2 * n));
  });
  return half_roots_.values.data();
}
template <class T> const FftSteps<T>* FftPlan<T>::steps_of(StepsTable& table, bool row, bool inverse) const {
  std::call_once(table.once, [&] {
    table.steps = {wide_radices_of(n, row), inverse, {}};
    std::vector<T>& to = table.steps.factors;
    const auto root = [&](int64_t k, int64_t length) {
      const Complex w = unit_root(k, length);
      return inverse ? std::conj(w) : w;
    };
    int64_t rest = n;
    bool blocks = row;
    for (const int r : table.steps.radices) {
      rest /= r;
      const int64_t block = blocks ? kFftBlock : 1;
      for (int64_t p = 0; p < rest; p += block)
        for (int k = 1; k < r; ++k) {
          for (int64_t j = p; j < p + block; ++j) to.insert(to.end(), 2, T(root(j * k, rest * r).real()));
          for (int64_t j = p; j < p + block; ++j) {
            const T im = T(root(j * k, rest * r).imag());
            to.push_back(-im), to.push_back(im);
          }
        }
      blocks = false;
    }
  });
  return table.steps.radices.empty() ? nullptr : &table.steps;
}
template <class T> const FftSteps<T>* FftPlan<T>::row_steps(bool inverse) const {
  return steps_of(row_steps_[inverse], true, inverse);
}
template <class T> const FftSteps<T>* FftPlan<T>::column_steps(bool inverse) const {
  return steps_of(column_steps_[inverse], false, inverse);
}
// An upper bound, so that what is made later counts.
template <class T> std::size_t FftPlan<T>::bytes() const {
  return ((inner || rows ? 5 : 3) * std::size_t(n) + (n <= kLongestSteps ? 18 * std::size_t(n) : 0) + chirp.size() +
          spectrum.size()) *
         sizeof(T);
}

template <class T> std::shared_ptr<const FftPlan<T>> fft_plan(int64_t n) {
  static Cache<T>& cache = *new Cache<T>;  // never gone: threads may outlive static objects
  if (auto found = cache.find(n)) return found;
  auto made = make<T>(n);  // unlocked: it may take long, and asks for other plans
  cache.add(made);
  return made;
}

template struct FftPlan<float>;
template struct FftPlan<double>;
template std::shared_ptr<const FftPlan<float>> fft_plan<float>(int64_t);
template std::shared_ptr<const FftPlan<double>> fft_plan<double>(int64_t);

}  // namespace neura
