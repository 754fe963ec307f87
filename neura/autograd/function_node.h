// Nodes of custom autograd functions, written in C++ or Python, and the values that they save for backward.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "neura/op/record.h"

namespace neura {

// A value saved for backward. A result of the node itself is saved without a reference to the node, which would be a
// cycle.
class SavedValue {
 public:
  SavedValue(const Tensor& t, const Node* self);
  // The value with its place in the graph. InplaceError, which names it by `number`, if it was written in place since.
  Tensor get(const char* op, std::size_t number, Node* self) const;

 private:
  Tensor data_;
  Spec spec_;
  std::uint32_t version_ = 0;
  Edge edge_;
  int own_ = -1;  // which result of the node
  std::shared_ptr<Packed> packed_;
};

struct CustomNode : Node {
  std::vector<Edge> edge;
  std::vector<GradientSpec> metas, input_metas;  // of results, of inputs
  std::string made_at;                           // anomaly mode

  const GradientSpec& meta(unsigned output) const override { return metas[output]; }
  unsigned outputs() const override { return unsigned(metas.size()); }
  const char* trace() const override { return made_at.empty() ? nullptr : made_at.c_str(); }
  void dispose() override { delete this; }
  void backward(Run&, Tensor* g) override;

  // The derivative: one gradient per input, undefined for none. `retain`: another backward may follow.
  virtual std::vector<Tensor> derive(std::vector<Tensor>& grads, bool retain) = 0;

  // Before forward: true if the call is to be recorded. Arguments that are no tensors are undefined here.
  bool take(std::span<const Tensor> inputs);
  struct Results {
    std::vector<Tensor> values;
    std::vector<bool> dirty, plain;  // written in place; without a derivative. Empty: none is
  };
  // After forward: makes the results outputs of this node. An input returned unchanged is replaced by an alias.
  void give(Results&, std::span<const Tensor> inputs);

 private:
  void give_one(Results&, std::size_t i, std::span<const Tensor> inputs);
};

// The same values without their history, recorded by a node that throws this text when it is differentiated.
std::vector<Tensor> refuse_derivative(const std::vector<Tensor>& values, std::vector<Edge> from, std::string text);

}  // namespace neura
