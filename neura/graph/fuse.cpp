#include <algorithm>
#include <unordered_map>

#include "neura/core/scalar_range.h"
#include "neura/graph/fused.h"
#include "neura/graph/names.h"
#include "neura/graph/passes.h"
#include "neura/ops/registry.h"

namespace neura::graph {
namespace {

constexpr std::size_t kMostOperands = 24, kMostCalls = 32;

class Fuser {
 public:
  explicit Fuser(const Program& p) : p_(p), maker_(p.values.size(), -1), group_(p.nodes.size(), -1) {
    uses_.resize(p.values.size());
    const auto rows = all_operations();
    for (std::size_t i = 0; i < rows.size(); ++i) number_.emplace(rows[i], i);
    for (std::size_t i = 0; i < p.nodes.size(); ++i) {
      const Node& n = p.nodes[i];
      for (const Arg& a : n.in)
        if (a.is_value()) uses_[a.id].push_back(int(i));
      if (n.into != kNoValue) uses_[n.into].push_back(-1);
      for (const ValueId v : n.out) maker_[v] = int(i);
    }
    for (const ValueId v : p.outputs) uses_[v].push_back(-1);
    for (const Update& u : p.updates) uses_[u.value].push_back(-1);
  }

  Program run() {
    for (std::size_t i = p_.nodes.size(); i-- > 0;)
      if (group_[i] < 0 && can(p_.nodes[i])) grow(int(i));
    Program to = p_;
    to.nodes.clear();
    for (std::size_t i = 0; i < p_.nodes.size(); ++i) {
      if (group_[i] < 0) to.nodes.push_back(p_.nodes[i]);
      else if (group_[i] == int(i)) to.nodes.push_back(together(members(int(i))));
    }
    return without_dead(to);  // and without the values between
  }

 private:
  // A row on contiguous values, which checks none of them.
  bool can(const Node& n) const {
    if (n.row->kind != Row::pointwise || n.destination != Destination::fresh || !number_.count(n.row)) return false;
    const Spec& y = p_.values[n.out[0]];
    if (!y.contiguous || !y.device.is_cpu() || y.numel < 2) return false;
    const Dtypes d = dtypes_of(p_, n);
    if (n.row->cls.divides && is_integral(d.computed)) return false;
    for (std::size_t i = 0; i < n.in.size(); ++i) {
      const Arg& a = n.in[i];
      if (a.kind == Arg::number) {
        if (!in_range(a.scalar, n.row->cls.mask_first && !i ? DType::boolean : d.computed)) return false;
      } else {
        const Spec& s = p_.values[a.id];
        if (!s.device.is_cpu() || !s.contiguous || !(s.same_shape(y) || (s.numel == 1 && s.rank <= y.rank)))
          return false;
      }
    }
    return true;
  }
  // All that reads v is in the group of `last`.
  bool is_inner(ValueId v, int last) const {
    return std::all_of(uses_[v].begin(), uses_[v].end(),
                       [&](int i) { return i >= 0 && group_[std::size_t(i)] == last; });
  }
  void grow(int last) {
    std::vector<int> group{last};
    group_[std::size_t(last)] = last;
    const Node& end = p_.nodes[std::size_t(last)];
    bool more = true;
    while (more && group.size() < kMostCalls) {
      more = false;
      for (std::size_t k = 0; k < group.size() && group.size() < kMostCalls; ++k)
        for (const Arg& a : p_.nodes[std::size_t(group[k])].in) {
          const int m = a.is_value() ? maker_[a.id] : -1;
          if (m < 0 || group_[std::size_t(m)] >= 0 || !is_inner(a.id, last)) continue;
          const Node& n = p_.nodes[std::size_t(m)];
          if (!can(n) || n.region != end.region || !p_.values[a.id].same_shape(p_.values[end.out[0]])) continue;
          group_[std::size_t(m)] = last;
          if (operands(members(last)).size() > kMostOperands) {
            group_[std::size_t(m)] = -1;
            continue;
          }
          group.push_back(m), more = true;
          break;
        }
    }
    if (group.size() == 1) group_[std::size_t(last)] = -1;
  }
  std::vector<int> members(int last) const {  // in order
    std::vector<int> all;
    for (int i = 0; i <= last; ++i)
      if (group_[std::size_t(i)] == last) all.push_back(i);
    return all;
  }
  std::vector<ValueId> operands(const std::vector<int>& group) const {
    std::vector<ValueId> all;
    for (const int i : group)
      for (const Arg& a : p_.nodes[std::size_t(i)].in) {
        if (!a.is_value() || std::find(all.begin(), all.end(), a.id) != all.end()) continue;
        const int m = maker_[a.id];
        if (m < 0 || std::find(group.begin(), group.end(), m) == group.end()) all.push_back(a.id);
      }
    return all;
  }
  Node together(const std::vector<int>& group) const {
    const std::vector<ValueId> in = operands(group);
    const Node& end = p_.nodes[std::size_t(group.back())];
    Fused op;
    op.size = p_.values[end.out[0]].sizes();
    for (const int i : group)
      for (const Arg& a : p_.nodes[std::size_t(i)].in)
        if (a.kind == Arg::number) op.numbers.push_back(a.scalar);
    std::unordered_map<ValueId, std::int64_t> slot;
    for (const ValueId v : in) slot.emplace(v, std::int64_t(slot.size()));
    auto next_number = std::int64_t(in.size());
    const auto first_call = std::int64_t(in.size() + op.numbers.size());
    for (std::size_t k = 0; k < group.size(); ++k) {
      const Node& n = p_.nodes[std::size_t(group[k])];
      const Dtypes d = dtypes_of(p_, n);
      FusedCall call{std::int64_t(number_.at(n.row)), d.computed, d.natural, d.result, {}, {}};
      for (const Arg& a : n.in) call.in.push_back(a.is_value() ? slot.at(a.id) : next_number++);
      const auto* attributes = static_cast<const double*>(n.op->get());
      call.attributes.assign(attributes, attributes + n.row->attributes.count);
      slot[n.out[0]] = first_call + std::int64_t(k);
      op.calls.push_back(std::move(call));
    }
    Node node;
    node.row = &row_of<Fused>, node.op = std::make_shared<OpMemory>(*node.row, &op);
    for (const ValueId v : in) node.in.emplace_back(v);
    node.out = end.out, node.region = end.region;
    return node;
  }

  const Program& p_;
  std::vector<std::vector<int>> uses_;  // by value; -1: what is no operand
  std::vector<int> maker_, group_;      // by value; by node: the last node of its group, -1: none
  std::unordered_map<const Row*, std::size_t> number_;
};

}  // namespace

Program fused(const Program& p) { return Fuser(p).run(); }
Program optimized(const Program& p) { return fused(without_repeats(folded(p))); }

}  // namespace neura::graph
