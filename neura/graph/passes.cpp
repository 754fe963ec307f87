#include "neura/graph/passes.h"

namespace neura::graph {
namespace {

// The nodes to keep, with values numbered anew. Captured memory and constants that nobody reads go, too.
Program kept(const Program& p, const std::vector<bool>& nodes) {
  std::vector<bool> read(p.values.size());
  const auto reads = [&](const Node& n) {
    for (const Arg& a : n.in)
      if (a.is_value()) read[a.id] = true;
    if (n.into != kNoValue) read[n.into] = true;
  };
  for (std::size_t i = 0; i < p.nodes.size(); ++i)
    if (nodes[i]) reads(p.nodes[i]);
  for (const ValueId v : p.outputs) read[v] = true;
  for (const Update& u : p.updates) read[u.value] = read[u.external] = true;

  Program to;
  std::vector<ValueId> id(p.values.size(), kNoValue);
  const auto add = [&](ValueId v) { id[v] = ValueId(to.values.size()), to.values.push_back(p.values[v]); };
  for (std::size_t i = 0; i < p.externals.size(); ++i)
    if (read[i] || p.externals[i].kind == External::input) add(ValueId(i)), to.externals.push_back(p.externals[i]);
  for (std::size_t i = 0; i < p.nodes.size(); ++i) {
    if (!nodes[i]) continue;
    Node n = p.nodes[i];
    for (Arg& a : n.in)
      if (a.is_value()) a.id = id[a.id];
    if (n.into != kNoValue) n.into = id[n.into];
    for (ValueId& v : n.out) add(v), v = id[v];
    to.nodes.push_back(std::move(n));
  }
  for (const ValueId v : p.outputs) to.outputs.push_back(id[v]);
  for (const Update& u : p.updates) to.updates.push_back({id[u.external], id[u.value]});
  return to;
}

}  // namespace

Program without_dead(const Program& p) {
  std::vector<bool> live(p.values.size()), nodes(p.nodes.size());
  for (const ValueId v : p.outputs) live[v] = true;
  for (const Update& u : p.updates) live[u.value] = true;
  for (std::size_t i = p.nodes.size(); i-- > 0;) {
    const Node& n = p.nodes[i];
    nodes[i] = n.row->numbers && !n.row->numbers(n.op->get())->reserved;  // later draws keep their places
    for (const ValueId v : n.out) nodes[i] = nodes[i] || live[v];
    if (!nodes[i]) continue;
    for (const Arg& a : n.in)
      if (a.is_value()) live[a.id] = true;
    if (n.into != kNoValue) live[n.into] = true;
  }
  return kept(p, nodes);
}

}  // namespace neura::graph
