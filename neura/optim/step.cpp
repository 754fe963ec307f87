#include "neura/optim/step.h"

#include <algorithm>

#include "neura/backend/backend.h"

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

Tensor filled_beside(const Tensor& like, double value) {
  Tensor t = empty_beside(like);
  if (is_complex(t.dtype())) t.fill_(std::complex<double>(value, value));
  else t.fill_(value);
  return t;
}

Tensor moved_beside(const Tensor& state, const Tensor& like) {
  check<ShapeError>(state.shape() == like.shape(), [&] {
    return "optimizer: expected state like its parameter, " + like.spec().str() + ", got " + state.spec().str();
  });
  Tensor t = empty_beside(like);
  t.copy_(state.detach().to(like.device()));
  return t;
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

void Batch::launch(std::span<const OptimTensors> tensors, const char* steps) const {
  const Device device = tensors[0].param.spec->device;
  Context context(backend_of(device), device, name_);
  call_(context, tensors, steps);
  throw_failure(context.failure, name_);
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

void Batch::run() {
  if (tensors_.empty()) return;
  const std::vector<OptimTensors> tensors = std::move(tensors_);
  const std::vector<char> steps = std::move(steps_);
  const bool together = apart();
  const std::vector<Tensor> kept = std::move(kept_);
  tensors_.clear(), steps_.clear(), kept_.clear();
  std::vector<bool> taken(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (taken[i]) continue;
    std::vector<OptimTensors> alike;
    std::vector<char> numbers;
    for (std::size_t j = i; j < (together ? tensors.size() : i + 1); ++j) {
      if (taken[j] || kind_of(tensors[j]) != kind_of(tensors[i])) continue;
      const char* step = steps.data() + j * step_bytes_;
      taken[j] = true, alike.push_back(tensors[j]), numbers.insert(numbers.end(), step, step + step_bytes_);
    }
    launch(alike, numbers.data());
  }
}

}  // namespace neura::optim::detail
