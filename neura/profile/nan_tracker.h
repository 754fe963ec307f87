// Finds the first operation whose result holds NaN or, if asked for, an infinity.
//     profiler::NanTracker tracker;
//     loss(model(x), y).backward();
//     if (const auto& found = tracker.found()) std::cerr << found->text();
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace neura::profiler {

struct NanFinding {
  std::string operation;
  bool backward = false;
  std::string result;                 // dtype, sizes, range of what is finite, how many are not
  std::vector<std::string> operands;  // the same of each tensor
  std::string text() const;
};

// Watches this thread from its construction to stop(). Each result, and each operand that is written, is read once
// more, and waited for on a device. What is traced, or wrapped by vmap inside of it, is not looked at.
class NanTracker {
 public:
  explicit NanTracker(bool infinities = true);
  NanTracker(const NanTracker&) = delete;
  ~NanTracker();
  void stop();  // ValueError on another thread, or inside of a mode that began later
  const std::optional<NanFinding>& found() const;

 private:
  struct NanObserver;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace neura::profiler
