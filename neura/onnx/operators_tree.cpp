// Ensembles of decision trees (ai.onnx.ml version 5).
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "neura/onnx/operators.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"

namespace neura::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

struct Trees {
  enum Mode { at_most, below, at_least, above, equal, other, member };
  enum Aggregate { average, sum, least, most };
  Integers features, modes, yes, no, yes_leaf, no_leaf, targets, missing, roots;
  std::vector<double> splits, weights;
  std::vector<std::set<double>> sets;  // by node
  std::int64_t outputs, aggregate;

  explicit Trees(const Node& n)
      : features(n.integers("nodes_featureids")),
        yes(n.integers("nodes_truenodeids")),
        no(n.integers("nodes_falsenodeids")),
        yes_leaf(n.integers("nodes_trueleafs")),
        no_leaf(n.integers("nodes_falseleafs")),
        targets(n.integers("leaf_targetids")),
        missing(n.integers("nodes_missing_value_tracks_true")),
        roots(n.integers("tree_roots")),
        outputs(n.integer("n_targets", 1)),
        aggregate(n.integer("aggregate_function", sum)) {
    if (n.integer("post_transform", 0) != 0)
      throw NotImplementedError("onnx.load: TreeEnsemble with a post_transform is not implemented");
    modes = integers_of(n.tensor("nodes_modes").tensor), splits = reals_of(n.tensor("nodes_splits").tensor);
    weights = reals_of(n.tensor("leaf_weights").tensor);
    std::size_t at = 0;
    const std::vector<double> members =
        n.has("membership_values") ? reals_of(n.tensor("membership_values").tensor) : std::vector<double>();
    for (std::int64_t mode : modes) {  // the sets are concatenated, each with a NaN after it
      std::set<double>& s = sets.emplace_back();
      if (mode != member) continue;
      while (at < members.size() && !std::isnan(members[at])) s.insert(members[at++]);
      ++at;
    }
    check_indices(n.op);
  }
  void check_indices(const std::string& op) const {
    const std::size_t nodes = modes.size();
    bool fits = nodes > 0 && outputs > 0 && outputs < 1 << 20 && aggregate >= average && aggregate <= most &&
                targets.size() == weights.size();
    for (const auto* v : {&features, &yes, &no, &yes_leaf, &no_leaf}) fits = fits && v->size() == nodes;
    fits = fits && splits.size() == nodes && (missing.empty() || missing.size() == nodes);
    const auto within = [](std::int64_t i, std::size_t size) { return i >= 0 && std::size_t(i) < size; };
    for (std::size_t i = 0; fits && i < nodes; ++i)
      fits = within(yes[i], yes_leaf[i] ? weights.size() : nodes) &&
             within(no[i], no_leaf[i] ? weights.size() : nodes) && features[i] >= 0;
    for (std::size_t i = 0; fits && i < roots.size(); ++i) fits = within(roots[i], nodes);
    for (std::size_t i = 0; fits && i < targets.size(); ++i) fits = within(targets[i], std::size_t(outputs));
    if (!fits) refuse(op, "nodes and leaves that fit each other", "others");
  }

  bool holds(std::size_t i, double x) const {
    if (std::isnan(x) && !missing.empty() && missing[i]) return true;
    switch (modes[i]) {
      case at_most:
        return x <= splits[i];
      case below:
        return x < splits[i];
      case at_least:
        return x >= splits[i];
      case above:
        return x > splits[i];
      case equal:
        return x == splits[i];
      case other:
        return x != splits[i];
      default:
        return sets[i].count(x) > 0;
    }
  }
  std::size_t leaf(std::size_t node, const double* row, std::int64_t width) const {
    for (std::size_t steps = 0; steps <= modes.size(); ++steps) {
      if (features[node] >= width)
        throw ShapeError("TreeEnsemble: expected more features than " + std::to_string(features[node]) + ", got " +
                         std::to_string(width));
      const bool go = holds(node, row[features[node]]);
      const auto next = std::size_t(go ? yes[node] : no[node]);
      if (go ? yes_leaf[node] : no_leaf[node]) return next;
      node = next;
    }
    refuse("TreeEnsemble", "trees", "a circle of nodes");
  }
  Results operator()(const Operands& x) const {
    const Tensor t = x[0];
    if (t.dim() != 2) throw ShapeError("TreeEnsemble: expected [rows, features], got " + t.shape().str());
    const std::vector<double> rows = reals_of(t);
    const double infinity = std::numeric_limits<double>::infinity();
    std::vector<double> out(std::size_t(t.size(0) * outputs), aggregate == least  ? infinity
                                                              : aggregate == most ? -infinity
                                                                                  : 0);
    for (std::int64_t r = 0; r < t.size(0); ++r)
      for (std::int64_t root : roots) {
        const std::size_t l = leaf(std::size_t(root), rows.data() + r * t.size(1), t.size(1));
        double& to = out[std::size_t(r * outputs + targets[l])];
        if (aggregate == least) to = std::min(to, weights[l]);
        else if (aggregate == most) to = std::max(to, weights[l]);
        else to += weights[l] / (aggregate == average ? double(roots.size()) : 1);
      }
    return tensor(out, Shape{t.size(0), outputs}, {float64, Device(), false}).to(t.dtype());
  }
};
BoundNode trees(const Node& n) { return Trees(n); }

}  // namespace

std::span<const Operator> tree_operators() {
  static const Operator rows[] = {
      {"TreeEnsemble", 5, kNewest, trees, Types::plain, Folding::never, "ai.onnx.ml"},
  };
  return rows;
}

}  // namespace neura::onnx
