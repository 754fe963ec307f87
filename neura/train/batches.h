// A counted pass over a loader.
#pragma once
#include <cstdint>
#include <iterator>
#include <utility>

namespace neura::train {

class BatchCount {  // what is told of a pass
 public:
  virtual void skipped() = 0;
  virtual void arrived() = 0;
  virtual void finished() = 0;
  virtual void ended() = 0;

 protected:
  ~BatchCount() = default;
};

template <class Loader> class Batches {
 public:
  Batches(Loader& loader, BatchCount& count, std::int64_t skip) : loader_(&loader), count_(&count), skip_(skip) {}

  class Iterator {
   public:
    auto& operator*() const { return *at_; }
    Iterator& operator++() {
      count_->finished();
      ++at_;
      settle();
      return *this;
    }
    friend bool operator==(const Iterator& i, std::default_sentinel_t) { return i.at_ == std::default_sentinel; }

   private:
    friend class Batches;
    using Inner = decltype(std::declval<Loader&>().begin());
    Iterator(Inner at, BatchCount* count, std::int64_t skip) : at_(std::move(at)), count_(count) {
      for (; skip > 0 && at_ != std::default_sentinel; --skip) ++at_;
      count_->skipped();
      settle();
    }
    void settle() {
      if (at_ == std::default_sentinel) count_->ended();
      else count_->arrived();
    }
    Inner at_;
    BatchCount* count_;
  };

  Iterator begin() { return Iterator(loader_->begin(), count_, skip_); }
  std::default_sentinel_t end() const { return {}; }

 private:
  Loader* loader_;
  BatchCount* count_;
  std::int64_t skip_;
};

}  // namespace neura::train
