// What users write, and the same with a mistake that the compiler must find: REFUSED says which.
#include <cstdint>

#include "neura/core/element.h"
#include "neura/core/fields.h"
#include "neura/nn/container.h"
#include "neura/nn/linear.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/surface/layer.h"

namespace neura {

template <Integral T> T low_bit(T x) { return x & T(1); }
struct Window {
  std::int64_t size, step;
#if REFUSED == 1  // a member is left out
  NEURA_FIELDS(size)
#else
  NEURA_FIELDS(size, step)
#endif
};

struct ScaleOptions {
  double by = 1;
  bool deep = false;
#if REFUSED == 6  // an option is left out
  NEURA_ARGUMENTS(by)
#else
  NEURA_ARGUMENTS(by, deep)
#endif
};
struct Scale final : nn::Module {
  NEURA_INIT(explicit Scale, std::int64_t size, const ScaleOptions& = {});
  NEURA_LAYER(Scale)
};
std::string arguments_of_scale() { return surface::layer<Scale>().signature(); }

void call(FieldVisitor& v) {
  const Tensor x = ones({2});
  nn::Linear layer(2, 2);
  Window window{2, 1};
  window.fields(v);
#if REFUSED == 0
  const nn::Sequential net(std::move(layer));
  const bool same = x.is_same(x + low_bit(3));
#elif REFUSED == 2  // a copy of a module
  const nn::Sequential net(layer);
#elif REFUSED == 3  // a pointer is no number
  const Tensor y = x + "1";
#elif REFUSED == 4  // a float is no integer
  const double y = low_bit(0.5);
#elif REFUSED == 5  // elements are compared one by one
  const bool same = x == x;
#endif
}

}  // namespace neura
