// Counts how deep this thread is within modules: one that contains itself is an error, not the end of the stack.
#pragma once
#include "neura/nn/module.h"

namespace neura::nn {

class Depth {
 public:
  explicit Depth(const Module& m) {
    if (++depth_ <= kMost) return;
    --depth_;
    fail(m);
  }
  ~Depth() { --depth_; }
  Depth(const Depth&) = delete;

 private:
  static constexpr int kMost = 500;
  [[noreturn]] static void fail(const Module&);
  static thread_local int depth_;
};

}  // namespace neura::nn
