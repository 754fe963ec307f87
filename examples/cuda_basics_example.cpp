// CUDA devices: which there are, how a tensor travels there and back on a stream, and what the allocator says of it.
// Without a device the program says why, and that is all.
#include <neura/backend/plugin.h>
#include <neura/cuda/memory.h>
#include <neura/cuda/stream.h>
#include <neura/neura.h>

#include <cstdio>
#include <cstdlib>

using namespace neura;

namespace {

void demand(bool ok, const char* what) {
  if (ok) return;
  std::printf("failed: %s\n", what);
  std::exit(1);
}

void list_devices() {
  for (int i = 0; i < cuda::device_count(); ++i) {
    DeviceInfo d;
    throw_failure(device_api(DeviceType::cuda).info(i, &d), "info");
    std::printf("cuda:%d  %s, compute capability %d.%d, %d multiprocessors, %.1f GiB\n", i, d.name, d.major, d.minor,
                d.multiprocessors, double(d.total) / (1 << 30));
  }
  // "cuda" means the current device of this thread; a guard chooses another one for a while.
  const int last = cuda::device_count() - 1;
  {
    const cuda::DeviceGuard on(Device(DeviceType::cuda, last));
    demand(ones({1}).to("cuda").device().index == last, "the guard chooses the device");
  }
  demand(cuda::current_device().index == 0, "the guard ends");
}

// There and back on a stream of its own: the host queues both copies and continues. It must wait before it reads.
void round_trip() {
  const Tensor before = cuda::pin_memory(randn({1 << 20}) * 3 + 1);  // a copy from pinned memory needs no waiting
  Tensor after = cuda::empty_pinned(before.shape());
  const cuda::Stream stream;
  {
    const cuda::StreamGuard on(stream);
    const Tensor there = to(before, {.device = Device("cuda"), .non_blocking = true});
    copy_(after, there * 2, true);
  }
  stream.synchronize();
  const float *a = before.const_data<float>(), *b = after.const_data<float>();
  for (std::int64_t i = 0; i < before.numel(); ++i) demand(b[i] == 2 * a[i], "the round trip keeps every bit");
  std::printf("round trip of %lld floats on a stream: every bit as expected\n", static_cast<long long>(before.numel()));
}

// Memory is kept when a tensor goes, and the next one of its size takes it without asking the driver.
void reuse() {
  const std::int64_t hits = cuda::memory_stats().hits;
  for (int i = 0; i < 10; ++i) (void)empty({1 << 20}, {.device = Device("cuda")});
  const cuda::MemoryStats m = cuda::memory_stats();
  demand(m.hits - hits >= 9, "released memory is used again");
  std::printf("%lld of 10 tensors got memory that was kept\n%s", static_cast<long long>(m.hits - hits),
              cuda::memory_summary().c_str());
}

}  // namespace

int main() {
  if (!cuda::is_available()) {
    std::printf("nothing to show without a CUDA device: %s\n", unavailable(DeviceType::cuda).c_str());
    return 0;
  }
  list_devices();
  round_trip();
  reuse();
  std::printf("ok\n");
}
