// The data of a tensor whose layout sizes and strides do not describe, such as a sparse one. It is in the storage, so
// that a dense tensor takes no more memory. No kernel gets such a tensor: `apply` (op/apply.h) hands the call to the
// extension, and throws where that has no rule for the operation.
#pragma once
#include "neura/core/print.h"
#include "neura/core/wrapped.h"

namespace neura {

struct Call;

struct Extension : Wrapped {
  virtual const char* layout() const = 0;  // sparse_coo
  // Runs and records a call that has such a tensor as operand or destination. False: there is no rule for it.
  virtual bool take(Call&) const = 0;
  virtual std::string repr(const Tensor& self, const PrintOptions&, const std::string& prefix) const = 0;
  bool is_batch() const final { return false; }
};

void release_extension(Storage*);
inline Extension* extension(const TensorImpl* t) {
  const Storage* const s = t->storage;
  return s->release == &release_extension ? static_cast<Extension*>(static_cast<Wrapped*>(s->context)) : nullptr;
}
// A tensor of those sizes and dtype that carries it. It counts as not contiguous, which keeps it from the flat path.
Tensor extend(std::unique_ptr<Extension>, const Spec&);
// NotImplementedError where a tensor has an extension: for code that reads memory or values without a call of `apply`.
void check_dense(const char* op, const Tensor&);

}  // namespace neura
