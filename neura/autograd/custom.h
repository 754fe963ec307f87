// Nodes whose derivative is code of a program: functions of C++, of Python, and values they keep for backward.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "neura/op/record.h"

namespace neura {

// A value kept for backward. One that is a result of the node itself is no reference to that node.
class SavedValue {
 public:
  SavedValue(const Tensor& t, const Node* self);
  // The value, joined to the graph where it was. InplaceError if it was written in between; number: which one it is.
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
  std::vector<Meta> metas, input_metas;  // of results, of inputs
  std::string made_at;                   // anomaly mode

  const Meta& meta(unsigned output) const override { return metas[output]; }
  unsigned outputs() const override { return unsigned(metas.size()); }
  const char* trace() const override { return made_at.empty() ? nullptr : made_at.c_str(); }
  void dispose() override { delete this; }
  void backward(Run&, Tensor* g) override;

  // The derivative: one gradient per input, undefined for none. `retain`: another backward may follow.
  virtual std::vector<Tensor> derive(std::vector<Tensor>& grads, bool retain) = 0;

  // Before forward. Is there anything to record? Undefined inputs are arguments that are no tensor.
  bool take(std::span<const Tensor> inputs);
  struct Results {
    std::vector<Tensor> values;
    std::vector<bool> dirty, plain;  // written in place; without a derivative. Empty: none is
  };
  // After forward. An input that comes back unwritten is another value: it is replaced by an alias.
  void give(Results&, std::span<const Tensor> inputs);

 private:
  void give_one(Results&, std::size_t i, std::span<const Tensor> inputs);
};

// Values without their history, whose derivative is refused with this text.
std::vector<Tensor> refuse_derivative(const std::vector<Tensor>& values, std::vector<Edge> from, std::string text);

}  // namespace neura
