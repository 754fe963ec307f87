// The order in which a loader takes items. Drawing changes no state of a sampler: an epoch's indices follow from the
// generator, so threads may share one.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "neura/core/random.h"

namespace neura::data {

struct Sampler {
  virtual ~Sampler() = default;
  virtual std::int64_t size() const = 0;  // of indices()
  virtual std::vector<std::int64_t> indices(Generator&) const = 0;
};

// 0 … size - 1.
class SequentialSampler final : public Sampler {
 public:
  explicit SequentialSampler(std::int64_t size);
  std::int64_t size() const override { return size_; }
  std::vector<std::int64_t> indices(Generator&) const override;

 private:
  std::int64_t size_;
};

struct RandomSamplerOptions {
  bool replacement = false;
  std::optional<std::int64_t> num_samples = {};  // else as many as items; more than items without replacement: several
                                                 // permutations after each other
};
class RandomSampler final : public Sampler {
 public:
  // Draws items 0 … size - 1. ValueError for sizes below 0, and for samples of nothing.
  explicit RandomSampler(std::int64_t size, RandomSamplerOptions = {});
  std::int64_t size() const override { return samples_; }
  std::vector<std::int64_t> indices(Generator&) const override;

 private:
  std::int64_t items_, samples_;
  bool replacement_;
};

// The given indices in random order.
class SubsetRandomSampler final : public Sampler {
 public:
  explicit SubsetRandomSampler(std::vector<std::int64_t> indices) : indices_(std::move(indices)) {}
  std::int64_t size() const override { return std::int64_t(indices_.size()); }
  std::vector<std::int64_t> indices(Generator&) const override;

 private:
  std::vector<std::int64_t> indices_;
};

// Index i with a probability in proportion to weights[i]. ValueError for weights that are negative or not finite, and
// for more samples without replacement than weights above 0.
class WeightedRandomSampler final : public Sampler {
 public:
  WeightedRandomSampler(std::vector<double> weights, std::int64_t num_samples, bool replacement = true);
  std::int64_t size() const override { return samples_; }
  std::vector<std::int64_t> indices(Generator&) const override;

 private:
  std::vector<double> weights_;
  std::int64_t samples_;
  bool replacement_;
};

// A sampler's indices in groups. Also the base of samplers that choose whole batches: override both functions.
class BatchSampler {
 public:
  BatchSampler(std::shared_ptr<const Sampler> sampler, std::int64_t batch_size, bool drop_last = false);
  virtual ~BatchSampler() = default;
  virtual std::int64_t size() const;  // of batches()
  virtual std::vector<std::vector<std::int64_t>> batches(Generator&) const;

 protected:
  BatchSampler() = default;

 private:
  std::shared_ptr<const Sampler> sampler_;
  std::int64_t batch_size_ = 1;
  bool drop_last_ = false;
};

}  // namespace neura::data
