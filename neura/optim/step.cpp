#include "neura/optim/step.h"

#include <algorithm>
#include <exception>
#include <thread>

#include "neura/backend/backend.h"
#include "neura/core/graph_api.h"
#include "neura/cuda/graph.h"

namespace neura::optim::detail {

bool lie_alike(const Tensor& a, const Tensor& b) {
  const Spec &x = a.spec(), &y = b.spec();
  return x.dtype == y.dtype && x.device == y.device && x.same_shape(y) &&
         std::equal(x.strides, x.strides + x.rank, y.strides);
}

Tensor empty_beside(const Tensor& like) {
  Spec s = like.spec();
  if (!s.dense()) return Tensor::empty(Spec::dense(s.dtype, s.sizes(), s.device));
  s.offset = 0;
  return Tensor::empty(s);
}

namespace {
bool is_captured(Device d) {
  if (d.is_cpu()) return false;
  const GraphApi* graphs = device_api(d).graphs;
  return graphs && graphs->capturing(d.index);
}
// What is made while this thread captures a graph, and must be there when a replay begins: its memory must not be the
// graph's, which what stood before it in the capture may write in every replay. A thread of its own captures nothing.
template <class F> Tensor beside_captures(Device device, F make) {
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

Tensor filled_beside(const Tensor& like, double value) {
  return beside_captures(like.device(), [&] {
    Tensor t = empty_beside(like);
    if (is_complex(t.dtype())) t.fill_(std::complex<double>(value, value));
    else t.fill_(value);
    return t;
  });
}

Tensor moved_beside(const Tensor& state, const Tensor& like) {
  check<ShapeError>(state.shape() == like.shape(), [&] {
    return "optimizer: expected state like its parameter, " + like.spec().str() + ", got " + state.spec().str();
  });
  return beside_captures(like.device(), [&] {
    Tensor t = empty_beside(like);
    t.copy_(state.detach().to(like.device()));
    return t;
  });
}

void check_step(const char* name, const Spec& param, const Spec& grad, std::span<const Spec* const> states) {
  check<DTypeError>(differentiable(param.dtype), [&] {
    return std::string(name) + ": expected a floating or complex parameter, got " + param.str();
  });
  auto fits = [&](const Spec& s) { return s.same_shape(param) && s.dtype == param.dtype; };
  check<ShapeError>(fits(grad), [&] {
    return std::string(name) + ": expected a gradient like the parameter, " + param.str() + ", got " + grad.str();
  });
  for (const Spec* s : states)
    check<ShapeError>(s->rank == kAbsent || fits(*s), [&] {
      return std::string(name) + ": expected state like the parameter, " + param.str() + ", got " + s->str();
    });
}

bool can_wait(const Tensor& param, std::initializer_list<const Tensor*> operands) {
  if (param.device().is_cpu() || !param.spec().dense()) return false;
  return std::none_of(operands.begin(), operands.end(),
                      [&](const Tensor* t) { return *t && t->impl()->storage == param.impl()->storage; });
}

namespace {
struct Kind {  // what the tensors of one call have in common
  Device device;
  DType dtype;
  unsigned states;
  bool operator==(const Kind&) const = default;
};
Kind kind_of(const OptimTensors& t) {
  unsigned states = 0;
  for (int k = 0; k < 3; ++k) states |= unsigned(bool(t.state[k])) << k;
  return {t.param.spec->device, t.param.dtype(), states};
}
}  // namespace

Batch::~Batch() {
  try {
    run();
  } catch (const Error&) {  // the error that is on its way is the one to see
  }
}

void Batch::look_for_capture(const char* name, const Tensor& param, bool waits) {
  if (!recorded_) recorded_ = is_captured(param.device());
  check<NotImplementedError>(!recorded_ || (waits && (kept_.empty() || kept_[0].device() == param.device())), [&] {
    return std::string(name) +
           ": expected dense parameters of one device, with memory of their own, in a graph's capture, got " +
           param.spec().str() + "; step outside of it";
  });
}

// Does no parameter or state lie in what another step reads or writes? One step after the other is right in any case.
bool Batch::apart() const {
  constexpr std::size_t kEach = 5;  // param, grad, states
  const auto is_grad = [](std::size_t i) { return i % kEach == 1; };
  const auto alone = [](const Tensor& t) { return !t || t.impl()->storage->count == 1; };
  bool all = true;
  for (std::size_t i = 0; all && i < kept_.size(); ++i) all = is_grad(i) || alone(kept_[i]);
  if (all) return true;
  struct Range {
    const char *begin, *end;
    bool written;
  };
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < kept_.size(); ++i)
    if (const Tensor& t = kept_[i])
      ranges.push_back({t.impl()->data(), t.impl()->data() + t.spec().bytes(), !is_grad(i)});
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  const char *end = nullptr, *written = nullptr;
  for (const Range& r : ranges) {
    if (r.begin < written || (r.written && r.begin < end)) return false;
    end = std::max(end, r.end);
    if (r.written) written = std::max(written, r.end);
  }
  return true;
}

// The steps in the device's memory, in this order, and their way there before each replay.
Tensor Batch::numbers_of_replays(const std::vector<char>& steps, std::vector<std::size_t> order, Again again) const {
  check<NotImplementedError>(bool(again), [&] {
    return std::string(name_) + ": expected a step outside of a graph's capture, got one inside; its numbers change";
  });
  const auto bytes = std::int64_t(steps.size());
  const Spec spec = Spec::dense(DType::uint8, Shape{bytes}, kept_[0].device());
  const Tensor there = beside_captures(spec.device, [&] { return Tensor::empty(spec); });
  const auto send = [there, order = std::move(order), size = step_bytes_](const std::vector<char>& from) {
    Tensor here = Tensor::empty(Spec::dense(DType::uint8, there.shape()));
    char* to = here.impl()->data();
    for (std::size_t i = 0; i < order.size(); ++i) std::memcpy(to + i * size, from.data() + order[i] * size, size);
    Tensor(there).copy_(here);
    cuda::record_stream(there, cuda::current_stream(there.device()));  // of the replay that comes now
  };
  cuda::on_replay([=, first = true, again = std::move(again), name = name_]() mutable {
    if (std::exchange(first, false)) return send(steps);  // the capture has counted this step
    Batch next = of_numbers();
    again(next);
    check<ValueError>(next.steps_.size() == steps.size(), [&] {
      return std::string(name) + ": expected the parameters of the capture in a replay, got others; capture it again";
    });
    send(next.steps_);
  });
  return there;
}

void Batch::run(Again again) {
  if (tensors_.empty()) return;
  const bool together = apart();
  const std::vector<OptimTensors> tensors = std::exchange(tensors_, {});
  const std::vector<char> steps = std::exchange(steps_, {});
  std::vector<std::size_t> order;   // of tensors, those of one call after another
  std::vector<std::size_t> begins;  // of calls
  std::vector<bool> taken(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (taken[i]) continue;
    begins.push_back(order.size());
    for (std::size_t j = i; j < (together ? tensors.size() : i + 1); ++j)
      if (!taken[j] && kind_of(tensors[j]) == kind_of(tensors[i])) taken[j] = true, order.push_back(j);
  }
  begins.push_back(order.size());
  Tensor there;
  if (recorded_) there = numbers_of_replays(steps, order, std::move(again));
  const std::vector<Tensor> kept = std::exchange(kept_, {});
  std::vector<OptimTensors> sorted;
  std::vector<char> numbers;
  for (const std::size_t j : order) {
    const char* step = steps.data() + j * step_bytes_;
    sorted.push_back(tensors[j]), numbers.insert(numbers.end(), step, step + step_bytes_);
  }
  for (std::size_t k = 0; k + 1 < begins.size(); ++k) {
    const std::span<const OptimTensors> alike(&sorted[begins[k]], begins[k + 1] - begins[k]);
    const Device device = alike[0].param.spec->device;
    const std::size_t at = begins[k] * step_bytes_;
    Context context(backend_of(device), device, name_);
    call_(context, alike, numbers.data() + at, there ? there.impl()->data() + at : nullptr);
    throw_failure(context.failure, name_);
  }
}

}  // namespace neura::optim::detail
