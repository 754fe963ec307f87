// Shared by the kernels of linear algebra: matrices of a batch, memory for one, failures.
#pragma once
#include <atomic>
#include <cstdio>
#include <cstring>
#include <new>

#include "neura/backend/cpu/linalg/lapack_routines.h"
#include "neura/backend/cpu/rowwise.h"
#include "neura/backend/cpu/unsupported_dtype.h"
#include "neura/backend/kernels/linalg.h"

namespace neura::batched {

using lapack::Int;

// Memory of one thread, cut from the front.
class Memory {
 public:
  explicit Memory(char* at) : at_(at) {}
  template <class T> T* take(std::int64_t n) {
    T* p = reinterpret_cast<T*>(at_);
    at_ += bytes<T>(n);
    return p;
  }
  template <class T> static std::size_t bytes(std::int64_t n) {
    return (std::size_t(std::max<std::int64_t>(n, 1)) * sizeof(T) + 63) / 64 * 64;
  }

 private:
  char* at_;
};

// f(number of the matrix, memory), on all threads. `work`: multiplications of one matrix.
template <class F> void each_matrix(Context& c, std::int64_t count, double work, std::size_t bytes, F&& f) {
  Slots slots;  // the lowest free one is taken: no more than there are matrices
  char* const all = static_cast<char*>(
      c.scratch(bytes * std::size_t(std::min<std::int64_t>(slots.count, std::max<std::int64_t>(count, 1)))));
  const auto grain = std::int64_t(double(kSerial) / std::max(work, 1.0)) + 1;
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    const int slot = slots.take();
    for (; begin < end; ++begin) f(begin, Memory(all + bytes * std::size_t(slot)));
    slots.give(slot);
  });
}

// Row-major [rows, columns] to column-major, or column-major [columns, rows] to row-major.
template <class T> void transpose(const T* from, T* to, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kTile = 16;
  for (std::int64_t i = 0; i < rows; i += kTile)
    for (std::int64_t j = 0; j < columns; j += kTile)
      for (std::int64_t r = i; r < std::min(rows, i + kTile); ++r)
        for (std::int64_t k = j; k < std::min(columns, j + kTile); ++k) to[k * rows + r] = from[r * columns + k];
}
template <class T> void copy_elements(const T* from, T* to, std::int64_t n) {
  if (n) std::memcpy(static_cast<void*>(to), static_cast<const void*>(from), std::size_t(n) * sizeof(T));
}

// In the context's scratch memory and not thread_local: a shared library has little room for those.
inline DeviceFailure& new_failure(Context& c, DeviceFailure::Kind kind) {
  auto* failure = new (c.scratch(sizeof(DeviceFailure))) DeviceFailure;
  failure->kind = kind;
  return *failure;
}

// The first matrix whose algorithm failed, by number, and what LAPACK said.
class Failures {
 public:
  void add(std::int64_t matrix, int info) {
    std::int64_t packed = matrix << 32 | std::int64_t(std::uint32_t(info)), seen = first_.load();
    while (packed < seen && !first_.compare_exchange_weak(seen, packed)) {
    }
  }
  void report(Context& c) const {
    const std::int64_t first = first_.load();
    if (first == INT64_MAX) return;
    DeviceFailure& failure = new_failure(c, DeviceFailure::singular);
    if (const int info = int(std::int32_t(first)); info > 0)
      std::snprintf(failure.text, sizeof failure.text,
                    "expected a matrix for which the algorithm converges, got matrix %lld of the batch, which is "
                    "ill-conditioned or has too many repeated values (info %d)",
                    static_cast<long long>(first >> 32), info);
    else
      std::snprintf(failure.text, sizeof failure.text,
                    "expected finite elements, got inf or nan in matrix %lld of the batch",
                    static_cast<long long>(first >> 32));
    c.fail(&failure);
  }

 private:
  std::atomic<std::int64_t> first_{INT64_MAX};
};

template <class T> bool all_finite(const T* a, std::int64_t n) {
  using R = lapack::real_t<T>;
  const R* r = reinterpret_cast<const R*>(a);
  R sum = 0;
  for (std::int64_t i = 0; i < (lapack::is_complex_v<T> ? 2 * n : n); ++i) sum += r[i] * 0;
  return sum == 0;
}

inline void fail_absent(Context& c, const char* text) {
  DeviceFailure& failure = new_failure(c, DeviceFailure::absent);
  std::snprintf(failure.text, sizeof failure.text, "%s", text);
  c.fail(&failure);
}

// f(a number of the matrices' dtype)
template <class F> void with_dtype(Context& c, const View& a, F&& f) {
  switch (a.dtype()) {
    case DType::float32:
      return f(float());
    case DType::float64:
      return f(double());
    case DType::complex64:
      return f(std::complex<float>());
    case DType::complex128:
      return f(std::complex<double>());
    default:
      return fail_dtype(c, a.dtype());
  }
}
// f(routines of a's dtype), if there is a library, and the matrices are not too large for its integers.
template <class F> void with_lapack(Context& c, const View& a, F&& f) {
  if (a.rank() >= 2 && std::max(a.size(a.rank() - 1), a.size(a.rank() - 2)) > 16000 * 2)
    return fail_absent(c, "expected matrices of at most 32000 rows and columns, got more; use smaller ones");
  const lapack::Library* const l = lapack::library();
  if (!l)
    return fail_absent(c,
                       "expected a LAPACK library, found none; install libopenblas0 or set NEURA_LAPACK to its file");
  with_dtype(c, a, [&]<class T>(T) { f(lapack::Routines<T>(*l)); });
}
template <class T> T element(const lapack::Routines<T>&);
template <class L> using element_of = decltype(element(std::declval<const L&>()));

// Is each matrix one for blocked.h? Then f(its number, a number of the dtype) is called for each. The threads share out
// the matrices if there are enough of them, or else the work of each one.
template <class F> bool when_blocked(Context& c, const View& a, const MatrixSizes& b, F&& f) {
  if (is_complex(a.dtype())) return false;
  with_dtype(c, a, [&]<class T>(T number) {
    if constexpr (!lapack::is_complex_v<T>) {
      if (b.count < 2 * get_num_threads())
        for (std::int64_t i = 0; i < b.count; ++i) f(i, number);
      else
        parallel_for(b.count, 1, [&](std::int64_t begin, std::int64_t end) {
          for (; begin < end; ++begin) f(begin, number);
        });
    }
  });
  return true;
}

}  // namespace neura::batched
