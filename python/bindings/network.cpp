// Arguments of convolutions and pools, as layers take them.
#include "network.h"

#include "neura/ops/spatial/pool.h"
#include "numbers.h"

namespace neura::python {

Padding padding_of(nb::handle h) {
  if (PyUnicode_Check(h.ptr())) return Padding(std::string_view(nb::cast<const char*>(h)));
  Shape s;
  if (!to_shape(h.ptr(), s)) throw nb::type_error("conv: expected padding to be numbers, 'same' or 'valid'");
  Padding p;
  p.amount = PerDim(s);
  return p;
}
std::vector<double> factors_of(nb::handle h) {
  if (h.is_none()) return {};
  Scalar s;
  if (to_scalar(h.ptr(), s)) return {s.real()};
  return numbers_of(h, "interpolate", "scale_factor");
}
PerDim result_sizes(nb::handle given) {
  if (given.is_none()) return kKeepSize;
  PerDim size;
  if (!to_shape(given.ptr(), size, true)) throw nb::type_error("output_size: expected an integer, a tuple or None");
  check<ValueError>(!size.empty(),
                    [] { return std::string("output_size: expected one number or more, got an empty tuple"); });
  return size;
}

}  // namespace neura::python
