// CUDA graphs: a step of work on the device is captured once and then launched as a whole, at the cost of one launch.
#pragma once
#include <functional>
#include <memory>

#include "neura/core/random.h"
#include "neura/cuda/stream.h"

namespace neura::cuda {

// global and thread_local_ refuse calls that may be unsafe during a capture, made by any thread or by this one.
enum class CaptureMode { global, thread_local_, relaxed };
// Memory that several graphs take turns in: they must be replayed in the order in which they were captured, and never
// at once. 0 is none.
using GraphPool = std::uint64_t;
GraphPool new_graph_pool();

// What is captured is replayed with the same memory: inputs are copied into the tensors that the capture read, and
// results are read from those that it made. While it lives, a graph keeps the memory that the capture allocated.
// Nothing in a capture may wait for the device (item(), printing, nonzero) or read memory of the host that is not
// pinned: such a call throws, and the capture is then over. Random numbers advance from replay to replay, as if each
// had been computed step by step: they are those of the default generator.
//
//   cuda::Graph graph;
//   graph.capture([&] { y = model(x); });
//   x.copy_(next), graph.replay();  // y holds the answer
class Graph {
 public:
  explicit Graph(Device = current_device());
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  ~Graph();

  // Records what f does on a stream of its own, which waits for the current one. What f throws ends the capture.
  template <class F> void capture(F&& f, GraphPool pool = 0, CaptureMode mode = CaptureMode::relaxed) {
    const Capture inside(*this, pool, mode);
    f();
    capture_end();
  }
  // By hand: begin and end are called with the same stream current, which is not the default one.
  void capture_begin(GraphPool pool = 0, CaptureMode mode = CaptureMode::relaxed);
  void capture_end();
  void capture_abort();  // forgets what was recorded

  void replay();  // on the current stream; CudaError before a capture
  // The same with draws whose numbers were reserved before the capture: how far their offsets have moved since, and
  // which bits of their seed are others.
  void replay_shifted(std::uint64_t offset, std::uint64_t seed);
  void reset();  // gives the graph and its memory back; it can capture again
  bool captured() const;
  GraphPool pool() const;
  Device device() const;

 private:
  friend void on_replay(std::function<void()>);
  struct Parts;
  struct Capture {  // a side stream, and the end of what was not ended
    Capture(Graph&, GraphPool, CaptureMode);
    Capture(const Capture&) = delete;
    ~Capture();
    Graph& graph;
    Stream before, side;
  };
  std::unique_ptr<Parts> parts_;
};

bool is_current_stream_capturing(Device = current_device());  // calls are recorded, not run
// For the graph that this thread captures now: `f` is called at the beginning of every replay, on the host, with the
// replay's stream current. It may copy new numbers to memory that the capture reads. ValueError outside of a capture.
void on_replay(std::function<void()> f);

}  // namespace neura::cuda
