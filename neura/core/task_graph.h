// Tasks with an order between some of them, on the threads of the pool:
//     TaskGraph g;
//     const auto left = g.add([&] { a = branch(x); }), right = g.add([&] { b = other(x); });
//     g.add([&] { y = a + b; }, {left, right});
//     g.run();
// For work whose single calls are too small for all threads: within a task each kernel has one thread. Gradients are
// recorded as they are for the thread that calls run(); other modes and scopes of threads do not reach tasks.
#pragma once
#include <functional>
#include <vector>

namespace neura {

class TaskGraph {
 public:
  // After those tasks, which were added before: ValueError otherwise. So there is no cycle.
  int add(std::function<void()> work, const std::vector<int>& after = {});
  // All of them, once; returns when the last has ended. An exception of a task comes out here, and tasks that had not
  // begun then do not begin. It may be called again.
  void run() const;

 private:
  struct Task {
    std::function<void()> work;
    std::vector<int> next;  // wait for this one
    int before = 0;         // how many this one waits for
  };
  struct Run;
  std::vector<Task> tasks_;
};

}  // namespace neura
