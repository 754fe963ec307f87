#include "neura/autograd/function_node.h"

#include "neura/autograd/anomaly.h"
#include "neura/autograd/grad_mode.h"
#include "neura/autograd/run.h"
#include "neura/core/state.h"
#include "neura/ops/create/copy.h"

namespace neura {

SavedValue::SavedValue(const Tensor& t, const Node* self) {
  if (!t) return;
  spec_ = t.spec(), version_ = t.version();
  data_ = Tensor(t.impl()->alias());
  if (differentiable(t.dtype())) edge_ = edge_of(t.impl());
  if (self && edge_.node.get() == self) own_ = int(edge_.output), edge_ = {};
  if (SavedHooks::top()) packed_ = SavedHooks::pack_by_top(data_), data_ = {};
}
Tensor SavedValue::get(const char* op, std::size_t number, Node* self) const {
  if (!data_ && !packed_) return {};
  const Tensor value = packed_ ? unpacked(*packed_, spec_, op) : data_;
  check<InplaceError>(packed_ || value.version() == version_, [&] {
    return std::string(op) + ": expected saved tensor " + std::to_string(number) + " (" + spec_.str() +
           ") at version " + std::to_string(version_) + ", got version " + std::to_string(value.version()) +
           "; clone() it before it is written";
  });
  Tensor t(value.impl()->alias());
  if (edge_.node) adopt_history(t.impl(), edge_.node, int(edge_.output));
  else if (own_ >= 0) adopt_history(t.impl(), Ref<Node>::share(self), own_);
  return t;
}

bool CustomNode::take(std::span<const Tensor> inputs) {
  check<ValueError>(inputs.size() <= 65535, [&] { return std::string(name()) + ": expected at most 65535 inputs"; });
  bool recorded = false;
  sequence = state.sequence;
  for (const Tensor& t : inputs) {
    edge.push_back(t && is_grad_enabled() && differentiable(t.dtype()) ? edge_of(t.impl()) : Edge());
    input_metas.push_back(t ? GradientSpec(t.spec()) : GradientSpec());
    if (const Edge& e = edge.back(); e.node) recorded = true, sequence = std::max(sequence, e.node->sequence);
  }
  this->inputs = std::uint16_t(inputs.size()), edges = edge.data();
  if (recorded && state.active & kAnomaly) {
    std::string text;
    for (const Tensor& t : inputs)
      if (t) text += (text.empty() ? "" : ", ") + t.spec().str();
    made_at = trace_of(name(), text);
  }
  return recorded;
}

void CustomNode::give(Results& r, std::span<const Tensor> inputs) {
  check<ValueError>(r.values.size() <= 65535, [&] { return std::string(name()) + ": expected at most 65535 results"; });
  sequence = state.sequence = std::max(sequence, state.sequence) + 1;
  wide = r.values.size() > std::size_t(kMaxOutputs);
  for (const Tensor& t : r.values) metas.push_back(t ? GradientSpec(t.spec()) : GradientSpec());
  for (std::size_t i = 0; i < r.values.size(); ++i)
    if (r.values[i]) give_one(r, i, inputs);
}

void CustomNode::give_one(Results& r, std::size_t i, std::span<const Tensor> inputs) {
  Tensor& t = r.values[i];
  const bool dirty = !r.dirty.empty() && r.dirty[i];
  const bool plain = (!r.plain.empty() && r.plain[i]) || !differentiable(t.dtype());
  if (dirty) {
    check<NotImplementedError>(!t.impl()->base || plain, [&] {
      return std::string(name()) + ": expected a dirty tensor that is no view, got a view of another; clone() it first";
    });
    check<InplaceError>(!t.requires_grad() || !t.is_leaf(), [&] {
      return std::string(name()) +
             ": expected no leaf that requires gradients to be written in place; clone() it first";
    });
  } else {
    bool known = t.impl()->history;  // made by another call: it must keep the history it has
    for (const Tensor& in : inputs) known |= in && in.is_same(t);
    for (std::size_t j = 0; j < i; ++j) known |= r.values[j] && r.values[j].is_same(t);
    if (known) t = Tensor(t.impl()->alias());
  }
  if (plain) return;
  adopt_history(t.impl(), Ref<Node>::share(this), int(i));
  if (dirty) ++t.impl()->generation;                 // its views are regenerated when next asked
  if (t.impl()->base) t.impl()->locked_view = true;  // written in place, it would pass this node by
}

void CustomNode::backward(Run& run, Tensor* g) {
  std::vector<Tensor> grads(std::make_move_iterator(g), std::make_move_iterator(g + metas.size()));
  std::vector<Tensor> result = derive(grads, run.retain);
  grads.clear();
  check<ValueError>(result.size() == edge.size(), [&] {
    return std::string(name()) + ": expected backward to give " + std::to_string(edge.size()) +
           " gradients, one per input, got " + std::to_string(result.size());
  });
  for (std::size_t i = 0; i < edge.size(); ++i) {
    if (!edge[i].node || !run.wants(edge[i])) result[i] = {};
    if (!result[i]) continue;
    const Spec& s = result[i].spec();
    const GradientSpec& want = input_metas[i];
    bool fits = s.rank >= want.rank;
    for (int d = 0; fits && d < want.rank; ++d)
      fits = want.shape[d] == 1 || s.shape[d + s.rank - want.rank] == want.shape[d];
    check<ShapeError>(fits, [&] {
      return std::string(name()) + ": expected backward to give a gradient of shape " + want.sizes().str() +
             " for input " + std::to_string(i) + ", got " + s.sizes().str();
    });
    result[i] = to(fit_gradient(std::move(result[i]), want), want.device);
  }
  if (state.active & kAnomaly) [[unlikely]]
    check_anomaly(*this, result.data(), int(result.size()));
  run.leave(*this, result.data(), int(result.size()));
  for (std::size_t i = 0; i < edge.size(); ++i)
    if (run.wants(edge[i])) run.deliver(*this, edge[i], std::move(result[i]));
}

namespace {
struct Refusal final : CustomNode {
  std::string text;
  const char* name() const override { return "once_differentiable"; }
  std::vector<Tensor> derive(std::vector<Tensor>&, bool) override { throw AutogradError(text); }
};
}  // namespace

std::vector<Tensor> refuse_derivative(const std::vector<Tensor>& values, std::vector<Edge> from, std::string text) {
  const auto node = Ref<Refusal>::adopt(new Refusal);
  node->text = std::move(text);
  node->sequence = state.sequence;
  for (Edge& e : from) {
    if (!e.node) continue;
    node->sequence = std::max(node->sequence, e.node->sequence);
    node->input_metas.push_back(e.node->meta(e.output)), node->edge.push_back(std::move(e));
  }
  node->inputs = std::uint16_t(node->edge.size()), node->edges = node->edge.data();
  CustomNode::Results r;
  for (const Tensor& t : values) r.values.push_back(t ? Tensor(t.impl()->alias()) : t);
  node->give(r, {});
  return r.values;
}

}  // namespace neura
