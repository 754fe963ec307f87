#include "neura/ops/spatial/spatial.h"

#include "neura/core/error.h"

namespace neura {

Shape per_dim(const char* op, const char* what, const PerDim& given, int dims, std::int64_t least) {
  check<ShapeError>(given.size() == 1 || given.size() == dims, [&] {
    return std::string(op) + ": expected " + what + " of one" + (dims == 1 ? "" : " or " + std::to_string(dims)) +
           " numbers, got " + given.str();
  });
  const Shape all = given.size() == dims ? Shape(given) : Shape::filled(dims, given[0]);
  for (std::int64_t n : all) {
    check<ValueError>(n >= least, [&] {
      return std::string(op) + ": expected " + what + " of at least " + std::to_string(least) + ", got " + given.str();
    });
    check<ValueError>(n <= kMostPerDim, [&] {
      return std::string(op) + ": expected " + what + " of at most " + std::to_string(kMostPerDim) + ", got " +
             given.str();
    });
  }
  return all;
}

}  // namespace neura
