// The arguments of a public function (neura/surface), read from Python's objects.
#pragma once
#include <array>

#include "common.h"
#include "neura/surface/function.h"

namespace neura::python {

inline constexpr std::size_t kMostArguments = 32;

// The objects of one call, by place.
struct PyReader final : surface::Reader {
  std::array<PyObject*, kMostArguments> given_to;
  bool convert = false;

  PyReader() {
    objects = reinterpret_cast<const void* const*>(given_to.data());
    none_object = Py_None;
  }
#define TYPE(T, text, words) bool read(int i, T&) override;
  using Integers = surface::Integers;
  using Tensors = surface::Tensors;
  using Numbers = surface::Numbers;
  using Shapes = surface::Shapes;
  using Ignored = surface::Ignored;
  using MemoryFormat = surface::MemoryFormat;
  using Sublists = surface::Sublists;
  NEURA_SURFACE_TYPES(TYPE)
#undef TYPE

 private:
  PyObject* at(int i) const { return given_to[std::size_t(i)]; }
};

}  // namespace neura::python
