// The pass that folds batch normalisation in evaluation mode into the filters before it.
#include <algorithm>

#include "neura/graph/passes.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/struct_operations.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/nn/norm_common.h"
#include "neura/ops/shape/strided.h"
#include "neura/ops/spatial/conv_ops.h"

namespace neura::graph {
namespace {

using Norm = BatchNormOperands::In;
using Convolution = ConvolutionOp::In;

// Writes a program again, with calls between those it copies.
class Writer {
 public:
  explicit Writer(const Program& p) : to(p), from_(p), id_(p.values.size(), kNoValue) {
    to.nodes.clear(), to.values.resize(p.externals.size());
    for (ValueId v = 0; v < p.externals.size(); ++v) id_[v] = v;
  }
  ValueId id(ValueId v) const { return id_[v]; }
  void becomes(ValueId v, ValueId now) { id_[v] = now; }
  void copy(const Node& n) {
    Node c = n;
    for (Arg& a : c.in)
      if (a.is_value()) a.id = id_[a.id];
    if (c.into != kNoValue) c.into = id_[c.into];
    for (ValueId& v : c.out) id_[v] = ValueId(to.values.size()), to.values.push_back(from_.values[v]), v = id_[v];
    to.nodes.push_back(std::move(c));
  }
  ValueId call(const Row& row, const void* op, std::vector<Arg> in) {
    Node n;
    n.row = &row, n.op = std::make_shared<OpMemory>(row, op), n.in = std::move(in);
    const Spec s = infer(to, n)[0];
    n.out = {ValueId(to.values.size())};
    to.values.push_back(s), to.nodes.push_back(std::move(n));
    return ValueId(to.values.size() - 1);
  }
  ValueId row(const Row& r, ValueId a) { return call(r, r.attributes.fallback, {Arg(a)}); }
  ValueId row(const Row& r, ValueId a, Arg b) { return call(r, r.attributes.fallback, {Arg(a), b}); }
  // Contiguous values of n elements in another shape.
  ValueId shaped(ValueId v, const Shape& shape) {
    const Spec& s = to.values[v];
    Spec view = Spec::dense(s.dtype, shape, s.device);
    view.offset = s.offset;
    const AsStrided op{s, view};
    return call(row_of<AsStrided>, &op, {Arg(v)});
  }
  Program finish() {
    for (ValueId& v : to.outputs) v = id_[v];
    for (Update& u : to.updates) u.value = id_[u.value];
    return without_dead(to);
  }
  Program to;

 private:
  const Program& from_;
  std::vector<ValueId> id_;
};

class Folder {
 public:
  explicit Folder(const Program& p) : p_(p), maker_(p.values.size()), uses_(p.values.size()), writer_(p) {
    for (const Node& n : p.nodes) {
      for (const Arg& a : n.in)
        if (a.is_value()) ++uses_[a.id];
      if (n.into != kNoValue) ++uses_[n.into];
      for (const ValueId v : n.out) maker_[v] = &n;
    }
    for (const ValueId v : p.outputs) ++uses_[v];
    for (const Update& u : p.updates) ++uses_[u.value];
  }
  Program run() {
    for (const Node& n : p_.nodes) {
      if (const Node* convolution = convolution_of(n)) replace(n, *convolution);
      else writer_.copy(n);
    }
    return writer_.finish();
  }

 private:
  const Node* made_for_one(ValueId v) const { return uses_[v] == 1 ? maker_[v] : nullptr; }
  bool is_vector(const Arg& a, std::int64_t channels, DType d) const {
    return a.is_value() && p_.values[a.id].contiguous && p_.values[a.id].rank == 1 &&
           p_.values[a.id].numel == channels && p_.values[a.id].dtype == d;
  }
  // The convolution whose result it normalises, and that has no other reader.
  const Node* convolution_of(const Node& n) const {
    if (n.row != &operations::batch_norm_inference() || n.writes() || uses_[n.out[1]] || uses_[n.out[2]])
      return nullptr;
    const Spec& x = p_.values[n.in[Norm::input].id];
    const Node* before = made_for_one(n.in[Norm::input].id);
    if (!before || before->row != &operations::convolution() || before->destination != Destination::fresh)
      return nullptr;
    if (x.rank < 2 || (x.dtype != DType::float32 && x.dtype != DType::float64)) return nullptr;
    const Arg &mean = n.in[Norm::running_mean], &var = n.in[Norm::running_var];
    for (const Arg& a : {n.in[Norm::weight], n.in[Norm::bias], mean, var, before->in[Convolution::bias]})
      if (a.kind != Arg::absent && !is_vector(a, x.shape[1], x.dtype)) return nullptr;
    const Spec& w = p_.values[before->in[Convolution::weight].id];
    const bool fits = mean.is_value() && var.is_value() && w.contiguous && w.dtype == x.dtype;
    return fits ? before : nullptr;
  }
  void replace(const Node& n, const Node& convolution) {
    Writer& w = writer_;
    const auto at = [&](int operand) { return w.id(n.in[std::size_t(operand)].id); };
    const double eps = Attributes::of(*n.row, n.op->get()).find("eps")->number;
    const ValueId filter = w.id(convolution.in[Convolution::weight].id);
    Shape columns = Shape::filled(w.to.values[filter].rank, 1);
    columns[0] = w.to.values[filter].shape[0];
    ValueId scale = w.row(rows::rsqrt, w.row(rows::add, at(Norm::running_var), Arg(Scalar(eps))));
    if (n.in[Norm::weight].is_value()) scale = w.row(rows::mul, scale, Arg(at(Norm::weight)));
    const Arg& bias = convolution.in[Convolution::bias];
    const ValueId mean = at(Norm::running_mean);
    ValueId shift = bias.is_value() ? w.row(rows::sub, w.id(bias.id), Arg(mean)) : w.row(rows::neg, mean);
    shift = w.row(rows::mul, shift, Arg(scale));
    if (n.in[Norm::bias].is_value()) shift = w.row(rows::add, shift, Arg(at(Norm::bias)));
    const ValueId scaled = w.row(rows::mul, filter, Arg(w.shaped(scale, columns)));
    const ValueId x = w.id(convolution.in[Convolution::input].id);
    w.becomes(n.out[0], w.call(*convolution.row, convolution.op->get(), {Arg(x), Arg(scaled), Arg(shift)}));
  }

  const Program& p_;
  std::vector<const Node*> maker_;
  std::vector<int> uses_;
  Writer writer_;
};

}  // namespace

Program without_batch_norm(const Program& p) { return Folder(p).run(); }

Program frozen(const Program& p) {
  Program to = p;
  std::vector<bool> updated(p.externals.size());
  for (const Update& u : p.updates) updated[u.external] = true;
  for (std::size_t i = 0; i < to.externals.size(); ++i) {
    External& e = to.externals[i];
    if (e.kind != External::captured || updated[i] || !e.tensor) continue;
    e.kind = External::constant, e.tensor = clone(e.tensor.detach());
  }
  return to;
}

}  // namespace neura::graph
