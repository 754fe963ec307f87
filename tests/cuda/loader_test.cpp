// Loaders whose batches go to a real device: they arrive whole, and the next one is copied beside the work on the one
// before.
#include "neura/data/loader.h"

#include <algorithm>
#include <cstdio>

#include "neura/cuda/memory.h"
#include "neura/cuda/stream.h"
#include "neura/ops/create/create.h"
#include "neura/ops/create/to.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/random/random.h"
#include "tests/cuda/device.h"

namespace neura::test {
namespace {

using CudaLoader = CudaTest;

TEST_F(CudaLoader, BatchesArriveWholeAndInOrder) {
  const Tensor x = randn({1000, 300}), y = arange(1000);
  for (const int workers : {0, 1, 4}) {
    data::DataLoaderOptions o{.batch_size = 64, .shuffle = true, .num_workers = workers, .seed = 5};
    data::DataLoader want(data::TensorDataset(x, y), o);
    o.device = kCuda;
    data::DataLoader got(data::TensorDataset(x, y), o);
    auto w = want.begin();
    for (const auto& [a, b] : got) {
      expect_same(back(a), (*w)[0]);
      expect_same(back(b), (*w)[1]);
      ++w;
    }
    EXPECT_EQ(w, want.end());
  }
}

// The time between the work on one batch and the work on the next holds what is left of the next one's copy. A copy
// that does not overlap is in it as a whole.
TEST_F(CudaLoader, TheNextBatchIsCopiedWhileTheDeviceComputes) {
  constexpr std::int64_t rows = 8, columns = 1 << 20;
  constexpr std::size_t batches = 10;
  const cuda::EventOptions timed{.enable_timing = true};
  const Tensor w = full({4096, 4096}, 1.0 / 4096, {.device = kCuda});
  const auto compute = [&] {
    Tensor y = w;
    for (int i = 0; i < 12; ++i) y = matmul(y, w);
  };
  compute();
  const Tensor pinned = cuda::empty_pinned({rows, columns});
  cuda::Event before(timed), after(timed);
  before.record();
  const Tensor there = to(pinned, {.device = kCuda, .non_blocking = true});
  after.record();
  after.synchronize();
  const double copy = before.elapsed_time(after);

  std::vector<cuda::Event> begin, end;
  data::DataLoader loader(data::TensorDataset(ones({rows * std::int64_t(batches), columns})),
                          {.batch_size = rows, .num_workers = 1, .device = kCuda});
  for (const auto& [x] : loader) {
    ASSERT_EQ(x.device(), kCuda);
    begin.emplace_back(timed).record();  // this thread's stream waits for the copy before
    compute();
    end.emplace_back(timed).record();
  }
  ASSERT_EQ(end.size(), batches);
  cuda::synchronize();
  std::vector<double> gaps, steps;
  for (std::size_t i = 3; i < batches; ++i) {  // until then memory is taken
    gaps.push_back(end[i - 1].elapsed_time(begin[i]));
    steps.push_back(begin[i].elapsed_time(end[i]));
  }
  std::sort(gaps.begin(), gaps.end()), std::sort(steps.begin(), steps.end());
  const double gap = gaps[gaps.size() / 2], work = steps[steps.size() / 2];
  std::printf("overlap: a loader's batch takes %.2f ms to copy, a step %.2f ms; between two steps %.3f ms\n", copy,
              work, gap);
  EXPECT_GT(work, copy);
  EXPECT_LT(gap, copy / 2);
}

}  // namespace
}  // namespace neura::test
