// The types of arguments that layers alone take, beside those of functions (argument.h), and how they are read.
#pragma once
#include "neura/core/reduction.h"
#include "neura/nn/transformer.h"
#include "neura/surface/argument.h"

namespace neura::surface {

struct AnyObject {  // an object of the language, as it is
  const void* object = nullptr;
};

// What layers take beside the types of functions.
#define NEURA_LAYER_TYPES(TYPE)                                                      \
  TYPE(nn::Number, "float", "a number")                                              \
  TYPE(Reduction, "str", "a text")                                                   \
  TYPE(nn::Activation, "str | Callable", "'relu', 'gelu' or one of these functions") \
  TYPE(Ref<nn::Module>, "neura.nn.Module", "a module")                               \
  TYPE(AnyObject, "object", "anything")

struct LayerReader : Reader {
  using Reader::read;
#define TYPE(T, text, words) virtual bool read(int i, T&) = 0;
  NEURA_LAYER_TYPES(TYPE)
#undef TYPE
 protected:
  ~LayerReader() = default;
};

}  // namespace neura::surface
