#include "neura/optim/step_batch.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <thread>

#include "neura/core/graph_api.h"
#include "neura/core/pending.h"
#include "neura/cuda/graph.h"
#include "neura/ops/create/copy.h"

namespace neura::optim::detail {

bool same_strides(const Tensor& a, const Tensor& b) { return neura::same_strides(a.spec(), b.spec()); }

Tensor empty_with_strides_of(const Tensor& like) {
  Spec s = like.spec();
  if (!s.dense()) return Tensor::empty(Spec::dense(s.dtype, s.sizes(), s.device));
  s.offset = 0;
  return Tensor::empty(s);
}

namespace {
// Memory that must keep its values between replays of a graph: it must not come from the graph's pool, which earlier
// calls of the capture may write in every replay. A thread of its own captures nothing.
template <class F> Tensor outside_capture(Device device, F make) {
  if (!is_captured(device)) return make();
  Tensor made;
  std::exception_ptr error;
  std::thread([&] {
    try {
      made = make();
      cuda::current_stream(device).synchronize();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
  return made;
}
}  // namespace

Tensor full_with_strides_of(const Tensor& like, double value) {
  return outside_capture(like.device(), [&] {
    Tensor t = empty_with_strides_of(like);
    if (is_complex(t.dtype())) t.fill_(std::complex<double>(value, value));
    else t.fill_(value);
    return t;
  });
}

Tensor master_with_strides_of(const Tensor& values, const Tensor& param) {
  check<ShapeError>(values.shape() == param.shape(), [&] {
    return "optimizer: expected a master like its parameter, " + param.spec().str() + ", got " + values.spec().str();
  });
  return outside_capture(param.device(), [&] {
    Spec s = param.spec();
    s.dtype = DType::float32, s.offset = 0;
    Tensor t = Tensor::empty(s.dense() ? s : Spec::dense(s.dtype, s.sizes(), s.device));
    t.copy_(values.detach().to(param.device()));
    return t;
  });
}
void MasterWeights::write() {
  for (auto& [param, master] : pairs_) param.copy_(master);
}

Tensor copy_with_strides_of(const Tensor& state, const Tensor& like) {
  check<ShapeError>(state.shape() == like.shape(), [&] {
    return "optimizer: expected state like its parameter, " + like.spec().str() + ", got " + state.spec().str();
  });
  return outside_capture(like.device(), [&] {
    Tensor t = empty_with_strides_of(like);
    t.copy_(state.detach().to(like.device()));
    return t;
  });
}

namespace {

// True if this step may be batched with those of the next parameters: dense tensors that share no memory, which `apply`
// will not refuse. On the cpu only if the gradient need not be copied.
bool can_wait(const StepTensors& t) {
  const Tensor &param = t[0], &grad = t[1];
  if (!param.spec().dense() || !differentiable(param.dtype()) || grad.shape() != param.shape()) return false;
  if (grad.impl()->storage == param.impl()->storage) return false;
  for (std::size_t k = 2; k < kStepOperands; ++k)
    if (t[k] && (t[k].impl()->storage == param.impl()->storage || !same_strides(t[k], param))) return false;
  return !param.device().is_cpu() || same_strides(grad, param);
}

// As the kernel needs them: the parameter dense, the others in the same order, and what shares memory with the
// parameter is the same memory. Copies where that is not so.
void match_strides(StepTensors& t) {
  const Tensor param = t[0];
  const auto copy = [&](Tensor& x) {
    Tensor c = empty_with_strides_of(t[0]);
    c.copy_(x.detach());
    x = std::move(c);
  };
  if (!param.spec().dense()) copy(t[0]);
  for (std::size_t k = 0; k < kStepOperands; ++k)
    if (t[k] && k != 1) t[k].impl()->storage->own();  // ends lazy cloning before addresses are compared
  if (t[1].shape() == param.shape() && !same_strides(t[1], t[0])) copy(t[1]);
  for (std::size_t k = 1; k < kStepOperands; ++k)
    if (t[k] && same_strides(t[k], t[0]) && may_overlap(t[0].impl(), t[k].impl()) &&
        !t[0].spec().same_geometry(t[k].spec()))
      copy(t[k]);
}

struct StepKey {  // what the tensors of one call have in common
  Device device;
  DType dtype;
  unsigned states = 0;
  explicit StepKey(const Tensor* t) : device(t[0].device()), dtype(t[0].dtype()) {
    for (std::size_t k = 2; k < kStepOperands; ++k) states |= unsigned(t[k].defined()) << k;
  }
  bool operator==(const StepKey&) const = default;
};

struct Order {                      // of steps, those of one call after another
  std::vector<std::size_t> steps;   // by their numbers
  std::vector<std::size_t> begins;  // of each call, and the end of the last
};
Order order_of(const std::vector<Tensor>& tensors, bool together) {
  const std::size_t n = tensors.size() / kStepOperands;
  std::vector<StepKey> kinds;
  for (std::size_t i = 0; i < n; ++i) kinds.emplace_back(&tensors[i * kStepOperands]);
  Order order;
  std::vector<bool> taken(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (taken[i]) continue;
    order.begins.push_back(order.steps.size());
    for (std::size_t j = i; j < (together ? n : i + 1); ++j)
      if (!taken[j] && kinds[j] == kinds[i]) taken[j] = true, order.steps.push_back(j);
  }
  order.begins.push_back(n);
  return order;
}

}  // namespace

Batch::~Batch() {
  try {
    run();
  } catch (...) {  // the first error is the one to report
  }
}

void Batch::find_capture(const Tensor& param, bool waits) {
  if (!recorded_) recorded_ = is_captured(param.device());
  check<NotImplementedError>(!recorded_ || (waits && (kept_.empty() || kept_[0].device() == param.device())), [&] {
    return std::string(kind_->name) +
           ": expected dense parameters of one device, with memory of their own, in a graph's capture, got " +
           param.spec().str() + "; step outside of it";
  });
}

// True if this step waits with the others. Those it cannot wait with run first.
bool Batch::joins(const Tensor& param, bool can_wait) {
  const bool here = param.device().is_cpu();
  if (!kept_.empty() && kept_[0].device().is_cpu() != here) {
    if (here) return false;  // a graph may be recording what waits
    run();
  }
  if (!here) find_capture(param, can_wait);
  if (!can_wait) run();
  return can_wait;
}

void Batch::add(const StepKind& kind, const void* step, StepTensors t) {
  const char* bytes = static_cast<const char*>(step);
  if (only_numbers_) return void(steps_.insert(steps_.end(), bytes, bytes + kind.bytes));
  if (kind_ != &kind) run(), kind_ = &kind;
  const Tensor param = t[0];
  const bool waits = joins(param, can_wait(t));
  match_strides(t);
  if (waits) {
    steps_.insert(steps_.end(), bytes, bytes + kind.bytes);
    kept_.insert(kept_.end(), t.begin(), t.end());
    return;
  }
  std::vector<Tensor> operands(1);
  operands.insert(operands.end(), t.begin(), t.end());
  kind.take(operands, bytes);
  if (!t[0].is_same(param)) Tensor(param).copy_(t[0]);
}

// True if no parameter or state overlaps what another step reads or writes. Steps in sequence are always right.
bool Batch::apart() const {
  const auto is_grad = [](std::size_t i) { return i % kStepOperands == 1; };
  const auto alone = [](const Tensor& t) { return !t || t.impl()->storage->count == 1; };
  bool all = true;
  for (std::size_t i = 0; all && i < kept_.size(); ++i) all = is_grad(i) || alone(kept_[i]);
  if (all) return true;
  struct Range {
    MemoryRange bytes;
    bool written;
  };
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < kept_.size(); ++i)
    if (const Tensor& t = kept_[i]) ranges.push_back({range_of(t.impl()), !is_grad(i)});
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.bytes < b.bytes; });
  const Storage* within = nullptr;
  std::uintptr_t end = 0, written = 0;
  for (const Range& r : ranges) {
    if (r.bytes.promised != within) within = r.bytes.promised, end = written = 0;
    if (r.bytes.begin < written || (r.written && r.bytes.begin < end)) return false;
    end = std::max(end, r.bytes.end);
    if (r.written) written = std::max(written, r.bytes.end);
  }
  return true;
}

// The steps in the device's memory, in this order, and their way there before each replay.
Tensor Batch::numbers_of_replays(Device device, const std::vector<char>& steps, std::vector<std::size_t> order,
                                 Again again) const {
  check<NotImplementedError>(bool(again), [&] {
    return std::string(kind_->name) +
           ": expected a step outside of a graph's capture, got one inside; its numbers change";
  });
  const auto bytes = std::int64_t(steps.size());
  const Spec spec = Spec::dense(DType::uint8, Shape{bytes}, device);
  const Tensor there = outside_capture(device, [&] { return Tensor::empty(spec); });
  const auto send = [there, order = std::move(order), size = kind_->bytes](const std::vector<char>& from) {
    Tensor here = Tensor::empty(Spec::dense(DType::uint8, there.shape()));
    char* to = here.impl()->data();
    for (std::size_t i = 0; i < order.size(); ++i) std::memcpy(to + i * size, from.data() + order[i] * size, size);
    Tensor(there).copy_(here);
    cuda::record_stream(there, cuda::current_stream(there.device()));  // of the next replay
  };
  cuda::on_replay([=, first = true, again = std::move(again), name = kind_->name]() mutable {
    if (std::exchange(first, false)) return send(steps);  // the capture has counted this step
    send(next_numbers(name, steps.size(), again));
  });
  return there;
}

// The numbers of the same steps, a step later.
std::vector<char> Batch::next_numbers(const char* name, std::size_t bytes, const Again& again) {
  Batch next = of_numbers();
  again(next);
  check<ValueError>(next.steps_.size() == bytes, [&] {
    return std::string(name) + ": expected the parameters of the capture in a replay, got others; capture it again";
  });
  return std::move(next.steps_);
}

// In a traced program they are computed as outside, once for all calls of a run.
void Batch::renew_in_programs(std::vector<std::size_t> which, std::size_t bytes, bool first,
                              const std::shared_ptr<std::vector<char>>& numbers, const Again& again) const {
  renew_next_call([kind = kind_, which = std::move(which), bytes, first, numbers, again](void* op) {
    if (first) *numbers = next_numbers(kind->name, bytes, again);
    std::vector<char> own;
    for (const std::size_t i : which)
      own.insert(own.end(), &(*numbers)[i * kind->bytes], &(*numbers)[i * kind->bytes] + kind->bytes);
    kind->renew(op, own.data());
  });
}

void Batch::run(Again again) {
  if (kept_.empty()) return;
  const bool together = apart();
  std::vector<Tensor> tensors = std::exchange(kept_, {});
  const std::vector<char> steps = std::exchange(steps_, {});
  const Order order = order_of(tensors, together);
  Tensor there;
  if (recorded_) there = numbers_of_replays(tensors[0].device(), steps, order.steps, again);
  const auto renewed = std::make_shared<std::vector<char>>();
  const std::size_t size = kind_->bytes;
  for (std::size_t k = 0; k + 1 < order.begins.size(); ++k) {
    const std::size_t begin = order.begins[k], end = order.begins[k + 1];
    std::vector<Tensor> operands(1);
    if (there) operands[0] = there.slice(0, std::int64_t(begin * size), std::int64_t(end * size));
    std::vector<char> numbers;
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t step = order.steps[i];
      numbers.insert(numbers.end(), &steps[step * size], &steps[step * size] + size);
      const auto first = tensors.begin() + std::ptrdiff_t(step * kStepOperands);
      std::move(first, first + kStepOperands, std::back_inserter(operands));
    }
    if (again && is_deferred())
      renew_in_programs({order.steps.begin() + std::ptrdiff_t(begin), order.steps.begin() + std::ptrdiff_t(end)},
                        steps.size(), k == 0, renewed, again);
    kind_->take(operands, numbers.data());
  }
}

}  // namespace neura::optim::detail
