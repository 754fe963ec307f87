// A kernel's step through the door: one in-place operation on the parameter. On the cpu it is taken there; on other
// devices it waits in a batch, and many are taken in few launches.
#pragma once
#include <cstring>
#include <vector>

#include "neura/backend/kernels/optim.h"
#include "neura/ops/apply.h"

namespace neura::optim::detail {

bool lie_alike(const Tensor& a, const Tensor& b);              // of one shape, dtype, device and the same strides
Tensor empty_beside(const Tensor& like);                       // as `like` lies, if it is dense, else contiguous
Tensor filled_beside(const Tensor& like, double value);        // both parts of a complex number
Tensor moved_beside(const Tensor& state, const Tensor& like);  // a copy
// On a device, and of memory that the door need not copy: its kernel may run after the next parameter's checks.
bool can_wait(const Tensor& param, std::initializer_list<const Tensor*> operands);
void check_step(const char* name, const Spec& param, const Spec& grad, std::span<const Spec* const> states);

template <class Step> struct Kernel;
#define X(kernel, Step)                                   \
  template <> struct Kernel<Step> {                       \
    static constexpr const char* name = #kernel "_step";  \
    static constexpr auto entry = &optim_kernels::kernel; \
  };
NEURA_OPTIM_KERNELS(X)
#undef X

// Steps that have passed every check and still wait for their kernel. Each device's memory is written by `run`.
class Batch {
 public:
  Batch() = default;
  Batch(const Batch&) = delete;
  ~Batch();  // after an error, what came before it is done as on the cpu
  void run();
  // A step that comes next: its tensors live until the kernel is launched.
  template <class Step> void expect(std::initializer_list<const Tensor*> tensors) {
    if (call_ != &call<Step>) run();
    call_ = &call<Step>, name_ = Kernel<Step>::name, step_bytes_ = sizeof(Step);
    for (const Tensor* t : tensors) kept_.push_back(*t);
  }
  template <class Step> void add(const OptimTensors& t, const Step& step) {
    const std::size_t end = steps_.size();
    steps_.resize(end + sizeof step);
    std::memcpy(steps_.data() + end, &step, sizeof step);
    tensors_.push_back(t);
  }
  template <class Step> static void call(Context& c, std::span<const OptimTensors> tensors, const void* steps) {
    (c.backend.optim->*Kernel<Step>::entry)(c, tensors, {static_cast<const Step*>(steps), tensors.size()});
  }

 private:
  bool apart() const;
  void launch(std::span<const OptimTensors>, const char* steps) const;

  void (*call_)(Context&, std::span<const OptimTensors>, const void* steps) = nullptr;
  const char* name_ = nullptr;
  std::size_t step_bytes_ = 0;
  std::vector<OptimTensors> tensors_;
  std::vector<char> steps_;
  std::vector<Tensor> kept_;
};

template <class Step> struct StepOp {
  static constexpr const char* name = Kernel<Step>::name;
  static constexpr bool direct = true;  // reads and writes the parameter element by element
  Step step;
  Batch* batch;  // null: at once

  void infer(const Spec& param, const Spec& grad, const Spec& a, const Spec& b, const Spec& c, Spec& out) const {
    const Spec* states[] = {&a, &b, &c};
    check_step(name, param, grad, states);
    out = Spec::dense(param.dtype, param.sizes(), param.device);
  }
  void run(Context& c, View, View grad, View s0, View s1, View s2, View param) const {
    const OptimTensors t{param, grad, {s0, s1, s2}};
    if (batch) batch->add(t, step);
    else Batch::call<Step>(c, {&t, 1}, &step);
  }
};

// Writes param and the states, of which any may be undefined.
template <class Step> void apply_step(Batch& batch, const Tensor& param, const Tensor& grad, const Step& step,
                                      const Tensor& s0 = {}, const Tensor& s1 = {}, const Tensor& s2 = {}) {
  Tensor g = grad, p = param;
  const bool waits = can_wait(param, {&grad, &s0, &s1, &s2});
  if (!waits && !param.device().is_cpu()) batch.run();
  if (!p.spec().dense()) {
    p = empty_beside(param);
    p.copy_(param.detach());
  }
  if (!lie_alike(g, p) && g.shape() == p.shape()) {
    g = empty_beside(p);
    g.copy_(grad);
  }
  for (const Tensor* s : {&s0, &s1, &s2})
    if (*s) s->impl()->storage->own();
  if (waits) batch.expect<Step>({&p, &g, &s0, &s1, &s2});
  apply_to(Destination::in_place, p, StepOp<Step>{step, waits ? &batch : nullptr}, p, g, s0, s1, s2);
  for (const Tensor* s : {&s0, &s1, &s2})
    if (*s) s->impl()->storage->written(&row_of<StepOp<Step>>);
  if (!p.is_same(param)) Tensor(param).copy_(p);
}

}  // namespace neura::optim::detail
