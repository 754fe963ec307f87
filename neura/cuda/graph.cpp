#include "neura/cuda/graph.h"

#include <optional>
#include <utility>
#include <vector>

#include "neura/cuda/tables.h"

namespace neura::cuda {
namespace {

// The offsets of n draws in a row. Another thread may draw between: then those are left out.
GeneratorState reserve(Generator& g, std::uint64_t n) {
  for (;;) {
    const GeneratorState first = g.reserve();
    std::uint64_t last = first.offset;
    for (std::uint64_t i = 1; i < n; ++i) last = g.reserve().offset;
    if (last == first.offset + n - 1) return first;
  }
}

}  // namespace

struct Graph::Parts {
  Device device;
  void* handle = nullptr;
  GeneratorState before{};  // of the default generator, when the capture began
  std::uint64_t draws = 0;  // that the capture made
  bool recording = false, captured = false;
  std::vector<std::function<void()>> hooks;  // called before every replay
  std::optional<Stream> last;                // where it was replayed, if there are hooks
  explicit Parts(Device d) : device(d) { throw_failure(graphs_of(d).create(d.index, &handle), "graph"); }
  Parts(const Parts&) = delete;
  ~Parts() {
    if (now == this) now = nullptr;
    api().destroy(handle);
  }
  static thread_local Parts* now;  // what this thread captures
  const GraphApi& api() const { return graphs_of(device); }
};

thread_local Graph::Parts* Graph::Parts::now = nullptr;

Graph::Graph(Device d) : parts_(std::make_unique<Parts>(d)) {}
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

void Graph::capture_begin(GraphPool pool, CaptureMode mode) {
  Parts& p = *parts_;
  check<ValueError>(!p.captured, [] {
    return "capture_begin: expected a graph without a capture, got one that has; call reset() first";
  });
  throw_failure(p.api().begin(p.handle, pool, int(mode)), "capture_begin");
  p.recording = true, p.before = default_generator().state(), Parts::now = &p, p.hooks.clear();
}
void Graph::capture_end() {
  Parts& p = *parts_;
  check<ValueError>(p.recording,
                    [] { return "capture_end: expected a capture that began; call capture_begin() first"; });
  const Failed f = p.api().end(p.handle);
  if (f && p.api().pool(p.handle)) throw_failure(f, "capture_end");  // it continues: it was called at another place
  p.recording = false, Parts::now = nullptr;
  throw_failure(f, "capture_end");
  const GeneratorState after = default_generator().state();
  p.draws = after.offset - p.before.offset, p.captured = true;
}
void Graph::capture_abort() {
  if (!std::exchange(parts_->recording, false)) return;
  Parts::now = nullptr, parts_->hooks.clear();
  parts_->api().abort(parts_->handle);
}

void Graph::replay() {
  Parts& p = *parts_;
  check<ValueError>(p.captured,
                    [] { return "replay: expected a graph with a capture, got one without; capture first"; });
  if (!p.hooks.empty()) {
    const Stream here = current_stream(p.device);
    if (p.last && *p.last != here) here.wait_stream(*p.last);  // what the hooks write may still be read there
    p.last = here;
    for (const auto& f : p.hooks) f();
  }
  std::uint64_t numbers[2];
  if (p.draws) {
    const GeneratorState now = reserve(default_generator(), p.draws);
    numbers[0] = now.offset - p.before.offset, numbers[1] = now.seed ^ p.before.seed;
  }
  throw_failure(p.api().replay(p.handle, p.draws ? numbers : nullptr), "replay");
}
void Graph::replay_shifted(std::uint64_t offset, std::uint64_t seed) {
  check<ValueError>(parts_->captured,
                    [] { return "replay: expected a graph with a capture, got one without; capture first"; });
  const std::uint64_t numbers[] = {offset, seed};
  throw_failure(parts_->api().replay(parts_->handle, numbers), "replay");
}
void Graph::reset() {
  capture_abort();
  Parts& p = *parts_;
  p.api().reset(p.handle);
  p.captured = false, p.draws = 0, p.hooks.clear(), p.last.reset();
}
bool Graph::captured() const { return parts_->captured; }
GraphPool Graph::pool() const { return parts_->api().pool(parts_->handle); }
Device Graph::device() const { return parts_->device; }

Graph::Capture::Capture(Graph& g, GraphPool pool, CaptureMode mode)
    : graph(g), before(current_stream(g.device())), side(g.device()) {
  side.wait_stream(before);
  set_stream(side);
  try {
    g.capture_begin(pool, mode);
  } catch (...) {
    set_stream(before);
    throw;
  }
}
Graph::Capture::~Capture() {
  graph.capture_abort();
  set_stream(before);
}

void on_replay(std::function<void()> f) {
  check<ValueError>(Graph::Parts::now, [] {
    return "on_replay: expected a capture by this thread, got none; call it while one is active";
  });
  Graph::Parts::now->hooks.push_back(std::move(f));
}
GraphPool new_graph_pool() { return graphs_of(current_device()).new_pool(); }
bool is_current_stream_capturing(Device d) { return device_count() && graphs_of(d).capturing(d.index); }

}  // namespace neura::cuda
