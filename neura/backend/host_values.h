// Values that the cpu computes for every device.
#pragma once
#include "neura/backend/backend.h"
#include "neura/backend/context.h"
#include "neura/backend/transfer.h"

namespace neura {

// Calls write(context, out) with a context of the cpu: on `out` itself, or on a copy on the cpu that is then written to
// `out`. For kernels, whose context is `call`.
template <class F> void made_on_cpu(Context& call, View out, F write) {
  if (out.spec->device.is_cpu()) return write(call, out);
  Context cpu(cpu_backend(), Device(), call.op);
  const Spec spec = Spec::dense(out.dtype(), out.spec->sizes());
  const View here{cpu.scratch_of<char>(std::int64_t(spec.bytes())), &spec};
  write(cpu, here);
  assign(out, here);
}

}  // namespace neura
