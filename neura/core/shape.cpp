#include "neura/core/shape.h"

#include "neura/core/error.h"

namespace neura {

void Shape::too_long(std::size_t n) {
  throw ShapeError("shape: expected at most " + std::to_string(kMaxRank) + " dimensions, got " + std::to_string(n) +
                   "; flatten some of them");
}

std::string str(std::span<const std::int64_t> sizes) {
  std::string s = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) s += (i ? ", " : "") + std::to_string(sizes[i]);
  return s + "]";
}
std::string Shape::str() const { return neura::str(*this); }

Shape calculate_strides(const Shape& shape) {
  Shape strides = shape;
  std::int64_t step = 1;
  for (int i = shape.size() - 1; i >= 0; --i) strides[i] = step, step *= std::max<std::int64_t>(shape[i], 1);
  return strides;
}

int wrap_dim(const char* op, std::int64_t dim, int rank) {
  const int room = std::max(rank, 1);  // a 0-d tensor takes 0 and -1
  check<IndexError>(dim >= -room && dim < room, [&] {
    return std::string(op) + ": expected a dimension from " + std::to_string(-room) + " to " +
           std::to_string(room - 1) + ", got " + std::to_string(dim);
  });
  return int(dim < 0 ? dim + room : dim);
}

Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b) {
  const Shape &longer = a.size() >= b.size() ? a : b, &other = a.size() >= b.size() ? b : a;
  Shape out = longer;
  for (int i = 0; i < other.size(); ++i) {
    std::int64_t& size = out[i + longer.size() - other.size()];
    if (size == 1) size = other[i];
    check<ShapeError>(other[i] == 1 || other[i] == size, [&] {
      return std::string(op) + ": expected shapes that broadcast, got " + a.str() + " and " + b.str() +
             "; sizes counted from the last dimension must be equal or 1";
    });
  }
  return out;
}

}  // namespace neura
