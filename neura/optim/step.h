// A kernel's step through the door: one in-place operation on the parameter. On the cpu it is taken there; on other
// devices it waits in a batch, and many are taken in few launches.
#pragma once
#include <cstring>
#include <functional>
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

// Steps that have passed every check and still wait for their kernel, which `run` calls.
//
// Inside a graph's capture the kernel is recorded, not run, and a replay does not come by here: the steps' numbers,
// which change from step to step, then lie in the device's memory, and before each replay they are computed as for a
// step outside and copied there. So counts, schedulers and hyperparameters go on as without a graph.
class Batch {
 public:
  using Again = std::function<void(Batch&)>;  // the rules of the same parameters, in the same order
  Batch() = default;
  Batch(const Batch&) = delete;
  ~Batch();  // after an error, what came before it is done as on the cpu
  void run(Again again = {});
  // Only the numbers are wanted; nothing is written.
  static Batch of_numbers() { return Batch(true); }
  bool only_numbers() const { return only_numbers_; }
  bool recorded() const { return recorded_; }  // by the graph that this thread captures now

  // A step that comes next: its tensors live until the kernel is launched.
  template <class Step> void expect(std::initializer_list<const Tensor*> tensors) {
    if (call_ != &call<Step>) run();
    call_ = &call<Step>, name_ = Kernel<Step>::name, step_bytes_ = sizeof(Step);
    for (const Tensor* t : tensors) kept_.push_back(*t);
  }
  template <class Step> void add(const OptimTensors& t, const Step& step) { add(step), tensors_.push_back(t); }
  template <class Step> void add(const Step& step) {
    const std::size_t end = steps_.size();
    steps_.resize(end + sizeof step);
    std::memcpy(steps_.data() + end, &step, sizeof step);
  }
  void look_for_capture(const char* name, const Tensor& param, bool waits);
  template <class Step>
  static void call(Context& c, std::span<const OptimTensors> tensors, const void* steps, const void* there = nullptr) {
    const auto *here = static_cast<const Step*>(steps), *far = static_cast<const Step*>(there);
    (c.backend.optim->*Kernel<Step>::entry)(c, tensors, {here, tensors.size()}, far);
  }

 private:
  explicit Batch(bool only_numbers) : only_numbers_(only_numbers) {}
  bool apart() const;
  Tensor numbers_of_replays(const std::vector<char>& steps, std::vector<std::size_t> order, Again) const;

  void (*call_)(Context&, std::span<const OptimTensors>, const void* steps, const void* there) = nullptr;
  const char* name_ = nullptr;
  std::size_t step_bytes_ = 0;
  std::vector<OptimTensors> tensors_;
  std::vector<char> steps_;
  std::vector<Tensor> kept_;
  bool only_numbers_ = false, recorded_ = false;
};

template <class Step> struct StepOp {
  // reads and writes the parameter element by element
  static constexpr Operation op = operation(Kernel<Step>::name).optional(in(2, 3, 4)).direct();
  Step step;
  Batch* batch;  // null: at once
  NEURA_FIELDS(step, batch)

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
  if (batch.only_numbers()) return batch.add(step);
  Tensor g = grad, p = param;
  const bool waits = can_wait(param, {&grad, &s0, &s1, &s2});
  if (!param.device().is_cpu()) batch.look_for_capture(Kernel<Step>::name, param, waits);
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
