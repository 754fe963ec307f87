// DataLoader: a range of batches over a data set.
//     data::DataLoader loader(data::TensorDataset(images, labels), {.batch_size = 128, .shuffle = true});
//     for (auto [x, y] : loader) ...
#pragma once
#include <iterator>
#include <memory>
#include <optional>

#include "neura/data/source.h"

namespace neura::data {

// Loads a data set (MapStyle or StreamStyle) in batches. Each begin() is a new epoch. The batches of an epoch, with all
// random transforms in it, follow from the seed and the epoch's number alone, not from the number of workers. An error
// in a data set is thrown when its batch is asked for, and names the item. A stream is read by one worker at a time, in
// order; its batches are put together in parallel. With a device, batches are put together in pinned memory and copied
// on a stream of their own, while the device computes the previous batch. Throws ValueError for options that contradict
// each other.
template <class D, class F = DefaultCollate> class DataLoader {
 public:
  using Source = typename detail::SourceOf<D, F>::type;
  using Batch = typename detail::SourceOf<D, F>::B;

  template <class U>
  requires std::same_as<std::remove_cvref_t<U>, D>
  explicit DataLoader(U&& dataset, DataLoaderOptions options = {}, F collate_fn = {})
      : DataLoader(std::make_shared<const D>(std::forward<U>(dataset)), std::move(options), std::move(collate_fn)) {}
  explicit DataLoader(std::shared_ptr<const D> dataset, DataLoaderOptions options = {}, F collate_fn = {})
      : dataset_(std::move(dataset)),
        options_(std::move(options)),
        collate_(std::make_shared<const F>(std::move(collate_fn))) {
    detail::check_options(options_, !MapStyle<D>);
  }

  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;
    Iterator() = default;
    Batch& operator*() const { return static_cast<detail::Batch<Batch>&>(*made_).batch; }
    Batch* operator->() const { return &**this; }
    Iterator& operator++() {
      made_.reset();  // its memory may be reused for the next batch
      made_ = workers_ ? workers_->next(timeout_) : make();
      if (made_) static_cast<detail::Batch<Batch>&>(*made_).copied.take();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& i, std::default_sentinel_t) { return !i.made_; }

   private:
    friend class DataLoader;
    std::unique_ptr<BuiltBatch> make() {
      const DeviceScope here{Device()};  // as in workers, ignoring this thread's DeviceScope
      const auto work = source_->draw(*progress_);
      return work ? source_->make(*work, *progress_) : nullptr;
    }
    std::unique_ptr<BuiltBatch> made_;
    std::shared_ptr<BatchSource> source_;
    std::unique_ptr<Progress> progress_;
    std::shared_ptr<Workers> workers_;
    double timeout_ = 0;
  };

  Iterator begin() {
    if (!device_copy_) device_copy_ = std::make_shared<const DeviceCopy>(options_.device, options_.pin_memory);
    const std::uint64_t seed = epoch_seed();
    Iterator i;
    std::shared_ptr<BatchSource> source;
    if constexpr (MapStyle<D>)
      source = std::make_shared<Source>(dataset_, collate_, detail::Plan(options_, dataset_->size(), seed), seed,
                                        device_copy_);
    else source = std::make_shared<Source>(dataset_, collate_, options_, seed, device_copy_);
    i.timeout_ = options_.timeout;
    if (options_.num_workers > 0) {
      if (options_.persistent_workers && workers_.use_count() == 1) i.workers_ = workers_;
      else
        i.workers_ = std::make_shared<Workers>(options_.num_workers, options_.num_workers * options_.prefetch_factor,
                                               options_.worker_init_fn, seed);
      if (options_.persistent_workers && !workers_) workers_ = i.workers_;
      i.workers_->start(std::move(source));
    } else {
      i.source_ = std::move(source);
      i.progress_ = std::make_unique<Progress>();
    }
    ++i;
    return i;
  }
  std::default_sentinel_t end() const { return {}; }

  // Batches of an epoch.
  std::int64_t size() const requires MapStyle<D> { return detail::Plan::size(options_, dataset_->size()); }
  const D& dataset() const { return *dataset_; }
  const DataLoaderOptions& options() const { return options_; }
  // The number of the next epoch, from 0: with a seed, a resumed run sets it to continue in the same order.
  void set_epoch(std::int64_t epoch) { epoch_ = epoch; }
  std::int64_t epoch() const { return epoch_; }

 private:
  std::uint64_t epoch_seed() {
    const auto epoch = std::uint64_t(epoch_++);
    if (options_.seed) return derive_seed(*options_.seed, 0, epoch);
    const GeneratorState g = default_generator().reserve();
    return derive_seed(g.seed, g.offset, 0);
  }

  std::shared_ptr<const D> dataset_;
  DataLoaderOptions options_;
  std::shared_ptr<const F> collate_;
  std::shared_ptr<const DeviceCopy> device_copy_;
  std::shared_ptr<Workers> workers_;
  std::int64_t epoch_ = 0;
};
template <class D> explicit DataLoader(std::shared_ptr<D>) -> DataLoader<std::remove_const_t<D>>;
template <class D> explicit DataLoader(std::shared_ptr<D>, DataLoaderOptions) -> DataLoader<std::remove_const_t<D>>;
template <class D, class F> explicit DataLoader(std::shared_ptr<D>, DataLoaderOptions, F)
    -> DataLoader<std::remove_const_t<D>, F>;
template <class D> explicit DataLoader(D) -> DataLoader<D>;
template <class D> explicit DataLoader(D, DataLoaderOptions) -> DataLoader<D>;
template <class D, class F> explicit DataLoader(D, DataLoaderOptions, F) -> DataLoader<D, F>;

}  // namespace neura::data
