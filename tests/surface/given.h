// Arguments of a public function as C++ values: what a language binding reads from its own objects.
#pragma once
#include <any>
#include <array>
#include <vector>

#include "neura/surface/function.h"

namespace neura {

struct Given final : surface::Reader {
  std::vector<std::any> values;  // empty: not given
  std::array<const void*, 32> places = {};

  Given(std::vector<std::any> v) : values(std::move(v)) {
    for (std::size_t i = 0; i < values.size(); ++i) places[i] = values[i].has_value() ? &values[i] : nullptr;
    objects = places.data();
  }
  template <class T> bool take(int i, T& to) {
    const T* held = std::any_cast<T>(&values[std::size_t(i)]);
    if (held) to = *held;
    return held != nullptr;
  }
  using Integers = surface::Integers;
  using Tensors = surface::Tensors;
  using Numbers = surface::Numbers;
  using Shapes = surface::Shapes;
  using Ignored = surface::Ignored;
  using MemoryFormat = surface::MemoryFormat;
  using Sublists = surface::Sublists;
#define TYPE(T, text, words) \
  bool read(int i, T& to) override { return take(i, to); }
  NEURA_SURFACE_TYPES(TYPE)
#undef TYPE
};

}  // namespace neura
