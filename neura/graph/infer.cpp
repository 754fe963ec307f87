// Specs of a node's results, inferred without memory; a program's inputs, outputs and last uses.
#include <deque>

#include "neura/graph/program_internal.h"

namespace neura::graph {
namespace {

// A call whose operands have specs and no memory.
class SpecCall {
 public:
  SpecCall(const Program& p, const Node& n) : operands_(n.in.size()) {
    for (std::size_t i = 0; i < n.in.size(); ++i) {
      const Arg& a = n.in[i];
      if (a.kind == Arg::number) operands_[i] = Operand(a.scalar);
      else if (a.is_value()) operands_[i] = Operand(&tensors_.emplace_back(p.values[a.id], nullptr, 0));
    }
  }
  Call call(const Node& n) {
    return {n.row, n.op->get(), operands_.data(), int(operands_.size()), nullptr, n.destination};
  }

 private:
  std::deque<TensorImpl> tensors_;
  std::vector<Operand> operands_;
};

// A new value of what had this spec: in memory of its own.
Spec renewed(Spec s) {
  s.offset = 0;
  return s.dense() ? s : Spec::dense(s.dtype, s.sizes(), s.device);
}

}  // namespace

std::vector<ValueId> written_by(const Node& n) {
  std::vector<ValueId> all;
  if (n.destination != Destination::fresh) all.push_back(n.into);
  for (std::size_t i = 0; i < n.in.size(); ++i)
    if (n.row->writes_input(int(i)) && n.in[i].is_value()) all.push_back(n.in[i].id);
  return all;
}

std::vector<const Spec*> operand_specs(const Program& p, const Node& n) {
  static const Spec none = [] {
    Spec s;
    s.rank = kAbsent;
    return s;
  }();
  std::vector<const Spec*> all;
  for (const Arg& a : n.in) all.push_back(a.is_value() ? &p.values[a.id] : &none);
  return all;
}

Dtypes dtypes_of(const Program& p, const Node& n) {
  SpecCall abstract(p, n);
  return neura::dtypes_of(abstract.call(n));
}

std::vector<Spec> infer(const Program& p, const Node& n) {
  const Row& row = *n.row;
  Spec spec[kMaxOutputs];
  if (row.kind == Row::pointwise) {
    infer_pointwise(SpecCall(p, n).call(n), spec[0]);
  } else if (row.kind == Row::slope) {
    spec[0] = infer_slope(SpecCall(p, n).call(n));
  } else {
    row.infer(n.op->get(), operand_specs(p, n).data(), int(n.in.size()), spec);
    if (row.kind == Row::view) spec[0].finish();
  }
  std::vector<Spec> all(spec, spec + row.outputs);
  if (n.destination != Destination::fresh) all[0] = renewed(p.values[n.into]);
  for (std::size_t i = 0; i < n.in.size(); ++i)
    if (row.writes_input(int(i)) && n.in[i].is_value()) all.push_back(renewed(p.values[n.in[i].id]));
  return all;
}

bool varies(const Row& row, const void* op) {
  if (row.numbers) return false;
  const Attributes a = Attributes::of(row, op);
  return std::any_of(a.fields().begin(), a.fields().end(), [](const Attributes::Field& f) { return f.varying; });
}

std::size_t Program::inputs() const {
  std::size_t n = 0;
  for (const External& e : externals) n += e.kind == External::input;
  return n;
}

std::vector<Spec> Program::input_specs() const {
  std::vector<Spec> all;
  for (std::size_t i = 0; i < externals.size(); ++i)
    if (externals[i].kind == External::input) all.push_back(values[i]);
  return all;
}
std::vector<Spec> Program::output_specs() const {
  std::vector<Spec> all;
  for (const ValueId v : outputs) all.push_back(values[v]);
  return all;
}

std::size_t uses_end(const Program& p) { return p.nodes.size(); }
std::vector<std::size_t> last_uses(const Program& p) {
  std::vector<std::size_t> last(p.values.size(), std::string::npos);
  for (std::size_t i = 0; i < p.nodes.size(); ++i) {
    for (const Arg& a : p.nodes[i].in)
      if (a.is_value()) last[a.id] = i;
    if (p.nodes[i].into != kNoValue) last[p.nodes[i].into] = i;
  }
  for (const ValueId v : p.outputs) last[v] = uses_end(p);
  for (const Update& u : p.updates) last[u.value] = uses_end(p);
  return last;
}

}  // namespace neura::graph
