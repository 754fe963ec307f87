// Short transforms, of lengths with small prime factors, over dense memory: lines that are contiguous, or adjacent to
// one another. They are computed by the kernels of fft_interleaved.h.
#pragma once
#include "neura/backend/cpu/fft/fft_job.h"
#include "neura/backend/cpu/fft/fft_interleaved.h"

namespace neura {

// A unit is a line, or as many as fill a vector; units are independent.
template <class T> class FftDense {
 public:
  explicit FftDense(const FftJob<T>&);
  explicit operator bool() const { return units_ > 0; }  // are these such lines?
  std::int64_t units() const { return units_; }
  std::int64_t work() const { return work_; }    // of a unit, in additions of a vector
  std::int64_t space() const { return space_; }  // numbers, for each thread
  void run(std::int64_t begin, std::int64_t end, T* space) const;
  void run(Context&) const;

 private:
  void lines(std::int64_t row, std::int64_t count, T* space) const;
  void block(std::int64_t unit, T* space) const;

  const FftJob<T>& job_;
  const FftInterleavedKernels<T>& kernels_;
  const FftSteps<T>* steps_ = nullptr;
  bool row_ = false;
  std::int64_t n_, units_ = 0, work_ = 0, space_ = 0;
  std::int64_t even_ = 1;      // lines in a row are equally far from each other as long as this
  std::int64_t together_ = 1;  // lines that go through each pass together
  std::int64_t blocks_ = 1;    // of adjacent lines
};

}  // namespace neura
