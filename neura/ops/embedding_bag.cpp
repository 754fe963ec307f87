#include "neura/ops/embedding_bag.h"

#include "neura/ops/create.h"
#include "neura/ops/index.h"
#include "neura/ops/rows.h"
#include "neura/ops/rows_more.h"
#include "neura/ops/view.h"

namespace neura {
namespace {

constexpr const char* kName = "embedding_bag";

std::vector<std::int64_t> integers(const Tensor& t) {
  return t.detach().to(Device()).to(DType::int64).to_vector<std::int64_t>();
}
bool is_numbers(const Tensor& t) { return t.dtype() == DType::int64 || t.dtype() == DType::int32; }

void check_operands(const Tensor& input, const Tensor& offsets, const EmbeddingBagOptions& o) {
  check<ValueError>(o.mode == "sum" || o.mode == "mean" || o.mode == "max", [&] {
    return std::string(kName) + ": expected mode \"sum\", \"mean\" or \"max\", got \"" + std::string(o.mode) + '"';
  });
  check<DTypeError>(is_numbers(input) && (!offsets || is_numbers(offsets)), [&] {
    return std::string(kName) + ": expected numbers and offsets of int32 or int64, got " + input.spec().str() +
           (offsets ? " and " + offsets.spec().str() : "");
  });
  check<ShapeError>(input.dim() == (offsets ? 1 : 2) && (!offsets || offsets.dim() == 1), [&] {
    return std::string(kName) + ": expected numbers [bags, n], or vectors of numbers and of offsets, got " +
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

// Where each bag begins, and where the last one ends.
std::vector<std::int64_t> ends_of(const Tensor& input, const Tensor& offsets, bool last_given) {
  std::vector<std::int64_t> ends;
  if (!offsets) {
    for (std::int64_t bag = 0; bag <= input.size(0); ++bag) ends.push_back(bag * input.size(1));
    return ends;
  }
  ends = integers(offsets);
  check<ValueError>(!last_given || !ends.empty(),
                    [] { return std::string(kName) + ": expected offsets with include_last_offset, got none"; });
  if (!last_given) ends.push_back(input.numel());
  for (std::size_t i = 0; i < ends.size(); ++i)
    check<ValueError>(i ? ends[i] >= ends[i - 1] && ends[i] <= input.numel() : ends[i] == 0 || ends.size() == 1, [&] {
      return std::string(kName) + ": expected offsets that begin with 0, never fall and stay within " +
             std::to_string(input.numel()) + " numbers, got " + offsets.str();
    });
  return ends;
}

}  // namespace

Tensor embedding_bag(const Tensor& input, const Tensor& weight, const Tensor& offsets, const EmbeddingBagOptions& o) {
  check_operands(input, offsets, o);
  const std::vector<std::int64_t> ends = ends_of(input, offsets, o.include_last_offset);
  const auto bags = std::int64_t(ends.size()) - 1;
  const Tensor flat = input.flatten();
  Tensor rows = embedding(flat, weight, o.table);
  if (o.per_sample_weights) rows = rows * o.per_sample_weights.flatten().unsqueeze(-1);

  // The bag of each number; one bag more takes what belongs to none.
  std::vector<std::int64_t> owner(std::size_t(flat.numel()), bags), counts(std::size_t(bags + 1));
  const std::vector<std::int64_t> numbers = o.table.padding_idx ? integers(flat) : std::vector<std::int64_t>();
  std::int64_t padding = o.table.padding_idx.value_or(0);
  if (padding < 0) padding += weight.size(0);
  for (std::int64_t bag = 0; bag < bags; ++bag)
    for (std::int64_t i = ends[std::size_t(bag)]; i < ends[std::size_t(bag + 1)]; ++i)
      if (numbers.empty() || numbers[std::size_t(i)] != padding)
        owner[std::size_t(i)] = bag, ++counts[std::size_t(bag)];
  const Tensor at = tensor(owner, {.device = weight.device()});
  const Tensor start = zeros({bags + 1, weight.size(1)}, {.dtype = rows.dtype(), .device = weight.device()});
  if (o.mode == "max") return index_reduce(start, 0, at, rows, "amax", false).narrow(0, 0, bags);
  Tensor sum = index_add(start, 0, at, rows).narrow(0, 0, bags);
  if (o.mode == "sum") return sum;
  const Tensor count = tensor(counts, {.device = weight.device()}).narrow(0, 0, bags);
  return div(sum, clamp(count, {.min = 1}).to(sum.dtype()).unsqueeze(-1));
}

}  // namespace neura
