// The memory plan of a program: when each value is live, and where its bytes are.
#include <algorithm>

#include "neura/graph/passes.h"

namespace neura::graph {
namespace {

constexpr std::size_t kAligned = 64;

struct Interval {
  ValueId value;
  std::size_t bytes, begin, end;  // from the node that makes it to the last that reads it
};

// Of values with memory of their own: no externals, no views, and nothing that is returned.
std::vector<Interval> intervals_of(const Program& p) {
  const std::vector<std::size_t> last = last_uses(p);
  std::vector<ValueId> root(p.values.size());
  for (ValueId v = 0; v < root.size(); ++v) root[v] = v;
  for (const Node& n : p.nodes)
    if (n.row->kind == Row::view) root[n.out[0]] = root[n.in[0].id];
  std::vector<std::size_t> end(p.values.size(), 0);
  for (ValueId v = 0; v < root.size(); ++v)
    if (last[v] != std::string::npos) end[root[v]] = std::max(end[root[v]], last[v]);
  std::vector<bool> returned(p.values.size());
  for (const ValueId v : p.outputs) returned[root[v]] = true;
  std::vector<Interval> all;
  for (std::size_t i = 0; i < p.nodes.size(); ++i)
    for (const ValueId v : p.nodes[i].out) {
      const Spec& s = p.values[v];
      const std::size_t elements = std::size_t(std::max(s.numel, s.span()));
      const std::size_t bytes = (elements * std::size_t(size_of(s.dtype)) + kAligned - 1) & -kAligned;
      if (root[v] == v && !returned[v] && bytes) all.push_back({v, bytes, i, std::max(end[v], i)});
    }
  return all;
}

}  // namespace

MemoryPlan plan_memory(const Program& p) {
  std::vector<Interval> order = intervals_of(p);
  std::stable_sort(order.begin(), order.end(), [](const Interval& a, const Interval& b) { return a.bytes > b.bytes; });
  MemoryPlan plan{std::vector<std::size_t>(p.values.size(), std::string::npos), 0};
  std::vector<Interval> placed;  // by offset
  const auto at = [&](const Interval& x) { return plan.offset[x.value]; };
  for (const Interval& x : order) {
    std::size_t best = std::string::npos, room = std::string::npos, free = 0;
    for (const Interval& other : placed) {
      if (other.end < x.begin || x.end < other.begin) continue;
      if (at(other) >= free + x.bytes && at(other) - free < room) best = free, room = at(other) - free;
      free = std::max(free, at(other) + other.bytes);
    }
    plan.offset[x.value] = best == std::string::npos ? free : best;
    plan.bytes = std::max(plan.bytes, at(x) + x.bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), x,
                                   [&](const Interval& a, const Interval& b) { return at(a) < at(b); }),
                  x);
  }
  return plan;
}

}  // namespace neura::graph
