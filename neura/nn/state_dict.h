// A state dict: tensors by name, in order, with PyTorch's keys.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "neura/core/tensor.h"

namespace neura::nn {

class StateDict {
 public:
  StateDict() = default;
  StateDict(std::initializer_list<std::pair<std::string, Tensor>> l) : items_(l) {}

  const Tensor* find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key); }
  const Tensor& at(std::string_view key) const;  // IndexError
  void set(std::string key, const Tensor&);      // replaces the value of an existing key, else appends
  void append(std::string key, const Tensor& t) { items_.emplace_back(std::move(key), t); }
  bool erase(std::string_view key);
  std::vector<std::string> keys() const;
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::vector<std::pair<std::string, Tensor>> items_;
};

struct LoadResult {
  std::vector<std::string> missing_keys, unexpected_keys;
};

}  // namespace neura::nn
