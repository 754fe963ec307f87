#include "neura/core/fields.h"

namespace neura::detail {

std::string_view FieldNames::next() {
  const std::size_t comma = rest.find(',');
  std::string_view name = rest.substr(0, comma);
  rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
  while (name.starts_with(' ')) name.remove_prefix(1);
  while (name.ends_with(' ')) name.remove_suffix(1);
  constexpr std::string_view varying = "varying(";
  if (name.starts_with(varying)) name = name.substr(varying.size(), name.size() - varying.size() - 1);
  return name;
}

void visit_shape(FieldVisitor& v, FieldName name, Shape& shape) {
  const std::size_t n = v.begin(name, std::size_t(shape.size()), false);
  Shape changed;
  for (std::size_t i = 0; i < n; ++i) {
    std::int64_t size = i < std::size_t(shape.size()) ? shape[int(i)] : 0;
    v.integer({}, size), changed.push_back(size);
  }
  v.end();
  shape = changed;
}

void visit_spec(FieldVisitor& v, FieldName name, Spec& spec) {
  v.begin(name, 0, true);
  Shape sizes = spec.sizes(), strides(spec.strides, spec.rank);
  v.dtype({"dtype"}, spec.dtype), v.device({"device"}, spec.device);
  visit_shape(v, {"shape"}, sizes), visit_shape(v, {"strides"}, strides);
  v.integer({"offset"}, spec.offset);
  v.end();
  spec.rank = std::uint8_t(sizes.size());
  for (int i = 0; i < sizes.size(); ++i)
    spec.shape[i] = sizes[i], spec.strides[i] = i < strides.size() ? strides[i] : 0;
  spec.finish();
}

}  // namespace neura::detail
