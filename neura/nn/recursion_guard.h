// Counts how deep this thread is within modules: one that contains itself is an error, not the end of the stack.
#pragma once
#include "neura/nn/module.h"

namespace neura::nn {

class RecursionGuard {
 public:
  explicit RecursionGuard(const Module& m) {
    if (++depth_ <= kMost) return;
    --depth_;
    fail(m);
  }
  ~RecursionGuard() { --depth_; }
  RecursionGuard(const RecursionGuard&) = delete;

 private:
  static constexpr int kMost = 500;
  [[noreturn]] static void fail(const Module&);
  static thread_local int depth_;
};

}  // namespace neura::nn
