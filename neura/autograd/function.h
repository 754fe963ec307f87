// Custom autograd functions, and checkpointing.
#pragma once
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "neura/core/tensor.h"

namespace neura {

class SavedValue;
struct Node;

// What forward hands to backward. Saved tensors are checked: writing one in place in between is an InplaceError.
class FunctionContext {
 public:
  FunctionContext();
  ~FunctionContext();
  void save_for_backward(std::vector<Tensor> tensors);
  std::vector<Tensor> saved_tensors() const;
  bool needs_input_grad(std::size_t i) const { return needs_[i]; }

 private:
  friend struct FunctionNode;
  friend std::vector<Tensor> apply_function(std::shared_ptr<struct Function>, const std::vector<Tensor>&);
  std::vector<Tensor> to_save_;  // in forward
  std::vector<SavedValue> saved_;
  std::vector<bool> needs_;
  Node* node_ = nullptr;
};

// forward computes with recording off; backward gets the gradients of the results (undefined where nothing arrived) and
// gives one per input, undefined for none. With create_graph what backward does is recorded.
//   struct Double : Function {
//     std::vector<Tensor> forward(FunctionContext&, const std::vector<Tensor>& x) override { return {x[0] * 2}; }
//     std::vector<Tensor> backward(FunctionContext&, const std::vector<Tensor>& g) override { return {g[0] * 2}; }
//   };
//   Tensor y = apply_function(std::make_shared<Double>(), {x})[0];
struct Function {
  virtual ~Function() = default;
  virtual const char* name() const { return "function"; }
  virtual std::vector<Tensor> forward(FunctionContext&, const std::vector<Tensor>& inputs) = 0;
  virtual std::vector<Tensor> backward(FunctionContext&, const std::vector<Tensor>& grads) = 0;
};
std::vector<Tensor> apply_function(std::shared_ptr<Function>, const std::vector<Tensor>& inputs);

struct CheckpointOptions {
  bool preserve_random = true;  // random numbers are drawn the same way the second time
  bool check = true;            // what is computed again must have the shapes and dtypes it had
  bool early_stop = true;       // computed again only up to the last value that backward needs
};
// Thrown through the function that is computed again, when all that is needed is there. Not an Error: none handles it.
struct StopRecomputation : std::exception {
  const char* what() const noexcept override { return "checkpoint: all values are there"; }
};

// f(inputs) without keeping what its backward needs: it is computed again then (Chen et al., arXiv 1604.06174). Nested
// calls work. Raises AutogradError in backward where f does not do the same again.
std::vector<Tensor> checkpoint(std::function<std::vector<Tensor>(const std::vector<Tensor>&)> f,
                               const std::vector<Tensor>& inputs, CheckpointOptions = {});

}  // namespace neura
