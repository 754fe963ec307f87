// A loader's options, and an epoch's batches as lists of indices.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "neura/core/device_scope.h"
#include "neura/data/sampler.h"
#include "neura/data/workers.h"

namespace neura::data {

struct DataLoaderOptions {
  std::int64_t batch_size = 1;
  bool shuffle = false;                                    // a new order each epoch
  std::shared_ptr<const Sampler> sampler = {};             // instead of shuffle
  std::shared_ptr<const BatchSampler> batch_sampler = {};  // instead of batch_size, shuffle, sampler and drop_last
  int num_workers = 0;                                     // threads; 0: batches are made on demand
  bool drop_last = false;                                  // drops the last batch if it is not full
  double timeout = 0;                                      // seconds to wait for workers; 0: for ever
  WorkerInit worker_init_fn = {};                          // called in each worker before its first item
  std::optional<std::uint64_t> seed = {};                  // else each epoch draws its seed from default_generator()
  int prefetch_factor = 2;                                 // batches per worker that are prefetched
  bool persistent_workers = false;                         // workers stay alive between epochs
  Device device = default_device();                        // where batches are put
  bool pin_memory = false;  // of batches on the cpu, where there is CUDA: for asynchronous copies
};

namespace detail {
void check_options(const DataLoaderOptions&, bool stream);  // ValueError

// An epoch's batches as indices.
class Plan {
 public:
  Plan(const DataLoaderOptions&, std::int64_t items, std::uint64_t seed);
  std::int64_t size() const;
  std::span<const std::int64_t> batch(std::int64_t) const;
  std::int64_t first(std::int64_t batch) const;  // place of its first item in the epoch
  static std::int64_t size(const DataLoaderOptions&, std::int64_t items);

 private:
  std::vector<std::int64_t> indices_;
  std::vector<std::size_t> ends_;
};

}  // namespace detail
}  // namespace neura::data
