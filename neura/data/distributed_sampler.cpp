#include "neura/data/distributed_sampler.h"

#include "neura/core/error.h"
#include "neura/data/combine.h"

namespace neura::data {

DistributedSampler::DistributedSampler(std::int64_t size, const DistributedOptions& o) : items_(size), o_(o) {
  check<ValueError>(size >= 0,
                    [&] { return "DistributedSampler: expected a size of 0 or more, got " + std::to_string(size); });
  check<ValueError>(o.rank >= 0 && o.rank < o.num_replicas, [&] {
    return "DistributedSampler: expected a rank in [0, " + std::to_string(o.num_replicas) + "), got " +
           std::to_string(o.rank);
  });
}

std::int64_t DistributedSampler::size() const {
  return items_ / o_.num_replicas + (!o_.drop_last && items_ % o_.num_replicas != 0);
}

std::vector<std::int64_t> DistributedSampler::indices() const {
  Generator generator(std::uint64_t(o_.seed) + std::uint64_t(epoch_));
  const auto order = o_.shuffle ? permutation(items_, generator) : SequentialSampler(items_).indices(generator);
  std::vector<std::int64_t> share(static_cast<std::size_t>(size()));
  for (std::size_t i = 0; i < share.size(); ++i)
    share[i] = order[std::size_t(o_.rank + std::int64_t(i) * o_.num_replicas) % order.size()];
  return share;
}

}  // namespace neura::data
