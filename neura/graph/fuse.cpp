// The pass that fuses pointwise calls into groups.
#include <algorithm>
#include <unordered_map>

#include "neura/core/scalar_range.h"
#include "neura/graph/fused.h"
#include "neura/graph/passes.h"
#include "neura/graph/program_internal.h"
#include "neura/op/registry.h"

namespace neura::graph {
namespace {

constexpr std::size_t kMostOperands = 24, kMostCalls = 32;

class Fuser {
 public:
  explicit Fuser(const Program& p)
      : p_(p), maker_(p.values.size(), -1), group_(p.nodes.size(), -1), members_(p.nodes.size()) {
    uses_.resize(p.values.size());
    for (std::size_t i = 0; i < p.nodes.size(); ++i) {
      const Node& n = p.nodes[i];
      for (const Arg& a : n.in)
        if (a.is_value()) uses_[a.id].push_back(int(i));
      if (n.into != kNoValue) uses_[n.into].push_back(int(i));
      for (const ValueId v : n.out) maker_[v] = int(i);
    }
    for (const ValueId v : p.outputs) uses_[v].push_back(int(p.nodes.size()));
    for (const Update& u : p.updates) uses_[u.value].push_back(int(p.nodes.size()));
  }

  Program run() {
    for (std::size_t i = p_.nodes.size(); i-- > 0;)
      if (group_[i] < 0 && can(p_.nodes[i])) grow(int(i));
    Program to = p_;
    to.nodes.clear();
    for (std::size_t i = 0; i < p_.nodes.size(); ++i) {
      if (group_[i] < 0) to.nodes.push_back(p_.nodes[i]);
      else if (group_[i] == int(i)) to.nodes.push_back(together(members_[i]));
    }
    return without_dead(to);  // and without the values between
  }

 private:
  // A row, or the slope of one, that checks none of its values, with a contiguous result; on the cpu a conversion, too.
  bool can(const Node& n) const {
    if (is_conversion(*n.row)) return converts(n);
    if (n.row->kind != Row::pointwise && n.row->kind != Row::slope) return false;
    if (n.destination != Destination::fresh || find_operation(n.row->name) != n.row) return false;
    const Spec& y = p_.values[n.out[0]];
    if (!y.contiguous || y.numel < 2) return false;
    const FusedCall d = dtypes_of_call(n);
    if (n.row->types.divides && is_integral(d.computed)) return false;
    if (is_integral(d.natural) && d.natural != d.result) return false;  // bounds that the result may not hold
    if (is_complex(d.computed) && (n.row->kind == Row::slope || !y.device.is_cpu())) return false;
    if (!y.device.is_cpu() && (!y.device.is_cuda() || formulas_of(*n.row).own)) return false;
    // Long series, which two compilers may contract differently: they have nothing to gain but other bits.
    if (!y.device.is_cpu() && formulas_of(*n.row).family == Family::special) return false;
    bool any = false;  // the slope of a step reads nothing
    for (std::size_t i = 0; i < n.in.size(); ++i) {
      const Arg& a = n.in[i];
      any |= reads(n, i);
      if (a.kind == Arg::number && !in_range(a.scalar, wanted(*n.row, int(i), d.computed))) return false;
      if (reads(n, i) && !can_read(p_.values[a.id], y)) return false;
    }
    return any;
  }
  bool converts(const Node& n) const {
    if (n.destination != Destination::fresh || !n.in[0].is_value()) return false;
    const Spec &x = p_.values[n.in[0].id], &y = p_.values[n.out[0]];
    return y.device.is_cpu() && y.contiguous && y.numel > 1 && x.dtype != y.dtype && can_read(x, y);
  }
  // All of a call but its operands and attributes.
  FusedCall dtypes_of_call(const Node& n) const {
    const std::int64_t row = row_number(*n.row);
    if (is_conversion(*n.row)) {
      const DType from = p_.values[n.in[0].id].dtype;
      return {row, from, from, p_.values[n.out[0]].dtype, {}, {}};
    }
    if (n.row->kind == Row::slope) {
      const DType result = p_.values[n.out[0]].dtype, computed = accumulation(result);
      return {row, computed, computed, result, {}, {}};
    }
    const Dtypes d = dtypes_of(p_, n);
    return {row, d.computed, d.natural, d.result, {}, {}};
  }
  // True if operand i is read for its values, not for its sizes alone.
  static bool reads(const Node& n, std::size_t i) {
    return n.in[i].is_value() && (n.row->kind != Row::slope || i || n.row->of->slopes[n.row->operand].reads_g);
  }
  static bool can_read(const Spec& s, const Spec& y) {
    if (s.device != y.device) return false;
    return y.device.is_cuda() || broadcast_of(s, y.sizes());
  }
  bool is_in(int node, int last) const { return node < int(group_.size()) && group_[std::size_t(node)] == last; }
  // All that reads v is in the group of `last`.
  bool is_inner(ValueId v, int last) const {
    return std::all_of(uses_[v].begin(), uses_[v].end(), [&](int i) { return is_in(i, last); });
  }
  std::vector<int> also(int last) const {  // members whose values are read by others, but the last
    std::vector<int> all;
    for (const int i : members_[std::size_t(last)])
      if (i != last && !is_inner(p_.nodes[std::size_t(i)].out[0], last)) all.push_back(i);
    return all;
  }
  void grow(int last) {
    std::vector<int>& group = members_[std::size_t(last)];
    group = {last};
    group_[std::size_t(last)] = last;
    for (bool more = true; more;) {
      more = false;
      for (std::size_t k = 0; k < group.size(); ++k) {
        const Node& n = p_.nodes[std::size_t(group[k])];
        for (std::size_t i = 0; i < n.in.size(); ++i)
          if (reads(n, i) && maker_[n.in[i].id] >= 0 && group_[std::size_t(maker_[n.in[i].id])] < 0)
            more |= join(maker_[n.in[i].id], last);
      }
    }
    std::sort(group.begin(), group.end());
    if (group.size() == 1) group_[std::size_t(last)] = -1;
  }
  // With what reads its value before `last` has run, if all of that can join.
  bool join(int node, int last) {
    const Node& end = p_.nodes[std::size_t(last)];
    std::vector<int> joining{node};
    for (std::size_t k = 0; k < joining.size(); ++k) {
      const Node& n = p_.nodes[std::size_t(joining[k])];
      if (group_[std::size_t(joining[k])] >= 0 || joining.size() > kMostCalls || !can(n) || n.region != end.region ||
          !p_.values[n.out[0]].same_shape(p_.values[end.out[0]]) || loses_operand(joining[k], last))
        return false;
      for (const int i : uses_[n.out[0]])
        if (i < last && !is_in(i, last) && std::find(joining.begin(), joining.end(), i) == joining.end())
          joining.push_back(i);
    }
    std::vector<int>& group = members_[std::size_t(last)];
    const std::size_t before = group.size();
    group.insert(group.end(), joining.begin(), joining.end());
    for (const int i : joining) group_[std::size_t(i)] = last;
    if (group.size() <= kMostCalls && operands(group).size() <= kMostOperands && also(last).size() < kMaxOutputs)
      return true;
    for (const int i : joining) group_[std::size_t(i)] = -1;
    group.resize(before);
    return false;
  }
  // True if memory that the node reads is written before `last`: it would have to be copied, to be read there.
  bool loses_operand(int node, int last) const {
    const Node& n = p_.nodes[std::size_t(node)];
    for (std::size_t k = 0; k < n.in.size(); ++k) {
      if (!reads(n, k)) continue;
      for (const int i : uses_[n.in[k].id]) {
        if (i <= node || i >= last || !p_.nodes[std::size_t(i)].writes()) continue;
        const std::vector<ValueId> written = written_by(p_.nodes[std::size_t(i)]);
        if (std::find(written.begin(), written.end(), n.in[k].id) != written.end()) return true;
      }
    }
    return false;
  }
  std::vector<ValueId> operands(const std::vector<int>& group) const {
    std::vector<ValueId> all;
    for (const int g : group)
      for (std::size_t i = 0; i < p_.nodes[std::size_t(g)].in.size(); ++i) {
        const Arg& a = p_.nodes[std::size_t(g)].in[i];
        if (!reads(p_.nodes[std::size_t(g)], i) || std::find(all.begin(), all.end(), a.id) != all.end()) continue;
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
      FusedCall call = dtypes_of_call(n);
      for (std::size_t i = 0; i < n.in.size(); ++i)
        call.in.push_back(reads(n, i) ? slot.at(n.in[i].id) : n.in[i].kind == Arg::number ? next_number++ : -1);
      const auto* attributes = static_cast<const double*>(n.op->get());
      call.attributes.assign(attributes, attributes + formulas_of(*n.row).attributes.count);
      slot[n.out[0]] = first_call + std::int64_t(k);
      op.calls.push_back(std::move(call));
    }
    Node node;
    for (const int i : also(group.back())) op.also.push_back(std::find(group.begin(), group.end(), i) - group.begin());
    for (const ValueId v : in) node.in.emplace_back(v);
    node.out = end.out, node.region = end.region;
    for (const std::int64_t i : op.also) node.out.push_back(p_.nodes[std::size_t(group[std::size_t(i)])].out[0]);
    switch (node.out.size()) {
      case 1:
        return with(std::move(node), op);
      case 2:
        return with(std::move(node), FusedOf<2>{std::move(op)});
      case 3:
        return with(std::move(node), FusedOf<3>{std::move(op)});
      default:
        return with(std::move(node), FusedOf<4>{std::move(op)});
    }
  }
  template <class Op> static Node with(Node node, const Op& op) {
    node.row = &row_of<Op>, node.op = std::make_shared<OpMemory>(*node.row, &op);
    return node;
  }

  const Program& p_;
  std::vector<std::vector<int>> uses_;     // by value: nodes, and after them what a run gives
  std::vector<int> maker_, group_;         // by value; by node: the last node of its group, -1: none
  std::vector<std::vector<int>> members_;  // of groups, by their last node: in order
};

}  // namespace

Program fused(const Program& p) { return Fuser(p).run(); }
Program optimized(const Program& p) { return fused(without_repeats(folded(p))); }

}  // namespace neura::graph
