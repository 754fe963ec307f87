// Checkpoints: what the operations of a function would keep is dropped, and computed again when backward asks for it.
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "neura/autograd/function.h"
#include "neura/autograd/function_node.h"
#include "neura/autograd/grad_mode.h"
#include "neura/autograd/recompute.h"
#include "neura/autograd/run.h"
#include "neura/core/random.h"
#include "neura/op/autocast.h"
#include "neura/op/defer.h"

namespace neura {
namespace {

using Body = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

thread_local int recomputations = 0;  // that are under way: they nest
struct Counted {
  Counted() { ++recomputations; }
  ~Counted() { --recomputations; }
  Counted(const Counted&) = delete;
};

struct Pushed {
  explicit Pushed(SavedHooks& h) { h.push(); }
  ~Pushed() { SavedHooks::pop(); }
  Pushed(const Pushed&) = delete;
};

struct Frame {
  Body f;
  CheckpointOptions options;
  std::vector<SavedValue> inputs;
  GeneratorState random;
  amp::Modes modes = amp::modes();
  std::vector<Spec> specs;  // of what was dropped, in order
  std::mutex mutex;
  // What a backward computed again and has not used yet. Of each thread, the last backward alone.
  std::map<std::thread::id, std::pair<std::uint64_t, std::vector<Tensor>>> again;

  Tensor value(std::size_t i);
  std::vector<Tensor> recompute();
};

struct DroppedValue final : Packed {
  std::shared_ptr<Frame> frame;
  std::size_t number;
  DroppedValue(std::shared_ptr<Frame> f, std::size_t i) : frame(std::move(f)), number(i) {}
  Tensor unpack() override { return frame->value(number); }
};
struct Drop final : SavedHooks {  // the first time
  std::shared_ptr<Frame> frame;
  std::unique_ptr<Packed> pack(const Tensor& t) override {
    frame->specs.push_back(t.spec());
    return std::make_unique<DroppedValue>(frame, frame->specs.size() - 1);
  }
};

struct KeptValue final : Packed {
  Tensor t;
  explicit KeptValue(const Tensor& v) : t(v) {}
  Tensor unpack() override { return t; }
};
struct RecomputedValues final : SavedHooks {  // the second time
  const Frame& frame;
  std::vector<Tensor> values;
  explicit RecomputedValues(const Frame& f) : frame(f) {}
  std::unique_ptr<Packed> pack(const Tensor& t) override {
    const std::size_t i = values.size();
    if (i < frame.specs.size() && frame.options.check) {
      const Spec& want = frame.specs[i];
      check<AutogradError>(t.spec().same_shape(want) && t.dtype() == want.dtype && t.device() == want.device, [&] {
        return "checkpoint: expected the function to compute the same again, but value " + std::to_string(i) + " was " +
               want.str() + " and is now " + t.spec().str() +
               "; it must not depend on what changes between the two runs";
      });
    }
    values.push_back(t);
    if (values.size() == frame.specs.size() && frame.options.early_stop) throw StopRecomputation();
    return std::make_unique<KeptValue>(t);
  }
};

std::vector<Tensor> Frame::recompute() {
  struct Restore {
    const bool on;
    const GeneratorState now = default_generator().state();
    ~Restore() {
      if (on) default_generator().set_state(now);
    }
  } restore{options.preserve_random};
  std::vector<Tensor> arguments;
  for (const SavedValue& v : inputs) arguments.push_back(v.get("checkpoint", arguments.size(), nullptr));
  if (options.preserve_random) default_generator().set_state(random);
  RecomputedValues collect(*this);
  const Recomputation second_time;
  const Counted under_way;
  try {
    const Pushed hooks(collect);
    const EnableGrad on;
    const amp::ModesScope as_first(modes);
    f(arguments);
  } catch (const StopRecomputation&) {
  }
  check<AutogradError>(collect.values.size() == specs.size(), [&] {
    return "checkpoint: expected the function to save " + std::to_string(specs.size()) + " values again, got " +
           std::to_string(collect.values.size()) + "; it must not depend on what changes between the two runs";
  });
  return std::move(collect.values);
}

Tensor Frame::value(std::size_t i) {
  const std::uint64_t run = current_backward();
  const auto take = [&]() -> Tensor {
    std::lock_guard hold(mutex);
    auto& [of, values] = again[std::this_thread::get_id()];
    return of == run && run && i < values.size() ? std::move(values[i]) : Tensor();
  };
  if (Tensor t = take()) return t;
  std::vector<Tensor> values = recompute();
  if (!run) return values[i];  // a read outside of any backward
  {
    std::lock_guard hold(mutex);
    again[std::this_thread::get_id()] = {run, std::move(values)};
  }
  return take();
}

}  // namespace

bool is_recomputing() { return recomputations > 0; }

std::vector<Tensor> checkpoint(Body f, const std::vector<Tensor>& inputs, CheckpointOptions options) {
  if (!is_grad_enabled()) return f(inputs);
  const auto frame = std::make_shared<Frame>();
  frame->f = f, frame->options = options, frame->random = default_generator().state();
  for (const Tensor& t : inputs) frame->inputs.emplace_back(t, nullptr);
  Drop drop;
  drop.frame = frame;
  const Pushed hooks(drop);
  return f(inputs);
}

}  // namespace neura
