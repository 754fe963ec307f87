// The plan of Fourier transforms of one length, computed once in float64 and cached.
#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace neura {

inline constexpr int kFftLargestRadix = 31;  // a length with a larger prime factor becomes a convolution (Bluestein)

// exp(-2 pi i k / n) with an error of at most the last bit; k is not negative.
std::complex<double> unit_root(std::int64_t k, std::int64_t n);

// Passes over lines that stay side by side (fft_interleaved.h); factors of each pass in turn.
inline constexpr std::int64_t kFftBlock = 8;
template <class T> struct FftSteps {
  std::vector<int> radices;
  bool inverse;
  // For each p < m and k = 1 to radix - 1, of w = exp(-2 pi i p k / (radix m)): re, re, -im, im. Of the first pass of a
  // single line, for each kFftBlock neighbours p and each k: re, re of all of them, then -im, im.
  std::vector<T> factors;
};

inline constexpr std::int64_t kFftBatch = 16;  // columns of a matrix

template <class T> struct FftPlan {
  std::int64_t n = 1;

  std::vector<int> radices;  // of Stockham's passes
  // n as a matrix, for a single line: transforms of its columns, factors, transforms of its rows. 0: no such.
  std::int64_t rows = 0, columns = 0;
  std::shared_ptr<const FftPlan> of_rows, of_columns;

  // Bluestein: a convolution of the length of `inner` with exp(pi i j^2 / n). Null: passes.
  std::shared_ptr<const FftPlan> inner;
  std::vector<T> chirp;     // exp(-pi i j^2 / n), [n, 2]
  std::vector<T> spectrum;  // of the other operand, over the length of inner; [length, 2]

  std::int64_t room() const { return inner ? inner->n : n; }  // elements of a working line
  bool split() const { return inner ? inner->rows : rows; }   // may a line be transformed as a matrix?
  std::size_t bytes() const;

  // Made when first asked for; pairs of real and imaginary part.
  // For each pass the roots of its radix (odd ones above 5 alone), then for each p < m the factors
  // exp(-2 pi i p k / (radix m)), k = 1 to radix - 1.
  const T* factors() const;
  const T* between() const;  // exp(-2 pi i row column / n), [rows, columns]
  // The same where columns come in batches, as products: of the first column of each batch, [batches, rows, 2], then of
  // a column less that, [rows, kFftBatch, 2].
  bool batches() const { return rows && columns % kFftBatch == 0; }
  const T* heads() const;
  const T* tails() const { return heads() + columns / kFftBatch * rows * 2; }
  const T* half_roots() const;  // exp(-pi i k / n) for k <= n / 2, of real lines of 2 n
  // The steps of a single line, and of as many lines as fill a vector; null where this length has none.
  const FftSteps<T>* row_steps(bool inverse) const;
  const FftSteps<T>* column_steps(bool inverse) const;

 private:
  struct Table {
    std::once_flag once;
    std::vector<T> values;
  };
  struct StepsTable {
    std::once_flag once;
    FftSteps<T> steps;
  };
  const FftSteps<T>* steps_of(StepsTable&, bool row, bool inverse) const;
  mutable Table factors_, between_, heads_, half_roots_;
  mutable StepsTable row_steps_[2], column_steps_[2];
};

// From any thread. Plans stay until others have taken their place: lengths used last are kept, up to some memory.
template <class T> std::shared_ptr<const FftPlan<T>> fft_plan(std::int64_t n);

}  // namespace neura
