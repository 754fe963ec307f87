// What the functions share that make tensors.
#pragma once
#include "neura/backend/transfer.h"
#include "neura/op/apply.h"
#include "neura/ops/create/create.h"

namespace neura {

inline void check_sizes(const char* op, const Shape& size) {
  for (std::int64_t s : size)
    check<ShapeError>(s >= 0, [&] { return std::string(op) + ": expected sizes of at least 0, got " + size.str(); });
}
inline Tensor finished(Tensor t, const TensorOptions& o) {
  if (o.requires_grad) t.requires_grad_();
  return t;
}

// Values that only the cpu computes: written where they belong, or brought there.
template <class F> void made_on_cpu(const char* op, View out, F write) {
  Context cpu(cpu_backend(), Device(), op);
  if (out.spec->device.is_cpu()) return write(cpu, out);
  const Spec spec = Spec::dense(out.dtype(), out.spec->sizes());
  const View here{cpu.scratch_of<char>(std::int64_t(spec.bytes())), &spec};
  write(cpu, here);
  assign(out, here);
}

}  // namespace neura
