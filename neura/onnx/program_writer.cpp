// The calls of a traced program become nodes, each by the function that the table has for its operation, or by those
// that its definition makes.
#include <algorithm>
#include <cstring>

#include "neura/graph/passes.h"
#include "neura/graph/program_internal.h"
#include "neura/graph/trace.h"
#include "neura/onnx/program_state.h"
#include "neura/op/struct_operations.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"

namespace neura::onnx {
namespace {

using graph::External;
using graph::Program;

std::string module_of(const std::string& parameter) {
  const std::size_t dot = parameter.rfind('.');
  return dot == std::string::npos ? "" : parameter.substr(0, dot);
}
bool same_place(const Tensor& a, const Tensor& b) {
  return a.impl()->storage == b.impl()->storage && a.dtype() == b.dtype() && a.spec().same_geometry(b.spec());
}
std::string known_name(const ProgramState& s, const Tensor& t) {
  for (const auto& [name, tensor] : s.known)
    if (tensor && same_place(tensor, t)) return name;
  return "";
}
bool has_initializer(const GraphWriter& to, const std::string& name) {
  return std::any_of(to.graph.initializer.begin(), to.graph.initializer.end(),
                     [&](const TensorProto& t) { return t.name == name; });
}
// A tensor of a model under its name, or a constant.
std::string tensor_name(ProgramState& s, const Tensor& t) {
  const std::string name = known_name(s, t);
  if (name.empty()) return s.to.constant(t);
  if (!has_initializer(s.to, name)) s.to.initializer(name, t);
  return name;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  const Tensor x = contiguous(a.detach().to(Device())), y = contiguous(b.detach().to(Device()));
  return x.nbytes() == y.nbytes() && !std::memcmp(x.const_raw_data(), y.const_raw_data(), x.nbytes());
}

[[noreturn]] void other_program(const std::string& what) {
  throw ValueError("onnx.export: expected the same operations for every size, got " + what +
                   "; make the dynamic dimensions fixed, or larger than 1 in the example");
}
// Every trace does the same calls on the same values; sizes and attributes may differ.
void check_alike(const std::vector<Program>& traces) {
  const Program& a = traces[0];
  for (const Program& b : traces) {
    const std::size_t n = std::min(a.nodes.size(), b.nodes.size());
    for (std::size_t i = 0; i < n; ++i) {
      const graph::Node &x = a.nodes[i], &y = b.nodes[i];
      bool same = x.row == y.row && x.out == y.out && x.into == y.into && x.in.size() == y.in.size();
      for (std::size_t k = 0; same && k < x.in.size(); ++k)
        same = x.in[k].kind == y.in[k].kind && x.in[k].id == y.in[k].id;
      if (!same) other_program(std::string(x.row->name) + " and " + y.row->name + " as call " + std::to_string(i));
    }
    if (a.nodes.size() != b.nodes.size() || a.externals.size() != b.externals.size() || a.outputs != b.outputs)
      other_program(std::to_string(a.nodes.size()) + " and " + std::to_string(b.nodes.size()) + " calls");
  }
}

// A view of memory that the model owns is a tensor of its own, such as a parameter that shares a block with others.
bool is_window(ProgramState& s, const graph::Node& n) {
  if (n.row != &operations::as_strided() || n.in[0].id >= s.program().externals.size()) return false;
  const External& e = s.program().externals[n.in[0].id];
  if (e.kind == External::input || s.traces.size() > 1) return false;
  const Spec& view = s.program().values[n.out[0]];
  const Tensor t(Ref<TensorImpl>::adopt(TensorImpl::make(view, Ref<Storage>::share(e.tensor.impl()->storage).leave())));
  s.names[n.out[0]] = tensor_name(s, t);
  return true;
}

// A view of a constant is one, too.
bool is_constant(ProgramState& s, const graph::Node& n) {
  if (n.row->kind != Row::view || s.constants.empty() || !s.constants[n.in[0].id]) return false;
  s.constants[n.out[0]] = graph::evaluated(n, s.constants)[0];
  s.names[n.out[0]] = s.to.constant(s.constants[n.out[0]]);
  return true;
}

// With the names of its first values.
void prepare(ProgramState& s, const Names& first) {
  check_alike(s.traces);
  const Program& p = s.program();
  s.names.resize(p.values.size());
  std::copy(first.begin(), first.end(), s.names.begin());
  s.last = last_uses(p);
  s.makers.assign(p.values.size(), std::string::npos);
  for (std::size_t i = 0; i < p.nodes.size(); ++i)
    for (const graph::ValueId v : p.nodes[i].out) s.makers[v] = i;
}

void write_call(ProgramState& s, std::size_t i, int depth);

// The results of its definition: for each trace a program of operations that are written in its place.
void write_definition(ProgramState& s, std::size_t i, int depth) {
  const graph::Node& n = s.program().nodes[i];
  std::vector<Program> traces;
  std::vector<std::size_t> defined;  // results
  for (const Program& p : s.traces) {
    const graph::Node& node = p.nodes[i];
    std::vector<Tensor> in;
    for (const graph::Arg& a : node.in)
      if (a.is_value()) in.push_back(zeros(p.values[a.id].sizes(), {.dtype = p.values[a.id].dtype}));
    const auto f = [&](std::span<const Tensor> given) {
      std::vector<Tensor> operands(node.in.size()), results(node.row->outputs), present;
      std::size_t next = 0;
      for (std::size_t k = 0; k < operands.size(); ++k)
        if (node.in[k].is_value()) operands[k] = given[next++];
      node.row->define(node.op->get(), operands.data(), int(operands.size()), results.data());
      defined.clear();
      for (std::size_t k = 0; k < results.size(); ++k)
        if (results[k]) present.push_back(results[k]), defined.push_back(k);
      return present;
    };
    traces.push_back(graph::without_checks(graph::trace(f, in)));
  }
  Names operands;
  for (const graph::Arg& a : n.in)
    if (a.is_value()) operands.push_back(s.name_of(a.id));
  ProgramState inner{s.to, s.symbols, s.inputs, std::move(traces), {}, {}, {}, {}, s.module};
  prepare(inner, operands);
  for (std::size_t k = 0; k < inner.program().nodes.size(); ++k) write_call(inner, k, depth + 1);
  for (std::size_t k = 0; k < defined.size(); ++k)
    s.names[n.out[defined[k]]] = inner.name_of(inner.program().outputs[k]);
}

void write_call(ProgramState& s, std::size_t i, int depth) {
  const graph::Node& n = s.program().nodes[i];
  if (is_window(s, n) || is_constant(s, n)) return;
  s.to.module.clear();
  for (const graph::Arg& a : n.in)
    if (a.is_value() && a.id < s.program().externals.size() && s.to.module.empty())
      s.to.module = module_of(s.program().externals[a.id].name);
  if (!s.to.module.empty()) s.module = s.to.module;
  RowCall call(s, i);
  const RowWriter* w = find_writer(n.row->name);
  if (w && w->since > s.to.opset)
    call.refuse("", "ask for an opset_version of " + std::to_string(w->since) + " or more");
  if (w && w->write) return w->write(call);
  if (w) {
    Names all;
    for (std::size_t k = 0; k < call.inputs(); ++k) all.push_back(call.in(k, call.common()).name);
    return call.result(s.to.add(w->op, all));
  }
  if (n.row->define && depth < 4 && n.destination == Destination::fresh) return write_definition(s, i, depth);
  call.refuse("", "compute it of other operations, or leave it out of what is exported");
}

}  // namespace

std::string ProgramState::name_of(graph::ValueId v) {
  if (!names[v].empty()) return names[v];
  check<ValueError>(v < program().externals.size(), [] { return "onnx.export: expected a value that was written"; });
  const External& e = program().externals[v];
  if (e.kind == External::constant)
    for (const Program& p : traces)
      check<ValueError>(same_bytes(e.tensor, p.externals[v].tensor), [&] {
        return "onnx.export: expected constants that no size changes, got one of " + e.tensor.spec().str() +
               " made on the host; make the dynamic dimensions fixed";
      });
  return names[v] = tensor_name(*this, e.tensor);
}
Size ProgramState::size(graph::ValueId v, int dim) const {
  std::vector<std::int64_t> seen;
  for (const Program& p : traces) seen.push_back(p.values[v].shape[dim]);
  return symbols.explain(seen);
}

Names write_program(GraphWriter& to, const Symbols& symbols, const Names& inputs, std::vector<Program> traces,
                    const std::vector<std::pair<std::string, Tensor>>& known, const Names& externals) {
  ProgramState s{to, symbols, inputs, std::move(traces), known, {}, {}, {}, ""};
  prepare(s, externals);
  const Program& p = s.program();
  for (const Spec& v : p.values)
    check<NotImplementedError>(!is_complex(v.dtype), [&] {
      return "onnx.export: expected real numbers, got " + v.str() + "; ONNX's operators take no complex ones";
    });
  if (s.traces.size() == 1) {
    s.constants.resize(p.values.size());
    for (std::size_t i = 0; i < p.externals.size(); ++i)
      if (p.externals[i].kind == External::constant) s.constants[i] = p.externals[i].tensor;
  }
  for (std::size_t i = 0; i < p.nodes.size(); ++i) write_call(s, i, 0);
  to.module.clear();
  Names out;
  for (const graph::ValueId v : p.outputs) out.push_back(s.name_of(v));
  return out;
}

}  // namespace neura::onnx
