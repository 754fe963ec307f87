// resize_ and resize_as_.
#include <cstring>

#include "neura/core/extension.h"
#include "neura/core/meta.h"
#include "neura/core/state.h"
#include "neura/op/apply.h"
#include "neura/ops/reduce/statistics.h"

namespace neura {

Tensor& resize_(Tensor& self, const Shape& size) {
  check_dense("resize_", self);
  const Spec& now = self.spec();
  for (std::int64_t n : size)
    check<ShapeError>(n >= 0, [&] { return "resize_: expected sizes that are not negative, got " + size.str(); });
  check<AutogradError>(!self.requires_grad(), [] {
    return std::string("resize_: expected a tensor that requires no gradient; call detach() first");
  });
  if (now.sizes() == size) return self;
  TensorImpl* t = self.impl();
  check<InplaceError>(!t->base && self.is_leaf(), [] {
    return std::string("resize_: expected a tensor of its own, got a view or a result; clone() it first");
  });
  Spec spec = Spec::dense(now.dtype, size, now.device);
  check<OutOfMemoryError>(spec.numel < std::int64_t{1} << 56,
                          [&] { return "resize_: expected a size that memory may hold, got " + size.str(); });
  spec.offset = now.offset;
  const std::size_t needed = (std::size_t(spec.offset) + std::size_t(spec.numel)) * std::size_t(size_of(now.dtype));
  Storage* old = t->storage;
  if (needed > old->bytes) {
    check<InplaceError>(old->count.load(std::memory_order_acquire) == 1, [&] {
      return "resize_: expected memory that no other tensor shares, to grow from " + std::to_string(old->bytes) +
             " to " + std::to_string(needed) + " bytes; clone() the tensor first";
    });
    check<NotImplementedError>(now.device.is_cpu() || is_meta(now.device),
                               [] { return std::string("resize_: expected a tensor on the cpu"); });
    Storage* grown = Storage::make(needed, now.device);
    if (now.device.is_cpu()) std::memcpy(grown->data, old->data, old->bytes);
    grown->version = std::uint32_t(old->version);
    t->storage = grown;
    Ref<Storage>::drop(old);
  }
  t->spec = spec;
  t->written(nullptr);
  t->id = ++state.id;
  return self;
}
Tensor& resize_as_(Tensor& self, const Tensor& other) { return resize_(self, other.shape()); }

}  // namespace neura
