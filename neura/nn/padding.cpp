#include "neura/nn/padding.h"

#include "neura/nn/repr.h"
#include "neura/ops/shape/shape.h"

namespace neura::nn {

NEURA_LAYER_BODY(PadNd)

PadNd::PadNd(const char* mode, int rank, bool prints_value, const Dims& amounts, Number value)
    : padding(amounts.size() == 1 ? Shape::filled(2 * rank, amounts[0]) : Shape(amounts)),
      value(value),
      mode_(mode),
      prints_value_(prints_value) {
  check<ValueError>(padding.size() == 2 * rank, [&] {
    return "Pad" + std::to_string(rank) + "d: expected 1 or " + std::to_string(2 * rank) + " amounts, got " +
           padding.str();
  });
}
Tensor PadNd::forward(const Tensor& input) const {
  return pad(input, std::vector<std::int64_t>(padding.begin(), padding.end()), mode_, double(value));
}
std::string PadNd::extra_repr() const {
  if (prints_value_) return Repr().add("padding", padding).add("value", value);
  return python_text(padding);
}

}  // namespace neura::nn
