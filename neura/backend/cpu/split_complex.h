// Dense copies of operands in the type a kernel computes in: halves as float, complex numbers as two real arrays.
#pragma once
#include <complex>

#include "neura/backend/context.h"
#include "neura/backend/plan.h"
#include "neura/backend/view.h"

namespace neura {

struct FloatCopy {  // of a half; of an absent operand, absent
  Spec spec;
  float* data = nullptr;
  FloatCopy(Context& c, View x, bool load = true) {
    if (!x) return;
    spec = Spec::dense(DType::float32, x.spec->sizes(), x.spec->device);
    data = c.scratch_of<float>(spec.numel);
    if (load) assign_on_cpu(view(), x);
  }
  View view() const { return {reinterpret_cast<char*>(data), &spec}; }
  void store(View y) const { assign_on_cpu(y, view()); }
};

template <class T> struct SplitComplex {  // T is float or double
  Spec spec;                              // of each of the parts
  T *re = nullptr, *im = nullptr;
  SplitComplex(Context& c, View x, bool conjugate, bool load = true);
  // y = alpha * this + beta * init
  void store(View y, View init, std::complex<double> alpha, std::complex<double> beta) const;
};

}  // namespace neura
