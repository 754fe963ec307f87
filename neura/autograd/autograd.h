// Gradients: backward and grad, hooks, and what a user may want to know of a running backward.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "neura/autograd/grad_mode.h"
#include "neura/core/tensor.h"

namespace neura {

struct GradOptions {
  bool retain_graph = false;  // keep what backward needs, for another backward
  bool create_graph = false;  // the gradients can be differentiated again
  bool allow_unused = false;  // an input that no output came from gives an undefined tensor instead of an error
};
// Gradients of the outputs with respect to the inputs, without touching any .grad. `grads`: one per output, undefined
// (or left out) where the output has one element. Raises AutogradError, ShapeError.
std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> grads = {}, GradOptions = {});
Tensor grad(const Tensor& output, const Tensor& input, const Tensor& gradient = {}, GradOptions = {});
// .grad of all leaves += gradients of the outputs.
void backward(std::span<const Tensor> outputs, std::span<const Tensor> grads = {}, GradOptions = {});
// The same for these inputs alone. One that is no leaf keeps its gradient, as with retain_grad().
void backward_to(std::span<const Tensor> inputs, std::span<const Tensor> outputs, std::span<const Tensor> grads = {},
                 GradOptions = {});

// What removes a hook again. It may outlive the tensor, and does not keep it.
class HookHandle {
 public:
  HookHandle() = default;
  template <class F> explicit HookHandle(const std::shared_ptr<F>& hook)
      : hook_(hook), clear_([](void* p) { *static_cast<F*>(p) = F(); }) {}
  void remove() {
    if (const std::shared_ptr<void> p = hook_.lock()) clear_(p.get());
    hook_ = {};
  }

 private:
  std::weak_ptr<void> hook_;
  void (*clear_)(void*) = nullptr;
};
// On a tensor, leaf or not: sees its complete gradient; what it returns replaces it, an undefined tensor leaves it.
HookHandle register_hook(const Tensor&, std::function<Tensor(const Tensor& g)>);
// On the operation that made a tensor: sees the gradients of its operands after its derivative ran, and may replace
// them.
HookHandle register_record_hook(const Tensor& result, std::function<void(Tensor* results, int n)>);
// On a leaf: called once per backward, after .grad is complete.
HookHandle register_post_accumulate_grad_hook(const Tensor& leaf, std::function<void(Tensor& grad)>);

struct Counters {  // of this thread, for tests and the profiler
  std::int64_t nodes, stolen, copied, added_in_place, added;
};
Counters& counters();  // of this thread

}  // namespace neura
