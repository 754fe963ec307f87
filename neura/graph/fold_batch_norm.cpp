// The pass that folds batch normalisation in evaluation mode into the filters before it.
#include <algorithm>

#include "neura/graph/passes.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/shape/strided.h"

namespace neura::graph {
namespace {

// Writes a program anew, with calls between those it copies.
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
    if (std::string_view(n.row->name) != "batch_norm_inference" || n.writes() || uses_[n.out[1]] || uses_[n.out[2]])
      return nullptr;
    const Spec& x = p_.values[n.in[0].id];
    const Node* before = made_for_one(n.in[0].id);
    if (!before || before->row != find_operation("convolution") || before->destination != Destination::fresh)
      return nullptr;
    if (x.rank < 2 || (x.dtype != DType::float32 && x.dtype != DType::float64)) return nullptr;
    for (const Arg& a : {n.in[1], n.in[2], n.in[3], n.in[4], before->in[2]})
      if (a.kind != Arg::absent && !is_vector(a, x.shape[1], x.dtype)) return nullptr;
    const Spec& w = p_.values[before->in[1].id];
    const bool fits = n.in[3].is_value() && n.in[4].is_value() && w.contiguous && w.dtype == x.dtype;
    return fits ? before : nullptr;
  }
  void replace(const Node& n, const Node& convolution) {
    Writer& w = writer_;
    const auto at = [&](std::size_t i) { return w.id(n.in[i].id); };
    double eps = 0;
    const Attributes attributes = Attributes::of(*n.row, n.op->get());
    for (const Attributes::Field& f : attributes.fields())
      if (f.name == "eps") eps = f.number;
    const ValueId filter = w.id(convolution.in[1].id);
    Shape columns = Shape::filled(w.to.values[filter].rank, 1);
    columns[0] = w.to.values[filter].shape[0];
    ValueId scale = w.row(rows::rsqrt, w.row(rows::add, at(4), Arg(Scalar(eps))));
    if (n.in[1].is_value()) scale = w.row(rows::mul, scale, Arg(at(1)));
    const Arg& bias = convolution.in[2];
    ValueId shift = bias.is_value() ? w.row(rows::sub, w.id(bias.id), Arg(at(3))) : w.row(rows::neg, at(3));
    shift = w.row(rows::mul, shift, Arg(scale));
    if (n.in[2].is_value()) shift = w.row(rows::add, shift, Arg(at(2)));
    const ValueId scaled = w.row(rows::mul, filter, Arg(w.shaped(scale, columns)));
    const ValueId x = w.id(convolution.in[0].id);
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
