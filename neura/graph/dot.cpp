// A program as Graphviz's text.
#include "neura/graph/program.h"
#include "neura/graph/program_internal.h"

namespace neura::graph {
namespace {

std::string quoted(const std::string& text) {
  std::string q = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') q += '\\';
    q += c == '\n' ? ' ' : c;
  }
  return q + "\"";
}
std::string spec_label(const Spec& s) { return s.str(); }

}  // namespace

std::string to_dot(const Program& p) {
  std::string text = "digraph program {\n  node [shape=box, fontname=\"monospace\"];\n";
  std::vector<std::string> from(p.values.size());  // the vertex that makes a value
  constexpr const char* kinds[] = {"input", "captured", "constant"};
  for (std::size_t i = 0; i < p.externals.size(); ++i) {
    from[i] = "e" + std::to_string(i);
    const External& e = p.externals[i];
    text +=
        "  " + from[i] + " [shape=ellipse, label=" +
        quoted(std::string(kinds[e.kind]) + (e.name.empty() ? "" : " " + e.name) + "  " + p.values[i].device.str()) +
        "];\n";
  }
  const auto edge = [&](ValueId v, const std::string& to) {
    text += "  " + from[v] + " -> " + to + " [label=" + quoted(spec_label(p.values[v])) + "];\n";
  };
  for (std::size_t i = 0; i < p.nodes.size(); ++i) {
    const Node& n = p.nodes[i];
    const std::string vertex = "n" + std::to_string(i);
    const Device device = n.out.empty() ? Device() : p.values[n.out[0]].device;
    const std::string attributes = Attributes::of(*n.row, n.op->get()).str();
    text += "  " + vertex + " [label=" + quoted(name_of(*n.row) + "  " + device.str()) +
            (attributes.empty() ? "" : ", tooltip=" + quoted(attributes)) + "];\n";
    for (const Arg& a : n.in)
      if (a.is_value()) edge(a.id, vertex);
    for (const ValueId v : n.out) from[v] = vertex;
  }
  if (!p.outputs.empty()) text += "  result [shape=ellipse, label=\"return\"];\n";
  for (const ValueId v : p.outputs) edge(v, "result");
  for (const Update& u : p.updates)
    text += "  " + from[u.value] + " -> " + from[u.external] + " [style=dashed, label=\"update\"];\n";
  return text + "}\n";
}

}  // namespace neura::graph
