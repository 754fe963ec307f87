// Sizes per dimension as boxed values: one number for all is an int, as in torch; a size that is kept is None.
#pragma once
#include "neura/nn/value.h"
#include "neura/ops/spatial/conv.h"
#include "neura/ops/spatial/pool.h"

namespace neura::nn {

template <> struct BoxedAs<PerDim> {
  static Value value(const PerDim&);
  static PerDim back(const Value&);
};
template <> struct BoxedAs<Padding> {  // or "same", "valid"
  static Value value(const Padding&);
  static Padding back(const Value&);
};

}  // namespace neura::nn
