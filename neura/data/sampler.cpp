#include "neura/data/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "neura/core/checked_int.h"
#include "neura/core/error.h"
#include "neura/data/combine.h"
#include "neura/data/random.h"

namespace neura::data {
namespace {

void check_count(const char* sampler, const char* what, std::int64_t n, std::int64_t least) {
  check<ValueError>(n >= least, [&] {
    return std::string(sampler) + ": expected " + what + " of " + std::to_string(least) + " or more, got " +
           std::to_string(n);
  });
}

}  // namespace

SequentialSampler::SequentialSampler(std::int64_t size) : size_(size) {
  check_count("SequentialSampler", "a size", size, 0);
}

std::vector<std::int64_t> SequentialSampler::indices(Generator&) const {
  check_room("SequentialSampler", size_, sizeof(std::int64_t));
  std::vector<std::int64_t> all(static_cast<std::size_t>(size_));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  return all;
}

RandomSampler::RandomSampler(std::int64_t size, RandomSamplerOptions o)
    : items_(size), samples_(o.num_samples.value_or(size)), replacement_(o.replacement) {
  check_count("RandomSampler", "a size", size, 0);
  check_count("RandomSampler", "num_samples", samples_, 0);
  check<ValueError>(size || !samples_, [] { return "RandomSampler: expected items to draw samples from, got none"; });
}

std::vector<std::int64_t> RandomSampler::indices(Generator& generator) const {
  std::vector<std::int64_t> drawn;
  check_room("RandomSampler", samples_, sizeof drawn[0]);
  drawn.reserve(std::size_t(samples_));
  if (replacement_) {
    Draws draws(generator);
    while (std::int64_t(drawn.size()) < samples_) drawn.push_back(draws.below(items_));
    return drawn;
  }
  while (std::int64_t(drawn.size()) < samples_) {
    const auto order = permutation(items_, generator);
    const auto n = std::min(std::int64_t(order.size()), samples_ - std::int64_t(drawn.size()));
    drawn.insert(drawn.end(), order.begin(), order.begin() + n);
  }
  return drawn;
}

std::vector<std::int64_t> SubsetRandomSampler::indices(Generator& generator) const {
  std::vector<std::int64_t> order = permutation(size(), generator);
  for (std::int64_t& i : order) i = indices_[std::size_t(i)];
  return order;
}

WeightedRandomSampler::WeightedRandomSampler(std::vector<double> weights, std::int64_t num_samples, bool replacement)
    : weights_(std::move(weights)), samples_(num_samples), replacement_(replacement) {
  check_count("WeightedRandomSampler", "num_samples", num_samples, 0);
  std::int64_t positive = 0;
  double sum = 0;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    check<ValueError>(std::isfinite(weights_[i]) && weights_[i] >= 0, [&] {
      return "WeightedRandomSampler: expected finite weights of 0 and more, got " + Scalar(weights_[i]).str() +
             " at index " + std::to_string(i);
    });
    positive += weights_[i] > 0;
    sum += weights_[i];
  }
  check<ValueError>(std::isfinite(sum), [] { return "WeightedRandomSampler: expected weights with a finite sum"; });
  check<ValueError>(positive || !samples_, [] { return "WeightedRandomSampler: expected a weight above 0, got none"; });
  check<ValueError>(replacement_ || samples_ <= positive, [&] {
    return "WeightedRandomSampler: expected at most as many samples as weights above 0, " + std::to_string(positive) +
           ", got " + std::to_string(samples_) + "; draw with replacement";
  });
}

std::vector<std::int64_t> WeightedRandomSampler::indices(Generator& generator) const {
  Draws draws(generator);
  std::vector<std::int64_t> drawn;
  check_room("WeightedRandomSampler", samples_, sizeof drawn[0]);
  drawn.reserve(std::size_t(samples_));
  if (replacement_) {
    std::vector<double> sums(weights_.size());
    std::partial_sum(weights_.begin(), weights_.end(), sums.begin());
    while (std::int64_t(drawn.size()) < samples_) {
      // The first sum above the draw: an index of weight 0 has the sum before it and is never first.
      const auto it = std::upper_bound(sums.begin(), sums.end(), draws.uniform() * sums.back());
      if (it != sums.end()) drawn.push_back(it - sums.begin());
    }
    return drawn;
  }
  // Efraimidis and Spirakis (2006): exponential waiting times with the weights as rates; the first to arrive are the
  // sample.
  std::vector<std::pair<double, std::int64_t>> arrivals;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const double wait = -std::log1p(-draws.uniform()) / weights_[i];
    if (weights_[i] > 0) arrivals.emplace_back(wait, std::int64_t(i));
  }
  std::partial_sort(arrivals.begin(), arrivals.begin() + samples_, arrivals.end());
  for (std::int64_t i = 0; i < samples_; ++i) drawn.push_back(arrivals[std::size_t(i)].second);
  return drawn;
}

BatchSampler::BatchSampler(std::shared_ptr<const Sampler> sampler, std::int64_t batch_size, bool drop_last)
    : sampler_(std::move(sampler)), batch_size_(batch_size), drop_last_(drop_last) {
  check<ValueError>(sampler_ != nullptr, [] { return "BatchSampler: expected a sampler, got none"; });
  check_count("BatchSampler", "a batch_size", batch_size, 1);
}

std::int64_t BatchSampler::size() const {
  const std::int64_t n = sampler_->size();
  return n / batch_size_ + (!drop_last_ && n % batch_size_ ? 1 : 0);
}

std::vector<std::vector<std::int64_t>> BatchSampler::batches(Generator& generator) const {
  const std::vector<std::int64_t> all = sampler_->indices(generator);
  std::vector<std::vector<std::int64_t>> batches;
  for (std::size_t at = 0; at < all.size(); at += std::size_t(batch_size_)) {
    const std::size_t end = std::min(all.size(), at + std::size_t(batch_size_));
    if (drop_last_ && std::int64_t(end - at) < batch_size_) break;
    batches.emplace_back(all.begin() + std::ptrdiff_t(at), all.begin() + std::ptrdiff_t(end));
  }
  return batches;
}

}  // namespace neura::data
