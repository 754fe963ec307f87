// What a module owns: parameters, which are trained, and buffers, which are only carried along. Both are tensors.
#pragma once
#include <string>
#include <vector>

#include "neura/core/tensor.h"

namespace neura::nn {

class Parameter : public Tensor {
 public:
  Parameter() = default;
  // Shares the bytes of `data`, without its history. DTypeError if it requires a gradient and is not floating or
  // complex.
  Parameter(const Tensor& data, bool requires_grad = true);
  Parameter(const Tensor& data, std::string name, bool requires_grad = true);
  Parameter(const Tensor& data, const char* name, bool requires_grad = true)
      : Parameter(data, std::string(name), requires_grad) {}

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  // The same parameter for all its owners, with the bytes, shape and dtype of `data`.
  void set_data(const Tensor& data);

 private:
  std::string name_;
};

class Buffer : public Tensor {
 public:
  Buffer() = default;
  Buffer(const Tensor& data, bool persistent = true) : Tensor(data), persistent(persistent) {}
  bool persistent = true;  // part of the state dict
};

// Replaces bytes, shape and dtype of a tensor in place: every handle of `self` sees them, so optimizers and tied
// weights stay valid.
void set_data(const Tensor& self, const Tensor& data);

namespace utils {
// All elements in one tensor of one dimension, differentiable; and back: each parameter becomes a part of `vec`, which
// is not copied. ValueError unless it has as many elements as the parameters together.
Tensor parameters_to_vector(const std::vector<Tensor>& parameters);
void vector_to_parameters(const Tensor& vec, const std::vector<Tensor>& parameters);
}  // namespace utils

}  // namespace neura::nn
