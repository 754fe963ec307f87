#include "neura/nn/positional.h"

#include <cmath>

#include "neura/core/checked_int.h"
#include "neura/nn/repr.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/random/dropout.h"
#include "neura/ops/shape/view.h"

namespace neura::nn {
NEURA_LAYER_BODY(PositionalEncoding)

PositionalEncoding::PositionalEncoding(std::int64_t d_model, const PositionalEncodingOptions& o)
    : d_model(d_model), max_len(o.max_len), p(o.dropout), batch_first(o.batch_first) {
  check<ValueError>(d_model >= 1 && max_len >= 1, [&] {
    return "PositionalEncoding: expected d_model and max_len of at least 1, got " + std::to_string(d_model) + " and " +
           std::to_string(max_len);
  });
  check<ValueError>(p >= 0 && p <= 1,
                    [&] { return "PositionalEncoding: expected a probability in [0, 1], got " + std::to_string(p); });
  check_room("PositionalEncoding", d_model, sizeof(double));
  check_room("PositionalEncoding", max_len, std::size_t(d_model) * sizeof(double));
  std::vector<double> table;
  table.reserve(std::size_t(max_len * d_model));
  for (std::int64_t t = 0; t < max_len; ++t)
    for (std::int64_t c = 0; c < d_model; ++c) {
      const double angle = double(t) / std::pow(10000.0, double(c / 2 * 2) / double(d_model));
      table.push_back(c % 2 ? std::cos(angle) : std::sin(angle));
    }
  const Shape size = batch_first ? Shape{1, max_len, d_model} : Shape{max_len, 1, d_model};
  pe = Buffer(tensor(table, size, {.dtype = o.dtype.value_or(default_dtype()), .device = o.device}));
}

Tensor PositionalEncoding::forward(const Tensor& input) const {
  const int dim = batch_first ? 1 : 0;
  check<ShapeError>(input.dim() == 3 && input.size(2) == d_model && input.size(dim) <= max_len, [&] {
    const std::string length = "at most " + std::to_string(max_len), width = std::to_string(d_model);
    return "PositionalEncoding: expected an input of " +
           (batch_first ? "[N, " + length + ", " + width + "]" : "[" + length + ", N, " + width + "]") + ", got " +
           input.spec().str();
  });
  return dropout(input + pe.narrow(dim, 0, input.size(dim)), p, training);
}

std::string PositionalEncoding::extra_repr() const {
  return Repr()
      .add("d_model", d_model)
      .add("dropout", p)
      .add("max_len", max_len)
      .add_if(batch_first, "batch_first", true);
}

}  // namespace neura::nn
