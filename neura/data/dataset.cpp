#include "neura/data/dataset.h"

#include <cmath>
#include <cstring>
#include <numeric>

#include "neura/core/parallel.h"
#include "neura/data/combine.h"
#include "neura/data/device_copy.h"
#include "neura/data/random.h"
#include "neura/op/defer.h"
#include "neura/ops/index/index.h"
#include "neura/ops/shape/join.h"

namespace neura::data {
namespace {

// True if rows may be copied as bytes. A tensor with a history is left to the operations, which record.
bool plain(const Tensor& t) { return t.device().is_cpu() && t.is_contiguous() && !t.requires_grad(); }

// copy(i): one piece of `bytes`. Pieces are shared among threads when there is enough to do.
template <class Copy> void copy_pieces(std::int64_t n, std::size_t bytes, Copy copy) {
  constexpr std::int64_t kBytesPerTask = 256 * 1024;  // below this, one thread is faster
  const std::int64_t grain = std::max<std::int64_t>(1, kBytesPerTask / std::max<std::int64_t>(1, std::int64_t(bytes)));
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) copy(i);
  });
}

}  // namespace

void check_index(std::int64_t index, std::int64_t size) {
  check<IndexError>(index >= 0 && index < size, [&] {
    return "dataset: expected an index in [0, " + std::to_string(size) + "), got " + std::to_string(index);
  });
}

void check_equal_length(std::span<const Tensor> tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    check<ValueError>(tensors[i].defined(), [&] {
      return "TensorDataset: expected tensors, got an undefined one at position " + std::to_string(i);
    });
    const Shape first = tensors[0].shape(), shape = tensors[i].shape();
    check<ShapeError>(!shape.empty() && shape[0] == first[0], [&] {
      return "TensorDataset: expected tensors of equal first dimension, got " + first.str() + " at position 0 and " +
             shape.str() + " at position " + std::to_string(i);
    });
  }
}

Tensor gather_rows(const Tensor& input, std::span<const std::int64_t> indices) {
  const Shape shape = input.shape();
  check<ShapeError>(!shape.empty(), [] { return "gather_rows: expected at least one dimension, got a 0-d tensor"; });
  for (std::int64_t i : indices) check_index(i, shape[0]);
  const auto n = std::int64_t(indices.size());
  if (!plain(input)) {
    Tensor index = Tensor::empty(Spec::dense(int64, Shape{n}));
    std::copy(indices.begin(), indices.end(), index.data<std::int64_t>());
    return index_select(input, 0, index.to(input.device()));
  }
  Shape result = shape;
  result[0] = n;
  Tensor out = empty_batch(input.dtype(), result);
  const std::size_t bytes = n ? out.nbytes() / std::size_t(n) : 0;
  if (!bytes) return out;
  notify_read(input);
  const char* from = static_cast<const char*>(input.const_raw_data());
  char* to = out.impl()->data();
  copy_pieces(n, bytes, [&](std::int64_t i) {
    std::memcpy(to + std::size_t(i) * bytes, from + std::size_t(indices[std::size_t(i)]) * bytes, bytes);
  });
  return out;
}

Tensor stack_items(std::span<const Tensor> items) {
  check<ValueError>(!items.empty(), [] { return "collate: expected at least one item, got none"; });
  const Tensor& first = items[0];
  bool bytes_only = true;
  for (std::size_t i = 0; i < items.size(); ++i) {
    check<ValueError>(items[i].defined(),
                      [&] { return "collate: expected tensors, got an undefined one at place " + std::to_string(i); });
    check<ShapeError>(items[i].shape() == first.shape(), [&] {
      return "collate: expected tensors of equal shape in a batch, got " + first.shape().str() + " at place 0 and " +
             items[i].shape().str() + " at place " + std::to_string(i) + "; pad them in a collate function of your own";
    });
    check<DTypeError>(items[i].dtype() == first.dtype(), [&] {
      return std::string("collate: expected tensors of equal dtype in a batch, got ") + name(first.dtype()) +
             " at place 0 and " + name(items[i].dtype()) + " at place " + std::to_string(i);
    });
    bytes_only &= plain(items[i]);
  }
  if (!bytes_only) return stack({items.begin(), items.end()}, 0);
  Shape shape = first.shape();
  shape.insert(0, std::int64_t(items.size()));
  Tensor out = empty_batch(first.dtype(), shape);
  const std::size_t bytes = first.nbytes();
  if (!bytes) return out;
  for (const Tensor& t : items) notify_read(t);
  char* to = out.impl()->data();
  copy_pieces(std::int64_t(items.size()), bytes, [&](std::int64_t i) {
    std::memcpy(to + std::size_t(i) * bytes, items[std::size_t(i)].const_raw_data(), bytes);
  });
  return out;
}

std::vector<std::int64_t> split_lengths(std::int64_t size, std::span<const Scalar> lengths) {
  double sum = 0;
  for (const Scalar& l : lengths) {
    check<ValueError>(l.real() >= 0, [&] { return "random_split: expected lengths of 0 and more, got " + l.str(); });
    sum += l.real();
  }
  const bool whole = sum == double(size);
  const bool fractions = !whole && std::abs(sum - 1) <= 1e-9;
  check<ValueError>(whole || fractions, [&] {
    return "random_split: expected lengths whose sum is the number of items, " + std::to_string(size) +
           ", or fractions whose sum is 1, got " + Scalar(sum).str();
  });
  std::vector<std::int64_t> sizes;
  std::int64_t rest = size;
  for (const Scalar& l : lengths) {
    check<ValueError>(fractions || l.real() == std::floor(l.real()),
                      [&] { return "random_split: expected whole numbers of items, got " + l.str(); });
    sizes.push_back(fractions ? std::int64_t(std::floor(double(size) * l.real())) : l.integer());
    rest -= sizes.back();
  }
  for (std::size_t i = 0; rest > 0; i = (i + 1) % sizes.size(), --rest) ++sizes[i];
  return sizes;
}

std::vector<std::int64_t> permutation(std::int64_t n, Generator& generator) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  Draws draws(generator);
  for (std::int64_t i = n - 1; i > 0; --i) std::swap(order[std::size_t(i)], order[std::size_t(draws.below(i + 1))]);
  return order;
}

}  // namespace neura::data
