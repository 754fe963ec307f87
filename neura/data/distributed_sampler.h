// DistributedSampler: one share of a data set per process of a training.
#pragma once
#include "neura/data/sampler.h"

namespace neura::data {

struct DistributedOptions {
  std::int64_t num_replicas = 1, rank = 0;
  bool shuffle = true;  // a new order each epoch, from seed and epoch, so the same on all ranks
  std::int64_t seed = 0;
  bool drop_last = false;  // drops the remainder of size / num_replicas; else the first items are taken twice
};
// Share number `rank` of num_replicas equal ones, of items 0 … size - 1. Call set_epoch before each epoch: the loader's
// own generator is not drawn from. ValueError for a negative size and for a rank outside of [0, num_replicas).
class DistributedSampler final : public Sampler {
 public:
  DistributedSampler(std::int64_t size, const DistributedOptions&);
  std::int64_t size() const override;
  std::vector<std::int64_t> indices(Generator&) const override { return indices(); }
  std::vector<std::int64_t> indices() const;
  void set_epoch(std::int64_t epoch) { epoch_ = epoch; }

 private:
  std::int64_t items_, epoch_ = 0;
  DistributedOptions o_;
};

}  // namespace neura::data
