#include "neura/ops/nn/embedding_bag.h"

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/expect.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/reduce/scan.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/sort/sort.h"

namespace neura {
namespace {

constexpr const char* kName = "embedding_bag";

bool is_numbers(const Tensor& t) { return t.dtype() == DType::int64 || t.dtype() == DType::int32; }

void check_operands(const Tensor& input, const Tensor& offsets, const EmbeddingBagOptions& o) {
  check<ValueError>(o.mode == "sum" || o.mode == "mean" || o.mode == "max", [&] {
    return std::string(kName) + ": expected mode \"sum\", \"mean\" or \"max\", got \"" + std::string(o.mode) + '"';
  });
  check<DTypeError>(is_numbers(input) && (!offsets || is_numbers(offsets)), [&] {
    return std::string(kName) + ": expected indices and offsets of int32 or int64, got " + input.spec().str() +
           (offsets ? " and " + offsets.spec().str() : "");
  });
  check<ShapeError>(input.dim() == (offsets ? 1 : 2) && (!offsets || offsets.dim() == 1), [&] {
    return std::string(kName) + ": expected indices [bags, n], or vectors of indices and of offsets, got " +
           input.spec().str() + (offsets ? " and " + offsets.spec().str() : " without offsets");
  });
  check<ValueError>(!o.table.scale_grad_by_freq || o.mode != "max",
                    [] { return std::string(kName) + ": expected scale_grad_by_freq = false in mode \"max\""; });
  if (!o.per_sample_weights) return;
  check<ValueError>(o.mode == "sum", [&] {
    return std::string(kName) + ": expected mode \"sum\" with per_sample_weights, got \"" + std::string(o.mode) + '"';
  });
  check<ShapeError>(o.per_sample_weights.shape() == input.shape(), [&] {
    return std::string(kName) + ": expected per_sample_weights of shape " + input.shape().str() + ", got " +
           o.per_sample_weights.spec().str();
  });
}

// `ends`: where each bag begins, and perhaps where the last one ends.
void check_offsets(const Tensor& ends, std::int64_t numbers) {
  const Tensor inside = ge(diff(ends), 0) & le(slice(ends, 0, 1), numbers);
  if (!host_looks(ends)) return expect(Rule::offsets, all(inside) & all(eq(slice(ends, 0, 0, 1), 0)));
  const bool begins = ends.numel() == 0 || ends[0].item<std::int64_t>() == 0;
  check<ValueError>(begins && all(inside).item<bool>(), [&] {
    return std::string(kName) + ": expected offsets that begin with 0, never fall and stay within " +
           std::to_string(numbers) + " numbers, got " + ends.str();
  });
}

// The bag of each index; `bags` for those that belong to none.
Tensor owners(const Tensor& input, const Tensor& offsets, std::int64_t bags, Device device) {
  const Tensor bag = arange(bags, {.device = device});
  if (!offsets) return flatten(expand(unsqueeze(bag, 1), input.shape()));
  const Tensor places = arange(input.numel(), {.device = device});
  return clamp_min(searchsorted(contiguous(offsets.detach().to(DType::int64).to(device)), places, false, true) - 1, 0);
}

}  // namespace

Tensor embedding_bag(const Tensor& input, const Tensor& weight, const Tensor& offsets, const EmbeddingBagOptions& o) {
  check_operands(input, offsets, o);
  check<ValueError>(!offsets || !o.include_last_offset || offsets.numel() > 0,
                    [] { return std::string(kName) + ": expected offsets with include_last_offset, got none"; });
  if (offsets) check_offsets(offsets, input.numel());
  const std::int64_t bags = offsets ? offsets.numel() - o.include_last_offset : input.size(0);
  const Tensor flat = input.flatten();
  Tensor rows = embedding(flat, weight, o.table);
  if (o.per_sample_weights) rows = rows * o.per_sample_weights.flatten().unsqueeze(-1);

  Tensor at = owners(input, offsets, bags, weight.device());  // an extra bag takes the indices of no bag
  if (o.table.padding_idx) {
    const std::int64_t padding = *o.table.padding_idx + (*o.table.padding_idx < 0 ? weight.size(0) : 0);
    at = where(eq(flat, padding), bags, at);
  }
  const Tensor start = zeros({bags + 1, weight.size(1)}, {.dtype = rows.dtype(), .device = weight.device()});
  if (o.mode == "max") return index_reduce(start, 0, at, rows, "amax", false).narrow(0, 0, bags);
  Tensor sum = index_add(start, 0, at, rows).narrow(0, 0, bags);
  if (o.mode == "sum") return sum;
  const Tensor one = ones({}, {.dtype = DType::int64, .device = weight.device()});
  const Tensor count =
      index_add(zeros({bags + 1}, {.dtype = DType::int64, .device = weight.device()}), 0, at, expand(one, at.shape()))
          .narrow(0, 0, bags);
  return div(sum, clamp(count, {.min = 1}).to(sum.dtype()).unsqueeze(-1));
}

}  // namespace neura
