#include "neura/surface/options.h"

#include "neura/cuda/memory.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/shape/view.h"

namespace neura::surface {
namespace {

bool is_last(MemoryFormat f) { return f == MemoryFormat::channels_last || f == MemoryFormat::channels_last_3d; }
int rank_of(MemoryFormat f) { return f == MemoryFormat::channels_last ? 4 : 5; }

}  // namespace

Tensor in_format(const Tensor& x, MemoryFormat format) {
  if (format == MemoryFormat::preserve) return x;
  if (!is_last(format)) return contiguous(x);
  check<ShapeError>(x.dim() == rank_of(format), [&] {
    return "memory_format: expected " + std::to_string(rank_of(format)) + " dimensions for channels last, got " +
           x.spec().str();
  });
  return movedim(contiguous(movedim(x, 1, -1)), -1, 1);
}
bool is_in_format(const Tensor& x, MemoryFormat format) {
  if (!is_last(format)) return x.is_contiguous();
  return x.dim() == rank_of(format) && movedim(x, 1, -1).is_contiguous();
}
Tensor pinned(bool pin_memory, const Tensor& made) {
  if (!pin_memory) return made;
  Tensor t = cuda::pin_memory(made);
  return made.requires_grad() ? t.requires_grad_() : t;
}

}  // namespace neura::surface
