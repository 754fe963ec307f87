// What a kernel sees of a tensor: its data pointer, sizes and strides.
#pragma once
#include "neura/core/spec.h"

namespace neura {

struct View {
  char* data = nullptr;  // the first element; null for an absent operand
  const Spec* spec = nullptr;

  explicit operator bool() const { return data; }
  template <class T> T* as() const { return reinterpret_cast<T*>(data); }
#if defined(NEURA_WANTED) || defined(NEURA_INFERENCE_SMALL)
  [[gnu::always_inline]] DType dtype() const { return compiled_dtype(spec->dtype); }
#else
  DType dtype() const { return spec->dtype; }
#endif
  int rank() const { return spec->rank; }
  std::int64_t numel() const { return spec->numel; }
  std::int64_t size(int d) const { return spec->shape[d]; }
  std::int64_t stride(int d) const { return spec->strides[d]; }
};

}  // namespace neura
