#include "neura/data/loader.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "neura/data/combine.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::data {
namespace {

using test::error_of;
using test::expect_same;
using test::sample;

struct Numbers {  // item i is i
  std::int64_t n = 10;
  std::int64_t get(std::int64_t i) const {
    check_index(i, n);
    return i;
  }
  std::int64_t size() const { return n; }
};
struct Noise {  // item i is i and a random number
  std::pair<std::int64_t, double> get(std::int64_t i) const { return {i, Draws(generator()).uniform()}; }
  std::int64_t size() const { return 50; }
};
struct Count {  // a stream
  std::int64_t n = 10;
  auto stream() const {
    return [at = std::int64_t{0}, n = n]() mutable { return at < n ? std::optional(at++) : std::nullopt; };
  }
};

template <class L> std::vector<std::vector<std::int64_t>> batches(L& loader) {
  std::vector<std::vector<std::int64_t>> all;
  for (const Tensor& b : loader) all.push_back(b.to_vector<std::int64_t>());
  return all;
}
using Lists = std::vector<std::vector<std::int64_t>>;

static_assert(std::input_iterator<DataLoader<Numbers>::Iterator>);
static_assert(std::same_as<DataLoader<TensorDataset<2>>::Batch, std::array<Tensor, 2>>);

class Workers : public ::testing::TestWithParam<int> {
 protected:
  int n = GetParam();
};
INSTANTIATE_TEST_SUITE_P(Number, Workers, ::testing::Values(0, 1, 3, 4));

TEST_P(Workers, BatchesComeInOrder) {
  DataLoader all(Numbers{10}, {.batch_size = 4, .num_workers = n});
  EXPECT_EQ(batches(all), (Lists{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}}));
  EXPECT_EQ(batches(all).size(), 3u);  // again
  EXPECT_EQ(all.size(), 3);
  DataLoader full(Numbers{10}, {.batch_size = 4, .num_workers = n, .drop_last = true});
  EXPECT_EQ(batches(full), (Lists{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(full.size(), 2);
  DataLoader none(Numbers{0}, {.num_workers = n});
  EXPECT_EQ(batches(none), Lists{});
}

TEST_P(Workers, GiveStructuredBatchesOnTheFastPath) {
  const Tensor x = sample({20, 3}), y = sample({20}, int64);
  DataLoader loader(TensorDataset(x, y), {.batch_size = 8, .num_workers = n});
  std::int64_t at = 0;
  for (auto [images, labels] : loader) {
    const std::int64_t size = std::min<std::int64_t>(8, 20 - at);
    expect_same(images, x.narrow(0, at, size));
    expect_same(labels, y.narrow(0, at, size));
    at += size;
  }
  EXPECT_EQ(at, 20);
}

TEST_P(Workers, DoNotChangeShufflingOrAugmentation) {
  const auto epoch = [](int workers, std::uint64_t seed, int number) {
    DataLoader loader(Noise(), {.batch_size = 7, .shuffle = true, .num_workers = workers, .seed = seed});
    loader.set_epoch(number);
    std::vector<std::pair<std::int64_t, double>> all;
    for (const auto& [i, noise] : loader)
      for (std::int64_t k = 0; k < i.numel(); ++k) all.emplace_back(i.data<std::int64_t>()[k], noise.data<double>()[k]);
    return all;
  };
  const auto one = epoch(0, 5, 0);
  EXPECT_EQ(epoch(n, 5, 0), one);
  EXPECT_NE(epoch(n, 5, 1), one);
  EXPECT_NE(epoch(n, 6, 0), one);
  std::set<std::int64_t> indices;
  std::set<double> noises;
  for (auto [i, noise] : one) indices.insert(i), noises.insert(noise);
  EXPECT_EQ(indices.size(), 50u);
  EXPECT_EQ(noises.size(), 50u);  // P23: no two items with the same randomness
}

TEST_P(Workers, DrawFromTheGlobalGeneratorWithoutASeed) {
  DataLoader loader(Numbers{100}, {.batch_size = 100, .shuffle = true, .num_workers = n});
  manual_seed(3);
  const Lists a = batches(loader), b = batches(loader);
  manual_seed(3);
  EXPECT_EQ(batches(loader), a);
  EXPECT_EQ(batches(loader), b);
  EXPECT_NE(a, b);
}

TEST_P(Workers, CarryErrorsToTheCallerWithTheIndex) {
  const auto broken = map(Numbers{10}, [](std::int64_t i) {
    if (i == 5) throw ShapeError("stack: expected x, got y");
    if (i == 7) throw std::runtime_error("a foreign mistake");
    if (i == 9) throw 3;
    return i;
  });
  DataLoader loader(broken, {.batch_size = 2, .num_workers = n});
  auto it = loader.begin();
  EXPECT_EQ(it->data<std::int64_t>()[1], 1);
  ++it;
  EXPECT_EQ(error_of<ShapeError>([&] { ++it; }), "DataLoader at item 5, in batch 2: stack: expected x, got y");
  try {
    ++it;
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "DataLoader at item 7, in batch 3: a foreign mistake");
    EXPECT_THROW(std::rethrow_if_nested(e), std::runtime_error);
  }
  EXPECT_EQ(error_of<Error>([&] { ++it; }), "DataLoader at item 9, in batch 4: an exception of an unknown type");
  ++it;
  EXPECT_TRUE(it == loader.end());
}

TEST_P(Workers, NameTheBatchThatCannotBePutTogether) {
  const auto ragged = map(Numbers{4}, [](std::int64_t i) { return sample({i + 1}); });
  DataLoader loader(ragged, {.batch_size = 2, .num_workers = n});
  EXPECT_EQ(
      error_of<ShapeError>([&] { loader.begin(); }).rfind("DataLoader while batch 0 was put together: collate: ", 0),
      0u);
}

TEST_P(Workers, StopWhenTheLoopIsLeft) {
  std::atomic<int> fetched{0};
  const auto slow = map(Numbers{100000}, [&](std::int64_t i) {
    ++fetched;
    return i;
  });
  DataLoader loader(slow, {.num_workers = n});
  for (const Tensor& b : loader)
    if (b.item<std::int64_t>() == 3) break;
  const int after = fetched;
  EXPECT_LE(after, 4 + 2 * n + n);  // what was taken, waiting, and in the making
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(fetched, after);
}

TEST_P(Workers, ReadAStreamOnceAndInOrder) {
  DataLoader loader(Count{10}, {.batch_size = 4, .num_workers = n});
  EXPECT_EQ(batches(loader), (Lists{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}}));
  EXPECT_EQ(batches(loader), (Lists{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}}));
  DataLoader full(Count{10}, {.batch_size = 4, .num_workers = n, .drop_last = true});
  EXPECT_EQ(batches(full).size(), 2u);
  struct Base : IterableDataset<std::int64_t> {
    std::function<std::optional<std::int64_t>()> stream() const override { return Count{3}.stream(); }
  };
  DataLoader base(Base(), {.batch_size = 2, .num_workers = n});
  EXPECT_EQ(batches(base), (Lists{{0, 1}, {2}}));
}

TEST_P(Workers, EndAStreamAtItsError) {
  struct Broken {
    auto stream() const {
      return [at = 0]() mutable -> std::optional<std::int64_t> {
        if (at == 3) throw ValueError("the tap is dry");
        return at++;
      };
    }
  };
  DataLoader loader(Broken(), {.batch_size = 2, .num_workers = n});
  auto it = loader.begin();
  EXPECT_EQ(error_of<ValueError>([&] { ++it; }), "DataLoader at item 3 of the stream: the tap is dry");
}

TEST_P(Workers, UseSamplersAndBatchSamplers) {
  struct Backwards final : Sampler {
    std::int64_t size() const override { return 4; }
    std::vector<std::int64_t> indices(Generator&) const override { return {3, 2, 1, 0}; }
  };
  DataLoader a(Numbers{10}, {.batch_size = 3, .sampler = std::make_shared<Backwards>(), .num_workers = n});
  EXPECT_EQ(batches(a), (Lists{{3, 2, 1}, {0}}));
  EXPECT_EQ(a.size(), 2);
  DataLoader b(Numbers{10}, {.batch_sampler = std::make_shared<BatchSampler>(std::make_shared<Backwards>(), 3, true),
                             .num_workers = n});
  EXPECT_EQ(batches(b), (Lists{{3, 2, 1}}));
  struct Pairs final : BatchSampler {
    std::int64_t size() const override { return 2; }
    std::vector<std::vector<std::int64_t>> batches(Generator&) const override { return {{0, 9}, {5}}; }
  };
  DataLoader c(Numbers{10}, {.batch_sampler = std::make_shared<Pairs>(), .num_workers = n});
  EXPECT_EQ(batches(c), (Lists{{0, 9}, {5}}));
}

TEST_P(Workers, ApplyACustomCollateFunction) {
  const auto sum = [](const std::vector<std::int64_t>& items) {
    std::int64_t s = 0;
    for (std::int64_t i : items) s += i;
    return s;
  };
  DataLoader loader(Numbers{5}, {.batch_size = 2, .num_workers = n}, sum);
  std::vector<std::int64_t> sums;
  for (std::int64_t s : loader) sums.push_back(s);
  EXPECT_EQ(sums, (std::vector<std::int64_t>{1, 5, 4}));
}

TEST_P(Workers, LoadASharedDatasetChosenAtRunTime) {
  struct Squares : Dataset<std::int64_t> {
    std::int64_t get(std::int64_t i) const override { return i * i; }
    std::int64_t size() const override { return 3; }
  };
  std::shared_ptr<Dataset<std::int64_t>> d = std::make_shared<Squares>();
  DataLoader loader(d, {.batch_size = 3, .num_workers = n});
  EXPECT_EQ(batches(loader), (Lists{{0, 1, 4}}));
}

TEST(DataLoader, WorkersFetchAtTheSameTime) {
  std::mutex mutex;
  std::condition_variable both;
  int within = 0;
  bool met = false;
  const auto slow = map(Numbers{2}, [&](std::int64_t i) {
    std::unique_lock lock(mutex);
    if (++within == 2) met = true, both.notify_all();
    both.wait_for(lock, std::chrono::seconds(60), [&] { return met; });
    --within;
    return i;
  });
  DataLoader loader(slow, {.num_workers = 2});
  EXPECT_EQ(batches(loader), (Lists{{0}, {1}}));
  EXPECT_TRUE(met);  // each item waited for the other
}

TEST(DataLoader, KeepsItsOptions) {
  const auto sampler = std::make_shared<SequentialSampler>(3);
  const DataLoader loader(Numbers{3}, {.batch_size = 2,
                                       .sampler = sampler,
                                       .num_workers = 1,
                                       .drop_last = true,
                                       .timeout = 4,
                                       .seed = 5,
                                       .prefetch_factor = 6,
                                       .persistent_workers = true});
  const DataLoaderOptions& o = loader.options();
  EXPECT_EQ(o.batch_size, 2);
  EXPECT_EQ(o.sampler, sampler);
  EXPECT_FALSE(o.shuffle || o.batch_sampler || o.worker_init_fn);
  EXPECT_TRUE(o.drop_last && o.persistent_workers && o.device.is_cpu());
  EXPECT_EQ(o.num_workers, 1);
  EXPECT_EQ(o.timeout, 4);
  EXPECT_EQ(o.seed, 5u);
  EXPECT_EQ(o.prefetch_factor, 6);
  EXPECT_EQ(loader.dataset().size(), 3);
}

TEST(DataLoader, InitialisesEachWorkerOnceBeforeItsFirstItem) {
  std::mutex mutex;
  std::multiset<int> ids;
  std::set<std::uint64_t> seeds;
  std::set<std::thread::id> threads, fetchers;
  const auto d = map(Numbers{30}, [&](std::int64_t i) {
    const std::lock_guard lock(mutex);
    EXPECT_TRUE(threads.count(std::this_thread::get_id()));
    fetchers.insert(std::this_thread::get_id());
    return i;
  });
  const WorkerInit init = [&](int id, std::uint64_t seed) {
    const std::lock_guard lock(mutex);
    ids.insert(id), seeds.insert(seed), threads.insert(std::this_thread::get_id());
  };
  DataLoader loader(d, {.num_workers = 3, .worker_init_fn = init, .persistent_workers = true});
  batches(loader);
  batches(loader);
  batches(loader);
  EXPECT_EQ(ids.size(), threads.size());  // once in each
  EXPECT_EQ(seeds.size(), threads.size());
  EXPECT_LE(threads.size(), 3u);  // the same threads in every epoch
  EXPECT_EQ(error_of<ValueError>([&] {
              DataLoader broken(
                  Numbers(), {.num_workers = 2, .worker_init_fn = [](int, std::uint64_t) { throw ValueError("no"); }});
              batches(broken);
            }),
            "no");
}

TEST(DataLoader, MakesNoMoreThanThePrefetchAllows) {
  std::atomic<std::int64_t> fetched{0};
  const auto d = map(Numbers{1000}, [&](std::int64_t i) {
    ++fetched;
    return i;
  });
  DataLoader loader(d, {.num_workers = 2, .prefetch_factor = 3});
  std::int64_t taken = 0;
  for ([[maybe_unused]] const Tensor& b : loader) {
    ++taken;
    EXPECT_LE(fetched, taken + 6);
    if (taken == 50) break;
  }
}

// What a loader says of a worker that stays at item 2. The time that a batch may take counts from when it is asked for;
// the third is asked for when the worker is stuck.
std::string error_of_a_stuck_worker(double timeout) {
  struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool reached = false, open = false;
  };
  const auto gate = std::make_shared<Gate>();  // outlives the test with the thread that waits at it
  const auto stuck = map(Numbers{4}, [gate](std::int64_t i) {
    std::unique_lock lock(gate->mutex);
    if (i == 2) gate->reached = true, gate->changed.notify_all(), gate->changed.wait(lock, [&] { return gate->open; });
    return i;
  });
  std::string error;
  {
    DataLoader loader(stuck, {.num_workers = 1, .timeout = timeout});
    error = error_of<Error>([&] {
      auto it = loader.begin();
      std::unique_lock lock(gate->mutex);
      gate->changed.wait(lock, [&] { return gate->reached; });
      lock.unlock();
      ++it, ++it;
    });
  }
  const std::lock_guard lock(gate->mutex);
  gate->open = true;
  gate->changed.notify_all();
  return error;
}

TEST(DataLoader, ReportsAWorkerThatIsStuck) {
  const std::pair<double, std::string> limits[] = {{0.05, "0.05"}, {2, "2"}, {60, "60"}};
  for (const auto& [limit, text] : limits) {
    const std::string error = error_of_a_stuck_worker(limit);
    if (error.starts_with("DataLoader: expected batch 0 ") && limit < 60) continue;  // a busy machine: it started late
    EXPECT_EQ(error, "DataLoader: expected batch 2 within " + text + " s; worker 0 is at item 2");
    break;
  }
}

TEST(DataLoader, RefusesContradictions) {
  const auto why = [](DataLoaderOptions o) { return error_of<ValueError>([&] { DataLoader(Numbers(), o); }); };
  const auto sampler = std::make_shared<SequentialSampler>(1);
  EXPECT_EQ(why({.batch_size = 0}), "DataLoader: expected a batch_size of 1 or more, got 0");
  EXPECT_EQ(why({.shuffle = true, .sampler = sampler}), "DataLoader: expected shuffle or a sampler, got both");
  EXPECT_NE(why({.num_workers = -1}), "no error");
  EXPECT_NE(why({.batch_size = 2, .batch_sampler = std::make_shared<BatchSampler>(sampler, 1)}), "no error");
  EXPECT_NE(why({.timeout = 1}), "no error");
  EXPECT_NE(why({.num_workers = 1, .prefetch_factor = 0}), "no error");
  EXPECT_NE(error_of<ValueError>([] { DataLoader(Count(), {.shuffle = true}); }), "no error");
}

TEST(DataLoader, IndexErrorsOfASamplerNameTheItem) {
  struct Wrong final : Sampler {
    std::int64_t size() const override { return 1; }
    std::vector<std::int64_t> indices(Generator&) const override { return {77}; }
  };
  DataLoader loader(Numbers{3}, {.sampler = std::make_shared<Wrong>()});
  EXPECT_EQ(error_of<IndexError>([&] { loader.begin(); }),
            "DataLoader at item 77, in batch 0: dataset: expected an index in [0, 3), got 77");
}

}  // namespace
}  // namespace neura::data
