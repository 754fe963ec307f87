// The engine's table of gradients that have arrived and not yet been passed on.
#pragma once
#include <vector>

#include "neura/op/record.h"

namespace neura {

struct IncomingGradients {  // gradients of a node's results
  Tensor few[kMaxOutputs];
  std::vector<Tensor> many;  // of a wide node, all of them
  Tensor* data() { return many.empty() ? few : many.data(); }
};
// The windows of a gradient that is zero outside of them.
class Windows {
 public:
  void begin(unsigned output, const Spec& window) { output_ = output, all_.assign(1, window); }
  void forget() { all_.clear(); }
  // Adds one; true if the gradient was zero where it is.
  bool add(unsigned output, const Spec& base, const Spec& window);

 private:
  static constexpr std::size_t kMost = 16;
  unsigned output_ = 0;
  std::vector<Spec> all_;
};
struct GradientSlot {
  Node* node = nullptr;
  IncomingGradients g;
  Windows windows;
  Tensor& at(unsigned output) {
    if (!node->wide) return g.few[output];
    if (g.many.empty()) g.many.resize(node->outputs());
    return g.many[output];
  }
};

// Node* -> slot number; open addressing, deletion by shifting back.
class SlotIndex {
 public:
  int* find(const Node* n) {
    for (std::size_t i = home(n);; i = (i + 1) & mask_)
      if (table_[i].first == n) return &table_[i].second;
      else if (!table_[i].first) return nullptr;
  }
  void insert(Node* n, int slot) {
    if (++used_ * 2 > mask_) grow();
    std::size_t i = home(n);
    while (table_[i].first) i = (i + 1) & mask_;
    table_[i] = {n, slot};
  }
  void erase(const Node* n) {
    std::size_t i = home(n);
    while (table_[i].first != n) i = (i + 1) & mask_;
    --used_;
    for (std::size_t j = i;;) {
      j = (j + 1) & mask_;
      if (!table_[j].first) break;
      if (((j - home(table_[j].first)) & mask_) >= ((j - i) & mask_)) table_[i] = table_[j], i = j;
    }
    table_[i].first = nullptr;
  }

 private:
  std::size_t home(const Node* n) const {
    return (reinterpret_cast<std::uintptr_t>(n) / 64 * 0x9E3779B97F4A7C15u >> 32) & mask_;
  }
  void grow() {
    std::vector<std::pair<Node*, int>> old((mask_ + 1) * 2);
    mask_ = old.size() - 1, old.swap(table_);
    for (auto& [n, slot] : old)
      if (n) {
        std::size_t i = home(n);
        while (table_[i].first) i = (i + 1) & mask_;
        table_[i] = {n, slot};
      }
  }
  std::size_t mask_ = 15, used_ = 0;
  std::vector<std::pair<Node*, int>> table_{16};
};

}  // namespace neura
