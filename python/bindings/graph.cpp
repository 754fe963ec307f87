// Programs, as neura.graph has them.
#include "common.h"
#include "neura/graph/automatic_replay.h"
#include "neura/graph/passes.h"
#include "neura/graph/replay.h"
#include "neura/graph/trace.h"
#include "neura/graph/window.h"
#include "neura/io/program.h"

namespace neura::python {
namespace {

using graph::External;
using graph::Program;
using graph::Replay;

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

std::vector<std::string> texts_of(nb::handle names) {
  std::vector<std::string> all;
  for (nb::handle name : names) all.push_back(nb::cast<std::string>(name));
  return all;
}
Metadata metadata_of(nb::dict d) {
  Metadata m;
  for (const auto& [key, value] : d) m[nb::cast<std::string>(key)] = nb::cast<std::string>(value);
  return m;
}
void save(const Program& p, const std::string& path, nb::handle inputs, nb::handle outputs, nb::dict metadata) {
  save_program(path, p, {texts_of(inputs), texts_of(outputs), metadata_of(metadata)});
}
// (program, names of inputs, of outputs, metadata)
nb::tuple load(const std::string& path, bool mmap, bool trusted) {
  ProgramFile f;
  {
    nb::gil_scoped_release alone;
    f = load_program(path, {.mmap = mmap, .trusted = trusted});
  }
  nb::dict metadata;
  for (const auto& [key, value] : f.metadata) metadata[nb::str(key.data(), key.size())] = nb::str(value.c_str());
  return nb::make_tuple(std::move(f.program), listed(f.inputs), listed(f.outputs), metadata);
}

nb::object called(nb::handle f, nb::handle args, nb::handle kwargs) {
  PyObject* result = PyObject_Call(f.ptr(), args.ptr(), kwargs.ptr());
  if (!result) throw nb::python_error();
  return nb::steal(result);
}
nb::object call_compiled(nb::handle f, nb::tuple args, nb::dict kwargs, std::int64_t least) {
  graph::OpenWindow window({.least = least});
  nb::object result = called(f, args, kwargs);
  window.close();
  return result;
}
nb::object call_eager(nb::handle f, nb::tuple args, nb::dict kwargs) {
  const graph::ClosedWindow closed;
  return called(f, args, kwargs);
}
nb::dict explanation(bool reset) {
  const graph::Explanation e = graph::explanation();
  if (reset) graph::reset_explanation();
  nb::dict flushes, d;
  for (const auto& [why, times] : e.flushes) flushes[nb::str(why.c_str())] = times;
  d["waited"] = e.waited, d["unread"] = e.unread, d["ran"] = e.ran, d["fused"] = e.fused;
  d["plans"] = e.plans, d["found"] = e.found, d["planning"] = e.planning, d["running"] = e.running;
  d["flushes"] = flushes;
  return d;
}
nb::dict replay_counts(bool reset) {
  const graph::ReplayCounts c = graph::replay_counts();
  if (reset) graph::reset_replay_counts();
  nb::dict apart, d;
  for (const auto& [why, launches] : c.apart) apart[nb::str(why.c_str())] = launches;
  d["stretches"] = c.stretches, d["captures"] = c.captures, d["replays"] = c.replays;
  d["launches"] = c.launches, d["moved"] = c.moved, d["apart"] = apart;
  return d;
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
      .def("save", &save)
      .def("ports",
           [](const Program& p, const std::string& which) { return which == "inputs" ? p.inputs() : p.outputs.size(); })
      .def("optimized", [](const Program& p) { return optimized(p); })
      .def("outputs", [](const Program& p) { return listed(p.outputs); });
  nb::class_<Replay>(m, "Replay")
      .def(nb::init<Program>())
      .def("run", [](Replay& r, nb::handle in) { return tuple_of(r(tensors(in, "replay"))); })
      .def("captures", &Replay::captures);
  m.def("trace", &trace);
  m.def("call_compiled", &call_compiled);
  m.def("call_eager", &call_eager);
  m.def("is_compiling", &graph::is_compiling);
  m.def("forget_plans", &graph::forget_plans);
  m.def("explanation", &explanation);
  m.def("automatic_replay", &graph::automatic_replay);
  m.def("is_automatic_replay", &graph::is_automatic_replay);
  m.def("replay_counts", &replay_counts);
  m.def("load", &load);
  m.def("parse", [](const std::string& text) { return graph::parse(text); });
}

}  // namespace neura::python
