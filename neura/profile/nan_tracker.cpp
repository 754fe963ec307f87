#include "neura/profile/nan_tracker.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "neura/autograd/grad_mode.h"
#include "neura/autograd/run.h"
#include "neura/core/state.h"
#include "neura/core/wrapped.h"
#include "neura/op/defer.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/to.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/reduce.h"

namespace neura::profiler {
namespace {

bool has_such_values(const Tensor& t) {
  return t && (is_floating(t.dtype()) || is_complex(t.dtype())) && t.numel() > 0 && !is_wrapped(t);
}
Tensor shared(TensorImpl* t) { return Tensor(Ref<TensorImpl>::share(t)); }

std::string str(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", x);
  return text;
}
std::string described(const Tensor& t) {
  std::string text = t.spec().str();
  if (!has_such_values(t)) return text;
  const Tensor x = to(is_complex(t.dtype()) ? abs(t) : t, DType::float64), good = isfinite(x);
  const auto number = [](const Tensor& one) { return one.item<double>(); };
  const double nans = number(sum(to(isnan(x), DType::float64))), finite = number(sum(to(good, DType::float64)));
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (finite > 0)
    text += " from " + str(number(amin(where(good, x, kInf)))) + " to " + str(number(amax(where(good, x, -kInf))));
  const double infinite = double(x.numel()) - finite - nans;
  if (nans > 0) text += ", " + std::to_string(std::int64_t(nans)) + " nan";
  if (infinite > 0) text += ", " + std::to_string(std::int64_t(infinite)) + " inf";
  return text;
}

}  // namespace

struct NanTracker::State {
  bool infinities;
  std::optional<NanFinding> found;
  std::unique_ptr<NanObserver> watch;
};
struct NanTracker::NanObserver : Interceptor {
  explicit NanObserver(State& s) : owner(s) {}
  bool is_bad(const Tensor& t) const {
    const Tensor bad = owner.infinities ? logical_not(isfinite(t)) : isnan(t);
    return any(bad).item<bool>();
  }
  void call(Call& c) override {
    apply(c);
    if (owner.found || is_deferred()) return;
    const NoGrad mode;
    for (int i = 0; i < c.row->outputs; ++i)
      if (has_such_values(c.out[i]) && is_bad(c.out[i])) return report(c, c.out[i], 0, c.inputs);
    for (int i = 0; i < c.inputs; ++i) {  // parameters and states of optimizers, running statistics
      if (!c.row->writes_input(i) || !c.in[i].is_tensor()) continue;
      const Tensor t = shared(c.in[i].tensor);
      if (!has_such_values(t) || !is_bad(t)) continue;
      const int group = c.row->group, first = c.row->first_of_list;
      if (!group || i < first) return report(c, t, 0, c.inputs);
      const int from = i - (i - first) % group;  // of a list: what belongs to this element of it
      return report(c, t, from, std::min(from + group, c.inputs));
    }
  }
  void report(const Call& c, const Tensor& result, int from, int to) {
    NanFinding f{c.row->name, current_backward() != 0, described(result), {}};
    for (int k = from; k < to; ++k) {
      if (!c.in[k].is_tensor()) continue;
      const bool written =
          c.row->writes_input(k) || (c.destination != Destination::fresh && c.in[k].tensor == c.out[0].impl());
      f.operands.push_back(written ? c.in[k].tensor->spec.str() + ", written in place"
                                   : described(shared(c.in[k].tensor)));
    }
    owner.found = std::move(f);
  }
  State& owner;
};

std::string NanFinding::text() const {
  std::string all = operation + (backward ? " in backward" : "") + " gave " + result;
  for (std::size_t i = 0; i < operands.size(); ++i) all += "\n  operand " + std::to_string(i) + ": " + operands[i];
  return all;
}

NanTracker::NanTracker(bool infinities) : state_(std::make_unique<State>()) {
  state_->infinities = infinities;
  state_->watch = std::make_unique<NanObserver>(*state_);
}
NanTracker::~NanTracker() {
  if (!state_->watch) return;
  if (neura::state.top == state_->watch.get()) state_->watch.reset();
  else static_cast<void>(state_.release());  // on another thread, or below a mode that lasts: it must stay
}
void NanTracker::stop() {
  if (!state_->watch) return;
  check<ValueError>(neura::state.top == state_->watch.get(), [] {
    return std::string(
        "nan tracker: expected stop() on its thread, after the modes that began inside of it, got it "
        "elsewhere; end them first");
  });
  state_->watch.reset();
}
const std::optional<NanFinding>& NanTracker::found() const { return state_->found; }

}  // namespace neura::profiler
