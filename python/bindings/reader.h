// The arguments of a public function or a layer (neura/surface), read from Python's objects.
#pragma once
#include <array>

#include "common.h"
#include "neura/surface/layer_reader.h"

namespace neura::python {

inline constexpr std::size_t kMostArguments = 32;

// The objects of one call, by place.
struct PyReader final : surface::LayerReader {
  std::array<PyObject*, kMostArguments> given_to;
  bool convert = false;
  // Of a layer: its name, and the places of flags that take True and False alone, as all flags of functions do. Its
  // other flags take an integer or a truth of NumPy's that stands for them, too.
  const char* layer = nullptr;
  std::uint64_t exact = 0;

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
  using AnyObject = surface::AnyObject;
  NEURA_SURFACE_TYPES(TYPE)
  NEURA_LAYER_TYPES(TYPE)
#undef TYPE

 private:
  bool read_truth(PyObject*, bool&);
  PyObject* at(int i) const { return given_to[std::size_t(i)]; }
};

}  // namespace neura::python
