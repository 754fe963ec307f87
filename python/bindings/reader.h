// The arguments of a public function (neura/surface), read from Python's objects.
#pragma once
#include <array>

#include "common.h"
#include "neura/surface/function.h"

namespace neura::python {

inline constexpr std::size_t kMostArguments = 24;

// The objects of one call, by place.
struct PyReader final : surface::Reader {
  std::array<PyObject*, kMostArguments> given_to;
  bool convert = false;
  int wrong = -1;  // the place of what did not fit

  Given given(int i) override;
#define TYPE(T, text, words) bool read(int i, T&) override;
  using Integers = surface::Integers;
  using Tensors = surface::Tensors;
  using Numbers = surface::Numbers;
  using Shapes = surface::Shapes;
  using Ignored = surface::Ignored;
  NEURA_SURFACE_TYPES(TYPE)
#undef TYPE

 private:
  PyObject* at(int i) { return wrong = i, given_to[std::size_t(i)]; }
};

}  // namespace neura::python
