#include "neura/data/loader.h"

#include "neura/data/combine.h"

namespace neura::data {

void check_equal_parts(std::size_t first, std::size_t other, std::size_t place) {
  check<ShapeError>(first == other, [&] {
    return "collate: expected lists of equal length in a batch, got " + std::to_string(first) + " at place 0 and " +
           std::to_string(other) + " at place " + std::to_string(place) +
           "; pad them in a collate function of your own";
  });
}

void missing_key(const std::string& key, std::size_t place) {
  throw ValueError("collate: expected the key \"" + key + "\" in every item, got none at place " +
                   std::to_string(place));
}

namespace detail {

void check_options(const DataLoaderOptions& o, bool stream) {
  const auto demand = [](bool ok, const std::string& text) {
    check<ValueError>(ok, [&] { return "DataLoader: " + text; });
  };
  demand(o.batch_size >= 1, "expected a batch_size of 1 or more, got " + std::to_string(o.batch_size));
  demand(o.num_workers >= 0, "expected num_workers of 0 or more, got " + std::to_string(o.num_workers));
  demand(o.num_workers <= 1024, "expected at most 1024 num_workers, got " + std::to_string(o.num_workers));
  demand(o.prefetch_factor >= 1, "expected a prefetch_factor of 1 or more, got " + std::to_string(o.prefetch_factor));
  demand(o.timeout >= 0, "expected a timeout of 0 or more, got " + Scalar(o.timeout).str());
  demand(!(o.shuffle && o.sampler), "expected shuffle or a sampler, got both");
  demand(!o.batch_sampler || (o.batch_size == 1 && !o.shuffle && !o.sampler && !o.drop_last),
         "expected a batch_sampler alone, got it with batch_size, shuffle, sampler or drop_last");
  demand(!stream || (!o.shuffle && !o.sampler && !o.batch_sampler),
         "expected no shuffle and no sampler with a stream, which has an order of its own");
  demand(o.num_workers > 0 || o.timeout == 0, "expected num_workers above 0 with a timeout, got 0");
  demand(o.num_workers > 0 || !o.persistent_workers, "expected num_workers above 0 with persistent_workers, got 0");
}

Plan::Plan(const DataLoaderOptions& o, std::int64_t items, std::uint64_t seed) {
  Generator generator(seed);
  if (o.batch_sampler) {
    for (const auto& batch : o.batch_sampler->batches(generator)) {
      indices_.insert(indices_.end(), batch.begin(), batch.end());
      ends_.push_back(indices_.size());
    }
    return;
  }
  if (o.sampler) indices_ = o.sampler->indices(generator);
  else if (o.shuffle) indices_ = permutation(items, generator);
  else indices_ = SequentialSampler(items).indices(generator);
  const auto step = std::size_t(o.batch_size);
  for (std::size_t at = 0; at < indices_.size(); at += step) {
    if (o.drop_last && at + step > indices_.size()) break;
    ends_.push_back(std::min(at + step, indices_.size()));
  }
}

std::int64_t Plan::size() const { return std::int64_t(ends_.size()); }

std::int64_t Plan::first(std::int64_t batch) const { return batch ? std::int64_t(ends_[std::size_t(batch) - 1]) : 0; }

std::span<const std::int64_t> Plan::batch(std::int64_t batch) const {
  const auto begin = std::size_t(first(batch));
  return std::span(indices_).subspan(begin, ends_[std::size_t(batch)] - begin);
}

std::int64_t Plan::size(const DataLoaderOptions& o, std::int64_t items) {
  if (o.batch_sampler) return o.batch_sampler->size();
  const std::int64_t n = o.sampler ? o.sampler->size() : items;
  return n / o.batch_size + (!o.drop_last && n % o.batch_size ? 1 : 0);
}

namespace {

// Throws E again, with the place, if the exception in flight is one.
template <class E> void rethrow_as(const std::exception_ptr& error, const std::string& where) {
  try {
    std::rethrow_exception(error);
  } catch (const E& e) {
    throw E("DataLoader " + where + ": " + e.what());
  } catch (...) {
  }
}

template <class... E> void rethrow_as_one_of(const std::exception_ptr& error, const std::string& where) {
  (rethrow_as<E>(error, where), ...);
}

}  // namespace

void rethrow_with(const std::string& where) {
  const std::exception_ptr error = std::current_exception();
  // The derived before the base.
  rethrow_as_one_of<ShapeError, DTypeError, DeviceError, IndexError, ValueError, InplaceError, AutogradError,
                    NotImplementedError, OutOfMemoryError, LinAlgError, CudaError, IoError, FormatError, Error>(error,
                                                                                                                where);
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    std::throw_with_nested(Error("DataLoader " + where + ": " + e.what()));
  } catch (...) {
    std::throw_with_nested(Error("DataLoader " + where + ": an exception of an unknown type"));
  }
}

}  // namespace detail
}  // namespace neura::data
