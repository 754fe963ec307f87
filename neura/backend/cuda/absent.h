// A kernel that this back end does not have: the operation says so, by name, and the process goes on.
#pragma once
#include "neura/backend/backend.h"
#include "neura/backend/cuda/failure.h"

namespace neura::cuda {

struct Absent {
  template <class R, class... A> constexpr operator Entry<R(Context&, A...)>() const {
    return +[](Context& c, A...) -> R {
      c.fail(fail(DeviceFailure::absent,
                  "expected a tensor on the cpu, got one on cuda; this operation has no kernel "
                  "there yet, move its operands with .to(\"cpu\")"));
      return R();
    };
  }
};
inline constexpr Absent absent;

}  // namespace neura::cuda
