// What a public function (neura/surface) returned, as Python's object.
#include "results.h"

namespace neura::python {

nb::object object_of(const surface::Value& v, PyObject* self) {
  return std::visit(
      [&]<class T>(const T& x) -> nb::object {
        if constexpr (std::is_same_v<T, std::monostate>) return nb::none();
        else if constexpr (std::is_same_v<T, Tensor>) return nb::steal(wrap(x));
        else if constexpr (std::is_same_v<T, surface::Tensors>) return tuple_of(x);
        else if constexpr (std::is_same_v<T, surface::Named>) return named(x.type, x.fields, x.values);
        else if constexpr (std::is_same_v<T, surface::Self>) return nb::borrow(self);
        else if constexpr (std::is_same_v<T, Scalar>) return nb::steal(from_scalar(x));
        else if constexpr (std::is_same_v<T, Shape>) return nb::steal(size_of_shape(x));
        else if constexpr (std::is_same_v<T, surface::Tuple>) return nb::cast(static_cast<const Shape&>(x));
        else return nb::cast(x);
      },
      v);
}

}  // namespace neura::python
