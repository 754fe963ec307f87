// What the callers of cuSOLVER share: matrices column by column, dtypes as types, and the frame of an entry.
#pragma once
#include "neura/backend/context.h"
#include "neura/backend/cuda/linalg/linalg.h"
#include "neura/backend/cuda/linalg/linalg_library.h"
#include "neura/backend/cuda/pointwise/execute.h"

namespace neura::cuda::solver {

template <class T> T number_of(double x) {
  if constexpr (Routines<T>::is_complex) return {typename Routines<T>::Real(x), 0};
  else return T(x);
}
template <class F> Failed with_type(DType d, F&& f) {  // f(a number of the dtype, as the libraries call it)
  if (d == DType::float32) return f(float());
  if (d == DType::float64) return f(double());
  if (d == DType::complex64) return f(cuComplex());
  return f(cuDoubleComplex());
}

// Matrices of scratch memory, one column after the other.
class Columns {
 public:
  explicit Columns(const View& like) : Columns(like.dtype(), like.spec->sizes(), like.spec->device) {}
  Columns(DType d, const Shape& sizes, Device device) : spec_(Spec::dense(d, sizes, device)) {
    const int r = spec_.rank;
    spec_.strides[r - 2] = 1, spec_.strides[r - 1] = spec_.shape[r - 2], spec_.finish();
  }
  Columns(const Columns&) = delete;
  Failed take(Scratch& scratch) { return scratch.take(std::max<std::size_t>(spec_.bytes(), 1), &data_); }
  Failed fill(Scratch& scratch, const View& from) {
    if (Failed f = take(scratch)) return f;
    return assign(view(), from);
  }
  View view() const { return {data_, &spec_}; }
  char* data() const { return data_; }

 private:
  Spec spec_;
  char* data_ = nullptr;
};

// The first `size` along dimension d, counted from the end, of x.
inline View narrowed(const View& x, Spec& own, int d, int64_t size) {
  own = *x.spec;
  own.shape[own.rank + d] = size, own.finish();
  return {x.data, &own};
}

template <auto f, class... A> void in_solver(Context& c, A... operands) {
  const OnDevice on(c.device.index);
  Solver s(c.device.index);
  Failed failure = s.open();
  if (!failure) failure = f(c, s, operands...);
  c.fail(failure ? failure : launched(c.device.index));
}
// The entry of a table that calls f with the library's handles.
template <auto f> struct Entered;
template <class... A, Failed (*f)(Context&, Solver&, A...)> struct Entered<f> {
  static void call(Context& c, A... operands) { in_solver<f, A...>(c, operands...); }
};
template <auto f> inline constexpr auto with_solver = &Entered<f>::call;

}  // namespace neura::cuda::solver
