// Data sets: anything with `get(index) const` and `size() const`. Items are tensors, numbers, text, or pairs, tuples,
// arrays and vectors of them. A loader's workers call get() at the same time: it must not change the data set.
#pragma once
#include <array>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "neura/core/random.h"
#include "neura/core/tensor.h"

namespace neura::data {

template <class D>
concept MapStyle = requires(const D& d, std::int64_t i) {
  d.get(i);
  { d.size() } -> std::convertible_to<std::int64_t>;
};
// Makes a whole batch at once, faster than item by item.
template <class D>
concept BatchStyle = MapStyle<D> && requires(const D& d, std::span<const std::int64_t> i) {
  d.get_batch(i);
};
// stream() begins a new pass and returns a function that gives one item after the other, and nothing at the end.
template <class D>
concept StreamStyle = requires(const D& d) {
  static_cast<bool>(d.stream()());
};

template <MapStyle D> using ItemOf = std::remove_cvref_t<decltype(std::declval<const D&>().get(0))>;

// The same as virtual base classes, for types chosen at run time.
template <class T> struct Dataset {
  virtual ~Dataset() = default;
  virtual T get(std::int64_t index) const = 0;
  virtual std::int64_t size() const = 0;
};
template <class T> struct IterableDataset {
  virtual ~IterableDataset() = default;
  virtual std::function<std::optional<T>()> stream() const = 0;
};

void check_index(std::int64_t index, std::int64_t size);  // IndexError
// Rows of a tensor, [n, ...]: input[indices[0]], input[indices[1]], …; without a tensor per row. IndexError.
Tensor gather_rows(const Tensor& input, std::span<const std::int64_t> indices);
// Tensors of equal shape and dtype, as one with a new first dimension. ShapeError, DTypeError.
Tensor stack_items(std::span<const Tensor> items);

template <class T> class VectorDataset {
 public:
  explicit VectorDataset(std::vector<T> items) : items_(std::make_shared<const std::vector<T>>(std::move(items))) {}
  T get(std::int64_t i) const {
    check_index(i, size());
    return (*items_)[std::size_t(i)];
  }
  std::int64_t size() const { return std::int64_t(items_->size()); }

 private:
  std::shared_ptr<const std::vector<T>> items_;
};

void check_equal_length(std::span<const Tensor> tensors);  // ShapeError

// N tensors with equal first dimension; item i is their i-th rows, std::array<Tensor, N>:
//     TensorDataset set(images, labels);
//     auto [image, label] = set.get(0);
template <std::size_t N> class TensorDataset {
 public:
  template <std::same_as<Tensor>... T>
  requires(sizeof...(T) == N) explicit TensorDataset(T... tensors) : tensors_{std::move(tensors)...} {
    check_equal_length(tensors_);
  }
  std::array<Tensor, N> get(std::int64_t i) const {
    check_index(i, size());
    std::array<Tensor, N> item;
    for (std::size_t t = 0; t < N; ++t) item[t] = tensors_[t].select(0, i);
    return item;
  }
  std::array<Tensor, N> get_batch(std::span<const std::int64_t> indices) const {
    std::array<Tensor, N> batch;
    for (std::size_t t = 0; t < N; ++t) batch[t] = gather_rows(tensors_[t], indices);
    return batch;
  }
  std::int64_t size() const { return tensors_[0].size(0); }
  const std::array<Tensor, N>& tensors() const { return tensors_; }

 private:
  std::array<Tensor, N> tensors_;
};
template <std::same_as<Tensor>... T> explicit TensorDataset(T...) -> TensorDataset<sizeof...(T)>;

}  // namespace neura::data
