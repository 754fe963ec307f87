// Graphs: what a stream records is instantiated once, and launched as often as wanted.
#include <atomic>
#include <utility>

#include "neura/backend/cuda/runtime/capture.h"
#include "neura/backend/cuda/runtime/event.h"
#include "neura/backend/cuda/runtime/graph_numbers.h"
#include "neura/backend/cuda/runtime/memory.h"
#include "neura/backend/cuda/runtime/memory_pool.h"
#include "neura/core/graph_api.h"

namespace neura::cuda {
namespace {

struct Graph {
  int index;
  std::uint64_t pool = 0;
  cudaStream_t stream = nullptr;  // that records
  cudaGraphExec_t ready = nullptr;
  cudaStream_t last = nullptr;       // where it was launched last: a graph runs once at a time
  std::uint64_t* numbers = nullptr;  // of its random draws
};
thread_local Graph* recording[kDevices] = {};

Graph& of(void* g) { return *static_cast<Graph*>(g); }
std::uint64_t new_pool() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

void reset(void* graph) {
  Graph& g = of(graph);
  if (g.ready && cudaGraphExecDestroy(std::exchange(g.ready, nullptr)) != cudaSuccess) cudaGetLastError();
  if (g.numbers) memory::release(g.index, std::exchange(g.numbers, nullptr));
  if (const std::uint64_t pool = std::exchange(g.pool, 0)) memory::drop(g.index, pool);
  g.last = nullptr;
}

Failed create(int index, void** graph) { return *graph = new Graph{index}, nullptr; }

Failed begin(void* graph, std::uint64_t pool, int mode) {
  Graph& g = of(graph);
  const OnDevice on(g.index);
  cudaStream_t stream = current_stream(g.index);
  if (recording[g.index])
    return fail(DeviceFailure::device, "expected no other capture in this thread, got one; end that one first");
  if (stream == default_stream(g.index))
    return fail(DeviceFailure::device,
                "expected another stream than the default one, whose work is not only this thread's; make a stream "
                "current before");
  g.pool = pool ? pool : new_pool();
  memory::hold(g.index, g.pool), memory::use(g.index, g.pool);
  void* numbers = nullptr;
  std::size_t capacity = 0;
  Failed f = memory::allocate(g.index, stream, 2 * sizeof(std::uint64_t), &numbers, &capacity);
  g.numbers = static_cast<std::uint64_t*>(numbers);
  count_capture(g.index, 1);
  if (!f) f = failed(cudaStreamBeginCapture(stream, cudaStreamCaptureMode(mode)), "capture");
  if (!f) return g.stream = stream, recording[g.index] = &g, nullptr;
  count_capture(g.index, -1), memory::use(g.index, 0);
  reset(graph);
  return f;
}

// Ends the recording, also a failed one.
cudaError_t finish(Graph& g, cudaGraph_t* made) {
  const OnDevice on(g.index);
  recording[g.index] = nullptr, memory::use(g.index, 0);
  const cudaError_t e = cudaStreamEndCapture(std::exchange(g.stream, nullptr), made);
  count_capture(g.index, -1);
  return e;
}
Failed end(void* graph) {
  Graph& g = of(graph);
  if (recording[g.index] != &g)
    return fail(DeviceFailure::device, "expected the thread in which the capture began, got another; end it there");
  if (current_stream(g.index) != g.stream)
    return fail(DeviceFailure::device,
                "expected the stream on which the capture began to be current, got another; make it current again");
  cudaGraph_t made = nullptr;
  Failed f = failed(finish(g, &made), "capture");
  if (!f) f = failed(cudaGraphInstantiate(&g.ready, made, 0), "capture");
  if (made) discard(cudaGraphDestroy(made));
  if (f) reset(graph);
  return f;
}
void abort(void* graph) {
  Graph& g = of(graph);
  if (recording[g.index] != &g) return;
  cudaGraph_t made = nullptr;
  if (finish(g, &made) != cudaSuccess) cudaGetLastError();
  if (made) discard(cudaGraphDestroy(made));
  reset(graph);
}
void destroy(void* graph) {
  abort(graph), reset(graph);
  delete &of(graph);
}

Failed replay(void* graph, const std::uint64_t* numbers) {
  Graph& g = of(graph);
  const OnDevice on(g.index);
  cudaStream_t stream = current_stream(g.index);
  if (!g.ready) return fail(DeviceFailure::device, "expected a graph with a capture, got one without; capture first");
  if (capturing_on(g.index, stream))
    return fail(DeviceFailure::device, "expected no replay while another graph is captured; replay it before or after");
  if (g.last && g.last != stream)
    if (Failed f = event::order(g.index, g.last, stream)) return f;
  g.last = stream;
  if (numbers) {
    write_numbers(g.numbers, numbers[0], numbers[1], stream);
    NEURA_CUDA_TRY(cudaGetLastError(), "replay");
  }
  return failed(cudaGraphLaunch(g.ready, stream), "replay");
}

}  // namespace

const std::uint64_t* replay_offset(int index) { return recording[index] ? recording[index]->numbers : nullptr; }

const GraphApi& graphs() {
  static const GraphApi table = {.create = create,
                                 .destroy = destroy,
                                 .begin = begin,
                                 .end = end,
                                 .abort = abort,
                                 .replay = replay,
                                 .reset = reset,
                                 .pool = [](void* graph) { return of(graph).pool; },
                                 .new_pool = new_pool,
                                 .capturing = capturing};
  return table;
}

}  // namespace neura::cuda
