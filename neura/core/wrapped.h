// A tensor that represents others while a transform is active (autograd/level.h): sizes and dtype are those that a
// program sees, the values are in a tensor beneath. Its storage has no bytes of its own; code that is about to read or
// copy them asks here first.
#pragma once
#include <memory>

#include "neura/core/tensor.h"

namespace neura {

struct Wrapped {
  virtual ~Wrapped() = default;
  virtual const Tensor& beneath() const = 0;  // the values, of all samples
  virtual bool is_batch() const = 0;          // many values for each element
  virtual bool has_tangent() const { return false; }
  virtual Tensor copy(const TensorImpl* self) const = 0;      // the engine's own copies
  virtual Tensor detached(const TensorImpl* self) const = 0;  // without derivatives of any kind
};

// What a storage wraps; null for every ordinary one. Aliases of a tensor share its storage, and so what it wraps.
Wrapped* wrapped(const TensorImpl*);
inline bool is_wrapped(const Tensor& t) { return t && wrapped(t.impl()); }
// A tensor of those sizes and dtype that wraps.
Tensor wrap(std::unique_ptr<Wrapped>, const Spec&);
// The tensor with bytes below all wrappers: every sample of every level. Itself if it wraps nothing.
Tensor innermost(const Tensor&);
// AutogradError if a program inside a transform is about to read a value that differs from sample to sample.
void check_one_value(const char* op, const Tensor&);
// AutogradError if it is about to read memory: wrappers have none.
void check_readable(const char* op, const Tensor&);
// item() of a wrapped tensor: where all samples have one value, or the value that has a tangent; else AutogradError.
Scalar agreed_item(const Tensor&);
// For a host language's detach(), which also drops tangents and the histories of inner tensors.
Tensor detach_all(const Tensor&);

}  // namespace neura
