// Data sets made of others: parts, joined ones, mapped ones, random splits.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "neura/core/random.h"
#include "neura/data/dataset.h"

namespace neura::data {

// The items of `dataset` at `indices`, in that order.
template <MapStyle D> class Subset {
 public:
  Subset(D dataset, std::vector<std::int64_t> indices)
      : Subset(std::make_shared<const D>(std::move(dataset)), std::move(indices)) {}
  Subset(std::shared_ptr<const D> dataset, std::vector<std::int64_t> indices)
      : dataset_(std::move(dataset)), indices_(std::make_shared<const std::vector<std::int64_t>>(std::move(indices))) {
    for (std::int64_t i : *indices_) check_index(i, dataset_->size());
  }
  ItemOf<D> get(std::int64_t i) const {
    check_index(i, size());
    return dataset_->get((*indices_)[std::size_t(i)]);
  }
  auto get_batch(std::span<const std::int64_t> batch) const requires BatchStyle<D> {
    std::vector<std::int64_t> there;
    there.reserve(batch.size());
    for (std::int64_t i : batch) {
      check_index(i, size());
      there.push_back((*indices_)[std::size_t(i)]);
    }
    return dataset_->get_batch(there);
  }
  std::int64_t size() const { return std::int64_t(indices_->size()); }
  const std::vector<std::int64_t>& indices() const { return *indices_; }

 private:
  std::shared_ptr<const D> dataset_;
  std::shared_ptr<const std::vector<std::int64_t>> indices_;
};

// Any data set with items of type T.
template <class T> class AnyDataset {
 public:
  template <class D>
  requires std::derived_from<std::remove_const_t<D>, Dataset<T>> AnyDataset(std::shared_ptr<D> dataset)
      : dataset_(std::move(dataset)) {}
  template <MapStyle D>
  requires(!std::same_as<D, AnyDataset> && std::convertible_to<ItemOf<D>, T>) AnyDataset(D dataset)
      : dataset_(std::make_shared<const Holder<D>>(std::move(dataset))) {}
  T get(std::int64_t i) const { return dataset_->get(i); }
  std::int64_t size() const { return dataset_->size(); }

 private:
  template <class D> struct Holder final : Dataset<T> {
    explicit Holder(D d) : dataset(std::move(d)) {}
    T get(std::int64_t i) const override { return dataset.get(i); }
    std::int64_t size() const override { return dataset.size(); }
    D dataset;
  };
  std::shared_ptr<const Dataset<T>> dataset_;
};

// One data set after the other.
template <class T> class ConcatDataset {
 public:
  explicit ConcatDataset(std::vector<AnyDataset<T>> parts) : parts_(std::move(parts)) {
    for (const auto& p : parts_) ends_.push_back(size() + p.size());
  }
  template <MapStyle D, MapStyle... More>
  requires(!std::same_as<D, ConcatDataset> || sizeof...(More) > 0) explicit ConcatDataset(D first, More... more)
      : ConcatDataset(std::vector<AnyDataset<T>>{AnyDataset<T>(std::move(first)), AnyDataset<T>(std::move(more))...}) {}
  T get(std::int64_t i) const {
    check_index(i, size());
    std::size_t part = 0;
    while (i >= ends_[part]) ++part;
    return parts_[part].get(part ? i - ends_[part - 1] : i);
  }
  std::int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }

 private:
  std::vector<AnyDataset<T>> parts_;
  std::vector<std::int64_t> ends_;
};
template <MapStyle D, MapStyle... More> explicit ConcatDataset(D, More...) -> ConcatDataset<ItemOf<D>>;

// f(item) for every item of `dataset`, on demand. f runs in the loader's workers.
template <MapStyle D, class F> class MappedDataset {
 public:
  MappedDataset(D dataset, F f) : dataset_(std::move(dataset)), f_(std::move(f)) {}
  auto get(std::int64_t i) const { return f_(dataset_.get(i)); }
  std::int64_t size() const { return dataset_.size(); }

 private:
  D dataset_;
  F f_;
};
template <MapStyle D, class F> MappedDataset<D, F> map(D dataset, F f) { return {std::move(dataset), std::move(f)}; }

// Lengths of the parts: numbers of items, whose sum is `size`, or fractions, whose sum is 1 (what rounding leaves goes
// to the first parts, one each). ValueError.
std::vector<std::int64_t> split_lengths(std::int64_t size, std::span<const Scalar> lengths);
// 0 … n - 1 in random order.
std::vector<std::int64_t> permutation(std::int64_t n, Generator&);

// Disjoint random parts: random_split(set, {0.8, 0.2}, {.seed = 1}). Without a seed, from default_generator().
struct RandomSplitOptions {
  std::optional<std::uint64_t> seed = {};
};
template <MapStyle D>
std::vector<Subset<D>> random_split(D dataset, std::vector<Scalar> lengths, RandomSplitOptions options = {}) {
  const auto shared = std::make_shared<const D>(std::move(dataset));
  const std::vector<std::int64_t> sizes = split_lengths(shared->size(), lengths);
  Generator own(options.seed.value_or(0));
  const std::vector<std::int64_t> order = permutation(shared->size(), options.seed ? own : default_generator());
  std::vector<Subset<D>> parts;
  auto at = order.begin();
  for (std::int64_t n : sizes) {
    parts.emplace_back(shared, std::vector<std::int64_t>(at, at + n));
    at += n;
  }
  return parts;
}

}  // namespace neura::data
