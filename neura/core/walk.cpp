#include "neura/core/walk.h"

#include "neura/core/error.h"

namespace neura {

std::int64_t get_offset(const Shape& index, const Shape& shape, const Shape& strides) {
  bool inside = index.size() == shape.size() && index.size() == strides.size();
  for (int d = 0; d < index.size() && inside; ++d) inside = index[d] >= 0 && index[d] < shape[d];
  check<IndexError>(inside, [&] {
    return "get_offset: expected an index inside of the shape " + shape.str() + ", got " + index.str();
  });
  std::int64_t at = 0;
  for (int d = 0; d < index.size(); ++d) at += index[d] * strides[d];
  return at;
}

Shape index_to_coord(std::int64_t linear, const Shape& shape) {
  check<IndexError>(linear >= 0 && linear < shape.numel(), [&] {
    return "index_to_coord: expected a place below " + std::to_string(shape.numel()) + " for the shape " + shape.str() +
           ", got " + std::to_string(linear);
  });
  Shape index = shape;
  for (int d = shape.size() - 1; d >= 0; --d) index[d] = linear % shape[d], linear /= shape[d];
  return index;
}

Shape broadcast_strides(const Shape& shape, const Shape& strides, const Shape& as) {
  check<ShapeError>(broadcast_shapes("broadcast_strides", shape, as) == as, [&] {
    return "broadcast_strides: expected a shape that broadcasts to " + as.str() + ", got " + shape.str();
  });
  Shape wide = Shape::filled(as.size(), 0);
  const int missing = as.size() - shape.size();
  for (int d = 0; d < shape.size(); ++d) wide[d + missing] = shape[d] == 1 ? 0 : strides[d];
  return wide;
}

}  // namespace neura
