// Recurrent layers. Neura computes what the input gives to the gates first, for all times; ONNX has both in one
// operator. Where that part is a linear layer, its weight goes in; else the gates do, with the identity as weight.
#include <algorithm>

#include "neura/onnx/row_call.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/struct_operations.h"
#include "neura/ops/create/create.h"

namespace neura::onnx {
namespace {

enum Cell { kTanh, kRelu, kGru, kLstm };

// Blocks of rows in ONNX's order: i o f c of i f g o, z r h of r z n.
std::string ordered(RowCall& c, const std::string& x, int cell, std::int64_t hidden) {
  if (cell < kGru) return x;
  const std::vector<int> order = cell == kLstm ? std::vector<int>{0, 3, 1, 2} : std::vector<int>{1, 0, 2};
  Names parts;
  for (const int i : order)
    parts.push_back(c.to.slice(x, 0, i * hidden, (i + 1) * hidden, hidden * std::int64_t(order.size())));
  return c.to.concat(parts, 0, std::vector<std::int64_t>(order.size(), hidden));
}
std::string with_direction(RowCall& c, const std::string& x, const std::vector<Size>& sizes) {
  std::vector<std::int64_t> from, to{1};
  for (const Size& s : sizes) {
    if (!s.fixed()) return c.to.add("Unsqueeze", {x, c.to.integers({0})});
    from.push_back(s.value), to.push_back(s.value);
  }
  return c.to.reshape(x, from, to);
}

struct Gates {
  std::string x, w, bias, more;  // [rows, width], [gates * hidden, width], twice [gates * hidden]: their sum is added
  Size width;
};
Gates gates_of(RowCall& c, std::int64_t rows) {
  const DType d = c.out().dtype;
  const std::string none = c.has(4) ? c.name(4) : c.to.constant(zeros({rows}, {.dtype = d}));
  const graph::Node* by = c.maker(0);
  if (!by || by->row != &operations::linear() || c.made(0).spec(0).rank != 2)
    return {c.name(0), c.to.constant(eye(rows, {.dtype = d})), c.to.constant(zeros({rows}, {.dtype = d})), none,
            c.size(0, 1)};
  RowCall linear = c.made(0);
  Gates g{linear.name(0), linear.name(1), linear.has(2) ? linear.name(2) : c.to.constant(zeros({rows}, {.dtype = d})),
          none, linear.size(0, 1)};
  const graph::Node* sum = c.has(4) ? nullptr : linear.maker(2);  // of the two biases that torch's layers have
  if (!sum || sum->row != &rows::add) return g;
  RowCall both = linear.made(2);
  const auto is_bias = [&](std::size_t i) { return both.node.in[i].is_value() && both.spec(i).numel == rows; };
  if (is_bias(0) && is_bias(1)) g.bias = both.name(0), g.more = both.name(1);
  return g;
}

// x [rows by time, gates], h, cell [batch, hidden], w [gates * hidden, hidden], b: a gru's, of what h gives.
void write_recurrence(RowCall& c) {
  const auto cell = int(c.integer("way.cell"));
  if (!c.sizes("way.sizes").empty()) c.refuse("a packed sequence", "pass a padded one");
  const std::int64_t hidden = c.spec(3).shape[1], rows = c.spec(3).shape[0];
  const Gates gates = gates_of(c, rows);
  const std::vector<Size> by_time{c.size("way.times"), c.size(1, 0), gates.width};
  const std::string x = c.to.add("Reshape", {gates.x, c.write_size().shape(by_time)});
  const std::string bias =
      c.to.concat({ordered(c, gates.bias, cell, hidden), ordered(c, gates.more, cell, hidden)}, 0, {rows, rows});
  Names in{x,
           with_direction(c, ordered(c, gates.w, cell, hidden), {Size{rows}, gates.width}),
           with_direction(c, ordered(c, c.name(3), cell, hidden), {Size{rows}, Size{hidden}}),
           with_direction(c, bias, {Size{2 * rows}}),
           "",
           with_direction(c, c.name(1), c.sizes(1))};
  if (cell == kLstm) in.push_back(with_direction(c, c.name(2), c.sizes(2)));
  AttributeList a{attribute("hidden_size", hidden)};
  if (c.integer("way.reverse")) a.push_back(attribute("direction", "reverse"));
  if (cell == kGru) a.push_back(attribute("linear_before_reset", std::int64_t{1}));
  if (cell == kRelu) {
    AttributeProto relu = attribute("activations", std::vector<std::int64_t>{});
    relu.strings = {"Relu"}, relu.type = int(AttributeProto::Kind::texts);
    a.push_back(relu);
  }
  const char* const op = cell == kLstm ? "LSTM" : cell == kGru ? "GRU" : "RNN";
  const Names out = c.to.add_many(op, in, a, cell == kLstm ? 3 : 2);
  c.result(c.to.add("Reshape", {out[0], c.to.integers({-1, hidden})}));
  c.result(cell == kLstm ? c.to.concat({out[1], out[2]}, 0, {1, 1}) : out[1], 1);
}

constexpr RowWriter kWriters[] = {{"recurrent_layer", write_recurrence, "LSTM, GRU, RNN"}};

}  // namespace

std::span<const RowWriter> recurrent_writers() { return kWriters; }

}  // namespace neura::onnx
