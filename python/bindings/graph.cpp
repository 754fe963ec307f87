// Programs, as neura.graph has them.
#include "common.h"
#include "neura/graph/passes.h"
#include "neura/graph/trace.h"

namespace neura::python {
namespace {

using graph::External;
using graph::Program;

std::vector<Tensor> tensors(nb::handle o, const char* what) {
  std::vector<Tensor> all;
  if (!to_tensors(o.ptr(), all)) throw nb::type_error((std::string(what) + ": expected tensors").c_str());
  return all;
}
// f returns a tensor, a list or tuple of them, or None.
std::vector<Tensor> results_of(nb::handle r) {
  if (r.is_none()) return {};
  if (is_tensor(r.ptr())) return {tensor_in(r.ptr())};
  return tensors(r, "trace: expected a function that returns a tensor, a tuple of them or None");
}
Program trace(nb::handle f, nb::handle inputs, nb::dict names) {
  std::vector<graph::Named> named;
  for (const auto& [name, tensor] : names)
    named.push_back({nb::cast<std::string>(name), tensors(nb::make_tuple(tensor), "trace: names")[0]});
  const auto call = [f](std::span<const Tensor> in) { return results_of(f(*tuple_of(in))); };
  return graph::trace(call, tensors(inputs, "trace: inputs"), named);
}
nb::list listed(const std::vector<graph::ValueId>& ids) {
  nb::list l;
  for (const graph::ValueId v : ids) l.append(v);
  return l;
}
// (name, operands, results); operands are numbers of values, Python numbers or None.
nb::list nodes(const Program& p) {
  nb::list l;
  for (const graph::Node& n : p.nodes) {
    nb::list in;
    for (const graph::Arg& a : n.in)
      in.append(a.is_value()                   ? nb::object(nb::int_(a.id))
                : a.kind == graph::Arg::number ? nb::steal(from_scalar(a.scalar))
                                               : nb::none());
    l.append(nb::make_tuple(n.row->name, in, listed(n.out)));
  }
  return l;
}
nb::list externals(const Program& p) {  // (kind, name, tensor or None)
  constexpr const char* kinds[] = {"input", "captured", "constant"};
  nb::list l;
  for (const External& e : p.externals) l.append(nb::make_tuple(kinds[e.kind], e.name, nb::steal(wrap(e.tensor))));
  return l;
}

}  // namespace

void bind_graph(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_graph", "Programs.");
  nb::class_<Program>(m, "Program")
      .def("str", [](const Program& p, bool values) { return str(p, values); })
      .def("to_dot", [](const Program& p) { return to_dot(p); })
      .def("run", [](const Program& p, nb::handle in) { return tuple_of(graph::run(p, tensors(in, "run"))); })
      .def("nodes", &nodes)
      .def("externals", &externals)
      .def("optimized", [](const Program& p) { return optimized(p); })
      .def("outputs", [](const Program& p) { return listed(p.outputs); });
  m.def("trace", &trace);
  m.def("parse", [](const std::string& text) { return graph::parse(text); });
}

}  // namespace neura::python
