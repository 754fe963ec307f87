// Batches of 128 rows of 784 float32: by a loader of a tensor data set, in order and shuffled, against gathering the
// same rows by hand and against stacking one tensor per row.
#include <benchmark/benchmark.h>

#include "neura/data/loader.h"
#include "neura/ops/index/index.h"
#include "neura/ops/random/random.h"
#include "neura/ops/shape/join.h"

namespace neura::data {
namespace {

constexpr std::int64_t kItems = 12800, kBatch = 128, kPixels = 784;

struct Rows {
  Tensor x = randn({kItems, kPixels}), y = randint(10, {kItems});
};
const Rows& rows() {
  static const Rows& r = *new Rows;
  return r;
}
void count(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * kItems);
  state.SetBytesProcessed(state.iterations() * std::int64_t(rows().x.nbytes()) * 2);
}

void BM_loader(benchmark::State& state) {
  DataLoader loader(TensorDataset(rows().x, rows().y),
                    {.batch_size = kBatch, .shuffle = state.range(0) != 0, .num_workers = int(state.range(1))});
  for (auto _ : state)
    for (auto& [x, y] : loader) benchmark::DoNotOptimize(x.raw_data());
  count(state);
}
void BM_index_select(benchmark::State& state) {
  for (auto _ : state) {
    const Tensor order = randperm(kItems);
    for (std::int64_t at = 0; at < kItems; at += kBatch) {
      const Tensor i = order.narrow(0, at, kBatch);
      benchmark::DoNotOptimize(index_select(rows().x, 0, i));
      benchmark::DoNotOptimize(index_select(rows().y, 0, i));
    }
  }
  count(state);
}
void BM_stack_of_rows(benchmark::State& state) {
  for (auto _ : state) {
    for (std::int64_t at = 0; at < kItems; at += kBatch) {
      std::vector<Tensor> x, y;
      for (std::int64_t i = at; i < at + kBatch; ++i)
        x.push_back(rows().x.select(0, i)), y.push_back(rows().y.select(0, i));
      benchmark::DoNotOptimize(stack(x, 0));
      benchmark::DoNotOptimize(stack(y, 0));
    }
  }
  count(state);
}
BENCHMARK(BM_loader)->ArgNames({"shuffle", "workers"})->Args({0, 0})->Args({1, 0})->Args({1, 1})->UseRealTime();
BENCHMARK(BM_index_select)->UseRealTime();
BENCHMARK(BM_stack_of_rows)->UseRealTime();

}  // namespace
}  // namespace neura::data
