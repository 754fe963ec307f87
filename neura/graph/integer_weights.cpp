#include "neura/graph/integer_weights.h"

#include <algorithm>
#include <optional>

#include "neura/graph/program_internal.h"
#include "neura/graph/trace.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/struct_operations.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/quant/quantize.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"

namespace neura::graph {
namespace {

struct Weight {
  ValueId id;       // its external
  Tensor q, scale;  // int8, and one step for each place along an axis, as it broadcasts
  Program floats;   // of the two
};

// The dimension along which each place gets a step of its own: that of the results, as far as the call tells. None
// where the call is not one that reads weights.
std::optional<int> axis_of(const Node& n, std::size_t operand, int dims) {
  namespace o = operations;
  if (n.destination != Destination::fresh || n.row->written_inputs) return {};
  if (n.row == &o::matmul() && operand == 1) return dims - 1;
  if (n.row == &o::addmm() && operand == 2) return dims - 1;
  for (const Row* known :
       {&o::linear(), &o::convolution(), &o::convolution_backward_input(), &o::matmul(), &o::addmm(), &o::permute()})
    if (n.row == known) return 0;
  return {};
}

// The axis of the first call that reads an external; none where one is no call of weights.
std::optional<int> axis_of(const Program& p, ValueId id) {
  if (std::find(p.outputs.begin(), p.outputs.end(), id) != p.outputs.end()) return {};
  for (const Update& u : p.updates)
    if (u.external == id || u.value == id) return {};
  std::optional<int> axis;
  for (const Node& n : p.nodes) {
    if (n.into == id) return {};
    for (std::size_t i = 0; i < n.in.size(); ++i) {
      if (!n.in[i].is_value() || n.in[i].id != id) continue;
      const std::optional<int> here = axis_of(n, i, p.values[id].rank);
      if (!here) return {};
      if (!axis) axis = here;
    }
  }
  return axis;
}

std::optional<Weight> integers_of(const Program& p, ValueId id, std::int64_t least) {
  const External& e = p.externals[id];
  const Tensor w = e.tensor ? e.tensor.detach() : Tensor();
  const bool fits = e.kind != External::input && w && w.dtype() == DType::float32 && w.dim() >= 2 && w.numel() >= least;
  const std::optional<int> axis = fits ? axis_of(p, id) : std::nullopt;
  if (!axis || !all(isfinite(w)).item<bool>()) return {};
  const std::int64_t places = w.size(*axis);
  const Tensor rows = transpose(w, 0, *axis).reshape({places, -1});
  const Tensor most = amax(abs(rows), 1);
  const Tensor step = where(gt(most, 0), div(most, 127.0), ones_like(most));
  Shape shape = Shape::filled(w.dim(), 1);
  shape[*axis] = places;
  QuantizeOptions o;
  o.axis = *axis, o.quant_min = -127;
  Weight made{id,
              quantize_affine(w, step, zeros({places}, {DType::int32, w.device(), false}), o),
              reshape(step, shape).contiguous(),
              {}};
  const std::vector<Tensor> parts{made.q, made.scale};
  made.floats = trace([](auto in) { return std::vector{mul(in[0].to(DType::float32), in[1])}; }, parts);
  return made;
}

// A program's values in another one.
struct Splice {
  Program& to;
  std::vector<ValueId> id;  // by value of the program that is added; kNoValue: not there yet

  void external(ValueId from, const Spec& spec, External e) {
    id[from] = ValueId(to.values.size());
    to.values.push_back(spec), to.externals.push_back(std::move(e));
  }
  void nodes(const Program& p) {
    for (Node n : p.nodes) {
      for (Arg& a : n.in)
        if (a.is_value()) a.id = id[a.id];
      if (n.into != kNoValue) n.into = id[n.into];
      for (ValueId& v : n.out) {
        id[v] = ValueId(to.values.size()), to.values.push_back(p.values[v]);
        v = id[v];
      }
      to.nodes.push_back(std::move(n));
    }
  }
};

}  // namespace

IntegerWeights with_integer_weights(const Program& p, std::int64_t least) {
  std::vector<Weight> weights;
  for (ValueId i = 0; i < p.externals.size(); ++i)
    if (std::optional<Weight> w = integers_of(p, i, least)) weights.push_back(std::move(*w));
  IntegerWeights made;
  made.weights = weights.size();
  Splice whole{made.program, std::vector<ValueId>(p.values.size(), kNoValue)};
  std::vector<Splice> parts;
  std::vector<bool> gone(p.externals.size());
  for (const Weight& w : weights) gone[w.id] = true;
  for (ValueId i = 0; i < p.externals.size(); ++i)
    if (!gone[i]) whole.external(i, p.values[i], p.externals[i]);
  for (const Weight& w : weights) {  // externals come before all calls
    Splice part{made.program, std::vector<ValueId>(w.floats.values.size(), kNoValue)};
    const External& e = p.externals[w.id];
    for (ValueId i = 0; i < w.floats.externals.size(); ++i) {
      const Tensor t = i == 0 ? w.q : i == 1 ? w.scale : w.floats.externals[i].tensor;
      part.external(i, w.floats.values[i], {e.kind, e.name.empty() || !i ? e.name : e.name + ".scale", t});
    }
    made.before += p.values[w.id].bytes(), made.after += w.q.nbytes() + w.scale.nbytes();
    parts.push_back(std::move(part));
  }
  for (std::size_t k = 0; k < weights.size(); ++k) {
    parts[k].nodes(weights[k].floats);
    whole.id[weights[k].id] = parts[k].id[weights[k].floats.outputs[0]];
  }
  whole.nodes(p);
  for (const ValueId v : p.outputs) made.program.outputs.push_back(whole.id[v]);
  for (const Update& u : p.updates) made.program.updates.push_back({whole.id[u.external], whole.id[u.value]});
  verify(made.program);
  return made;
}

}  // namespace neura::graph
