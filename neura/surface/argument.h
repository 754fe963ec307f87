// The types of arguments and results of public functions, and their conversion from another language.
#pragma once
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "neura/core/random.h"
#include "neura/core/tensor.h"
#include "neura/op/apply.h"
#include "neura/ops/spatial/conv.h"

namespace neura::surface {

using Tensors = std::vector<Tensor>;
using Integers = std::vector<std::int64_t>;
using Numbers = std::vector<double>;
using Shapes = std::vector<Shape>;
struct Ignored {};  // an argument of PyTorch's that has no effect here
enum class MemoryFormat { preserve, contiguous, channels_last, channels_last_3d };
struct Sublists {  // einsum's tensors, each with the numbers of its dimensions
  static constexpr std::int64_t kEllipsis = -1;
  Tensors tensors;
  std::vector<Integers> lists;  // one more where the result's are given
};

// The types of arguments, as signatures and errors name them.
#define NEURA_SURFACE_TYPES(TYPE)                                                 \
  TYPE(Tensor, "neura.Tensor", "a tensor")                                        \
  TYPE(Operand, "neura.Tensor | number", "a tensor or a number")                  \
  TYPE(Scalar, "number", "a number")                                              \
  TYPE(bool, "bool", "True or False")                                             \
  TYPE(std::int64_t, "int", "an integer")                                         \
  TYPE(double, "float", "a number")                                               \
  TYPE(std::string, "str", "a text")                                              \
  TYPE(Dims, "int | tuple[int, ...]", "an integer or integers")                   \
  TYPE(PerDim, "int | tuple[int, ...]", "an integer or integers")                 \
  TYPE(Padding, "int | tuple[int, ...] | str", "numbers, 'same' or 'valid'")      \
  TYPE(Shape, "tuple[int, ...]", "a tuple of integers")                           \
  TYPE(Integers, "collections.abc.Sequence[int]", "integers")                     \
  TYPE(Tensors, "collections.abc.Sequence[neura.Tensor]", "tensors")              \
  TYPE(Numbers, "collections.abc.Sequence[float]", "numbers")                     \
  TYPE(Shapes, "collections.abc.Sequence[tuple[int, ...]]", "tuples of integers") \
  TYPE(Ignored, "object", "anything")                                             \
  TYPE(DType, "neura.dtype", "a dtype")                                           \
  TYPE(Device, "neura.device | str", "a device")                                  \
  TYPE(Generator*, "neura.Generator", "a generator")                              \
  TYPE(MemoryFormat, "neura.memory_format", "a memory format")                    \
  TYPE(Sublists, "neura.Tensor | list[int]", "tensors, each with a list of dimensions")

// The arguments of one call, by their place in the signature. What binds a language reads its own objects.
struct Reader {
  enum Given { absent, none, some };
  const void* const* objects = nullptr;  // by place; null: not given
  const void* none_object = nullptr;     // the one that means None
  int place = -1;                        // what was asked for last: where a call fails, what did not fit
  Given given(int i) {
    const void* o = objects[place = i];
    return !o ? absent : o == none_object ? none : some;
  }
// false: it is something else.
#define TYPE(T, text, words) virtual bool read(int i, T&) = 0;
  NEURA_SURFACE_TYPES(TYPE)
#undef TYPE
 protected:
  ~Reader() = default;
};

struct Named {  // several tensors with names; the type's own name is neura.return_types.<type>
  const char* type;
  std::vector<const char*> fields;
  std::vector<Tensor> values;
};
struct Tuple : Shape {  // integers that are no sizes
  explicit Tuple(const Shape& s) : Shape(s) {}
};
struct Self {};  // the first argument, which was written
using Value = std::variant<std::monostate, Tensor, Tensors, Named, Self, Scalar, bool, std::int64_t, Shape, Tuple>;

struct Parameter {
  std::string name, fallback;  // the default's text; empty: the argument is required
  bool may_be_none = false, by_name_alone = false, rest = false;
  const char *type = "", *words = "";  // for signatures, for errors
};

// A default, from its text.
void fallback(const Parameter&, Tensor&), fallback(const Parameter&, Operand&), fallback(const Parameter&, Scalar&);
void fallback(const Parameter&, bool&), fallback(const Parameter&, std::int64_t&), fallback(const Parameter&, double&);
void fallback(const Parameter&, std::string&), fallback(const Parameter&, Shape&),
    fallback(const Parameter&, Integers&);
void fallback(const Parameter&, Tensors&), fallback(const Parameter&, DType&), fallback(const Parameter&, Device&);
void fallback(const Parameter&, Padding&);
void fallback(const Parameter&, Numbers&), fallback(const Parameter&, Shapes&), fallback(const Parameter&, Ignored&);
void fallback(const Parameter&, Generator*&), fallback(const Parameter&, MemoryFormat&),
    fallback(const Parameter&, Sublists&);

}  // namespace neura::surface
