#include "neura/graph/passes.h"

#include <algorithm>
#include <unordered_map>

#include "neura/graph/program_internal.h"
#include "neura/op/struct_operations.h"

namespace neura::graph {
namespace {

// The nodes to keep, with values numbered again. Captured memory and constants that are not read go, too.
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

bool checks_values(const Node& n) { return n.row == &operations::expect(); }

Program without_dead(const Program& p, bool checks) {
  std::vector<bool> live(p.values.size()), nodes(p.nodes.size());
  for (const ValueId v : p.outputs) live[v] = true;
  for (const Update& u : p.updates) live[u.value] = true;
  for (std::size_t i = p.nodes.size(); i-- > 0;) {
    const Node& n = p.nodes[i];
    nodes[i] = n.row->numbers && !n.row->numbers(n.op->get())->reserved;  // later draws keep their places
    nodes[i] = nodes[i] || (checks && checks_values(n));
    for (const ValueId v : n.out) nodes[i] = nodes[i] || live[v];
    if (!nodes[i]) continue;
    for (const Arg& a : n.in)
      if (a.is_value()) live[a.id] = true;
    if (n.into != kNoValue) live[n.into] = true;
  }
  return kept(p, nodes);
}

// Drawing, writing or varying: never another call's equal.
bool is_pure(const Node& n) { return !n.row->numbers && !n.writes() && !n.varies && n.row->kind != Row::lazy; }

std::string key_of(const Node& n) {  // equal for equal calls
  std::string key = std::to_string(std::uintptr_t(n.row)) + "/" + std::to_string(n.region);
  for (const Arg& a : n.in) {
    key += " " + std::to_string(a.kind) + ":";
    if (a.is_value()) key += std::to_string(a.id);
    if (a.kind != Arg::number) continue;
    const double parts[2] = {a.scalar.real(), a.scalar.imag()};
    const std::int64_t whole = a.scalar.integer();
    key += char('0' + int(a.scalar.category()));
    key.append(reinterpret_cast<const char*>(parts), sizeof parts)
        .append(reinterpret_cast<const char*>(&whole), sizeof whole);
  }
  return key + "{" + Attributes::of(*n.row, n.op->get()).str();
}
void replace(Node& n, const std::vector<ValueId>& by) {
  for (Arg& a : n.in)
    if (a.is_value()) a.id = by[a.id];
  if (n.into != kNoValue) n.into = by[n.into];
}
void replace_ends(Program& p, const std::vector<ValueId>& by) {
  for (ValueId& v : p.outputs) v = by[v];
  for (Update& u : p.updates) u.value = by[u.value];
}

// Values that a later write or a caller may change in place share no memory with another. Only what is read is merged.
std::vector<bool> changed(const Program& p) {
  std::vector<bool> all(p.values.size());
  std::vector<ValueId> root(p.values.size());
  for (ValueId v = 0; v < root.size(); ++v) root[v] = v;
  for (const Node& n : p.nodes)
    if (n.row->kind == Row::view) root[n.out[0]] = root[n.in[0].id];
  for (const ValueId v : p.outputs) all[root[v]] = true;
  for (ValueId v = 0; v < root.size(); ++v) all[v] = all[root[v]];
  return all;
}

}  // namespace

Program without_dead(const Program& p) { return without_dead(p, true); }
Program without_checks(const Program& p) { return without_dead(p, false); }

Program without_repeats(const Program& given) {
  Program p = given;
  const std::vector<bool> returned = changed(p);
  std::vector<ValueId> by(p.values.size());
  for (ValueId v = 0; v < by.size(); ++v) by[v] = v;
  std::unordered_map<std::string, const Node*> seen;
  for (Node& n : p.nodes) {
    replace(n, by);
    if (!is_pure(n) || std::any_of(n.out.begin(), n.out.end(), [&](ValueId v) { return returned[v]; })) continue;
    const auto [first, is_new] = seen.emplace(key_of(n), &n);
    if (is_new) continue;
    for (std::size_t k = 0; k < n.out.size(); ++k) by[n.out[k]] = first->second->out[k];
  }
  replace_ends(p, by);
  return without_dead(p);
}

namespace {

// What each node that depends on constants alone results in; views of them, too.
std::vector<Tensor> constants_of(const Program& p, std::vector<bool>& done) {
  constexpr std::size_t kMost = 64 << 10;
  std::vector<Tensor> known(p.values.size());
  for (std::size_t i = 0; i < p.externals.size(); ++i)
    if (p.externals[i].kind == External::constant) known[i] = p.externals[i].tensor;
  for (std::size_t i = 0; i < p.nodes.size(); ++i) {
    const Node& n = p.nodes[i];
    bool folds = is_pure(n) && !n.out.empty();
    for (const Arg& a : n.in) folds = folds && (!a.is_value() || known[a.id]);
    for (const ValueId v : n.out) folds = folds && p.values[v].bytes() <= kMost;
    if (!folds) continue;
    std::vector<Tensor> results = evaluated(n, known);
    for (std::size_t k = 0; k < results.size(); ++k) known[n.out[k]] = std::move(results[k]);
    done[i] = n.row->kind != Row::view;
  }
  return known;
}

}  // namespace

Program folded(const Program& p) {
  std::vector<bool> done(p.nodes.size());
  const std::vector<Tensor> known = constants_of(p, done);
  Program to;
  std::vector<ValueId> id(p.values.size(), kNoValue);
  const auto add = [&](ValueId v) { id[v] = ValueId(to.values.size()), to.values.push_back(p.values[v]); };
  for (std::size_t i = 0; i < p.externals.size(); ++i) add(ValueId(i)), to.externals.push_back(p.externals[i]);
  for (std::size_t i = 0; i < p.nodes.size(); ++i)
    if (done[i])
      for (const ValueId v : p.nodes[i].out) add(v), to.externals.push_back({External::constant, "", known[v]});
  for (std::size_t i = 0; i < p.nodes.size(); ++i) {
    if (done[i]) continue;
    Node n = p.nodes[i];
    replace(n, id);
    for (ValueId& v : n.out) add(v), v = id[v];
    to.nodes.push_back(std::move(n));
  }
  for (const ValueId v : p.outputs) to.outputs.push_back(id[v]);
  for (const Update& u : p.updates) to.updates.push_back({id[u.external], id[u.value]});
  return without_dead(to);
}

}  // namespace neura::graph
