// A window delays pointwise calls and, on the cpu, conversions until their values are read, and then fuses them into
// calls that go over memory once (passes.h). A program sees what it would see without: the same bits, errors, versions,
// records.
//
//   const auto step = graph::compile([&](const Tensor& x) { return gelu(x * w + b) * sigmoid(x); });
//   Tensor y = step(x);
//
// Every call of the function runs it again, so branches, numbers and prints are those of that call; nothing is kept
// but the plans of what waits, found again by its calls, dtypes and sizes. A window closes when its function returns.
// On the cpu and on CUDA; work on a stream, an event or a graph comes after the calls that wait. A call that cannot
// wait runs at once, after those whose results it reads or writes.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <type_traits>

#include "neura/op/defer.h"

namespace neura::graph {

class PendingCalls;

struct WindowOptions {
  std::int64_t least = 1 << 15;  // calls of the cpu on fewer elements run at once: they are not faster together
};

class Window final : public Deferral {
 public:
  explicit Window(const WindowOptions& = {});
  ~Window() override;  // runs the calls that wait; their errors are thrown where a value is read
  void take(Call&) override;
  void reads(const TensorImpl*) override;
  void flush(const char* why) override;
  bool rewrites(const Call&, const Spec& result) override;

 private:
  bool waits(const Call&) const;
  bool waits_to_convert(const Call&) const;
  bool defer(Call&);
  bool is_whole(const TensorImpl*) const;
  void run_before(const Call&);  // what the call reads or writes

  std::shared_ptr<PendingCalls> stream_;
  const WindowOptions options_;
};

// A window, or nothing: inside of another one or of a trace, and where NEURA_COMPILE=0.
class OpenWindow {
 public:
  explicit OpenWindow(const WindowOptions&);
  void close() {
    if (window_) window_->flush("the end of the function");
  }

 private:
  std::optional<Window> window_;
};

// What runs while it lives does not wait.
class ClosedWindow {
 public:
  ClosedWindow();

 private:
  std::optional<Untraced> outside_;
};
bool is_compiling();  // has this thread an open window?
void forget_plans();

// The function with a window around each call.
template <class F> auto compile(F f, WindowOptions options = {}) {
  return [f = std::move(f), options](auto&&... args) mutable {  // gives a value where f gives a reference
    OpenWindow window(options);
    if constexpr (std::is_void_v<decltype(f(std::forward<decltype(args)>(args)...))>) {
      f(std::forward<decltype(args)>(args)...);
      window.close();
    } else {
      auto result = f(std::forward<decltype(args)>(args)...);
      window.close();
      return result;
    }
  };
}

// What all windows of the process have done since reset_explanation().
struct Explanation {
  std::int64_t waited = 0;  // calls
  std::int64_t unread =
      0;  // of them, those whose result was destroyed unread: they ran only as part of others, or not at all
  std::int64_t ran = 0;                         // calls that ran in their place
  std::int64_t fused = 0;                       // of them, those that replace several
  std::int64_t plans = 0, found = 0;            // plans made, and found again
  double planning = 0, running = 0;             // seconds
  std::map<std::string, std::int64_t> flushes;  // by what asked for values
};
Explanation explanation();
void reset_explanation();

}  // namespace neura::graph
