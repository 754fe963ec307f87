// Where a loader's batches come from: a data set with indices, or a stream.
#pragma once
#include <exception>
#include <optional>
#include <type_traits>

#include "neura/data/collate.h"
#include "neura/data/dataset.h"
#include "neura/data/epoch_plan.h"
#include "neura/data/random.h"
#include "neura/data/workers.h"

namespace neura::data::detail {

struct Numbered final : WorkItem {
  explicit Numbered(std::int64_t n) : number(n) {}
  std::int64_t number;
};
template <class T> struct Drawn final : WorkItem {
  std::vector<T> items;
  std::int64_t number = 0;
};
template <class B> struct Batch final : BuiltBatch {
  Batch(B b, const DeviceCopy& p)
      : batch(map_tensors(std::move(b), [&](const Tensor& t) { return p.send(t, copied); })) {
    p.finish(copied);
  }
  CopyEvent copied;
  B batch;
};

// Called in a catch clause: throws the exception in flight again, of the same type if it is one of Neura's, with a text
// that says which item it was. Other exceptions become Error, with the original nested.
[[noreturn]] void rethrow_with(const std::string& where);

template <class B> std::unique_ptr<BuiltBatch> placed(B batch, const DeviceCopy& to, std::int64_t number) {
  try {
    return std::make_unique<Batch<B>>(std::move(batch), to);
  } catch (...) {
    rethrow_with("while batch " + std::to_string(number) + " was sent to " + to.str());
  }
}

template <class D, class F> class MapSource final : public BatchSource {
 public:
  static constexpr bool whole = BatchStyle<D> && std::is_same_v<F, DefaultCollate>;
  MapSource(std::shared_ptr<const D> d, std::shared_ptr<const F> f, Plan p, std::uint64_t seed,
            std::shared_ptr<const DeviceCopy> to)
      : dataset_(std::move(d)), collate_(std::move(f)), plan_(std::move(p)), seed_(seed), device_copy_(std::move(to)) {}

  std::unique_ptr<WorkItem> draw(Progress&) override {
    if (next_ == plan_.size()) return nullptr;
    return std::make_unique<Numbered>(next_++);
  }
  std::unique_ptr<BuiltBatch> make(WorkItem& work, Progress& progress) const override {
    const std::int64_t number = static_cast<Numbered&>(work).number;
    auto made = batch(number, progress);
    if (!made) return nullptr;
    return placed(std::move(*made), *device_copy_, number);
  }
  auto batch(std::int64_t number, Progress& progress) const {
    const auto indices = plan_.batch(number);
    if constexpr (whole) {
      Generator own(derive_seed(seed_, 3, std::uint64_t(number)));
      const GeneratorScope scope(own);
      const PinnedBatches pinned(device_copy_->pinned());
      try {
        return std::optional(dataset_->get_batch(indices));
      } catch (...) {
        rethrow_with("in batch " + std::to_string(number));
      }
    } else {
      std::vector<ItemOf<D>> items;
      items.reserve(indices.size());
      using B = std::remove_cvref_t<decltype((*collate_)(items))>;
      for (std::size_t i = 0; i < indices.size(); ++i) {
        if (progress.stopped) return std::optional<B>();
        progress.item = indices[i];
        Generator own(derive_seed(seed_, 1, std::uint64_t(plan_.first(number)) + i));
        const GeneratorScope scope(own);
        try {
          items.push_back(dataset_->get(indices[i]));
        } catch (...) {
          rethrow_with("at item " + std::to_string(indices[i]) + ", in batch " + std::to_string(number));
        }
      }
      const PinnedBatches pinned(device_copy_->pinned());
      try {
        return std::optional<B>((*collate_)(items));
      } catch (...) {
        rethrow_with("while batch " + std::to_string(number) + " was put together");
      }
    }
  }

 private:
  std::shared_ptr<const D> dataset_;
  std::shared_ptr<const F> collate_;
  Plan plan_;
  std::uint64_t seed_;
  std::shared_ptr<const DeviceCopy> device_copy_;
  std::int64_t next_ = 0;
};

template <class D, class F> class StreamSource final : public BatchSource {
 public:
  using Stream = std::remove_cvref_t<decltype(std::declval<const D&>().stream())>;
  using Item = std::remove_cvref_t<decltype(*std::declval<Stream&>()())>;
  using B = std::remove_cvref_t<decltype(std::declval<const F&>()(std::declval<const std::vector<Item>&>()))>;

  StreamSource(std::shared_ptr<const D> d, std::shared_ptr<const F> f, const DataLoaderOptions& o, std::uint64_t seed,
               std::shared_ptr<const DeviceCopy> to)
      : dataset_(std::move(d)),
        collate_(std::move(f)),
        options_(o),
        device_copy_(std::move(to)),
        own_(seed),
        stream_(dataset_->stream()) {}

  std::unique_ptr<WorkItem> draw(Progress& progress) override {
    auto work = std::make_unique<Drawn<Item>>();
    work->number = number_++;
    const GeneratorScope scope(own_);
    while (!ended_ && std::int64_t(work->items.size()) < options_.batch_size) {
      if (progress.stopped) return nullptr;
      progress.item = item_;
      try {
        auto item = stream_();
        if (item) work->items.push_back(std::move(*item)), ++item_;
        else ended_ = true;
      } catch (...) {
        rethrow_with("at item " + std::to_string(item_) + " of the stream");
      }
    }
    const bool full = std::int64_t(work->items.size()) == options_.batch_size;
    if (work->items.empty() || (!full && options_.drop_last)) return nullptr;
    return work;
  }
  std::unique_ptr<BuiltBatch> make(WorkItem& work, Progress&) const override {
    auto& drawn = static_cast<Drawn<Item>&>(work);
    std::optional<B> made;
    try {
      const PinnedBatches pinned(device_copy_->pinned());
      made.emplace((*collate_)(drawn.items));
    } catch (...) {
      rethrow_with("while batch " + std::to_string(drawn.number) + " was put together");
    }
    return placed(std::move(*made), *device_copy_, drawn.number);
  }

 private:
  std::shared_ptr<const D> dataset_;
  std::shared_ptr<const F> collate_;
  DataLoaderOptions options_;
  std::shared_ptr<const DeviceCopy> device_copy_;
  Generator own_;
  Stream stream_;
  std::int64_t item_ = 0, number_ = 0;
  bool ended_ = false;
};

template <class D, class F> struct SourceOf;
template <MapStyle D, class F> struct SourceOf<D, F> {
  using type = MapSource<D, F>;
  using B = typename decltype(std::declval<const type&>().batch(0, std::declval<Progress&>()))::value_type;
};
template <StreamStyle D, class F>
requires(!MapStyle<D>) struct SourceOf<D, F> {
  using type = StreamSource<D, F>;
  using B = typename type::B;
};
}  // namespace neura::data::detail
