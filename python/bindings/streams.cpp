// Streams, events, graphs and the allocator, as neura.cuda has them, and the methods of tensors that go with them.
#include "common.h"
#include "neura/cuda/graph.h"
#include "neura/cuda/memory.h"
#include "neura/surface/options.h"

namespace neura::python {
namespace {

using cuda::Event;
using cuda::Graph;
using cuda::Stream;
using MaybeDevice = std::optional<Device>;

Device or_current(const MaybeDevice& d) { return d ? *d : cuda::current_device(); }
std::string name_of(const Stream& s) {
  return "<neura.cuda.Stream device=" + s.device().str() +
         " cuda_stream=" + std::to_string(reinterpret_cast<std::uintptr_t>(s.handle())) + ">";
}
std::uintptr_t number(void* handle) { return reinterpret_cast<std::uintptr_t>(handle); }

void bind_stream(nb::module_& m) {
  nb::class_<Stream>(
      m, "Stream",
      "A stream, a queue of a device's work: neura.cuda.Stream(device=None, priority=0). Work is queued on "
      "it inside `with neura.cuda.stream(s):`. Lower priorities go first; -1 goes before 0.")
      .def(
          "__init__",
          [](Stream* self, const MaybeDevice& device, int priority) {
            new (self) Stream(or_current(device), priority);
          },
          "device"_a = nb::none(), "priority"_a = 0)
      .def("synchronize", &Stream::synchronize, "Waits until all its work is done.")
      .def("query", &Stream::query, "Is all its work done?")
      .def("wait_event", &Stream::wait_event, "event"_a, "What it is given from now on waits for the event.")
      .def("wait_stream", &Stream::wait_stream, "stream"_a,
           "What it is given from now on waits for all that the other stream was given so far.")
      .def(
          "record_event",
          [](const Stream& s, std::optional<Event> event) {
            Event e = event ? *event : Event();
            e.record(s);
            return e;
          },
          "event"_a = nb::none(), "Records an event, or a new one, and returns it.")
      .def_prop_ro("device", &Stream::device)
      .def_prop_ro("device_index", [](const Stream& s) { return int(s.device().index); })
      .def_prop_ro("priority", &Stream::priority)
      .def_prop_ro("cuda_stream", [](const Stream& s) { return number(s.handle()); })
      .def(
          "__eq__", [](const Stream& a, const Stream& b) { return a == b; }, nb::is_operator())
      .def("__hash__", [](const Stream& s) { return number(s.handle()); })
      .def("__repr__", &name_of);
}

void bind_event(nb::module_& m) {
  nb::class_<Event>(m, "Event",
                    "A mark in a stream's work: neura.cuda.Event(enable_timing=False, blocking=False). Streams and the "
                    "host wait for it, and two with enable_timing tell the time between.")
      .def(
          "__init__",
          [](Event* self, bool timing, bool blocking, bool interprocess) {
            check<NotImplementedError>(!interprocess, [] {
              return "Event: expected interprocess=False, got True; events of one process only are there";
            });
            new (self) Event({.enable_timing = timing, .blocking = blocking});
          },
          "enable_timing"_a = false, "blocking"_a = false, "interprocess"_a = false)
      .def(
          "record", [](Event& e, std::optional<Stream> s) { s ? e.record(*s) : e.record(); }, "stream"_a = nb::none(),
          "Marks where the stream, or else the current one, is now.")
      .def(
          "wait", [](const Event& e, std::optional<Stream> s) { s ? e.wait(*s) : e.wait(); }, "stream"_a = nb::none(),
          "Lets the stream, or else the current one, wait for it.")
      .def("query", &Event::query, "Is all done that stood before it? Yes, until it is recorded.")
      .def("synchronize", &Event::synchronize, "Waits until it is reached.")
      .def("elapsed_time", &Event::elapsed_time, "end_event"_a, "Milliseconds from this event to the other one.")
      .def_prop_ro("cuda_event", [](const Event& e) { return number(e.handle()); });
}

cuda::CaptureMode mode_of(const std::string& text) {
  if (text == "global") return cuda::CaptureMode::global;
  if (text == "thread_local") return cuda::CaptureMode::thread_local_;
  check<ValueError>(text == "relaxed", [&] {
    return "capture_error_mode: expected \"global\", \"thread_local\" or \"relaxed\", got \"" + text + "\"";
  });
  return cuda::CaptureMode::relaxed;
}
void bind_graph(nb::module_& m) {
  nb::class_<Graph>(m, "CUDAGraph",
                    "Work of a device that is captured once and launched as a whole. Capture it inside `with "
                    "neura.cuda.graph(g):`, copy new values into the tensors it read, and call g.replay().")
      .def(
          "__init__", [](Graph* self, bool) { new (self) Graph(); }, "keep_graph"_a = false)
      .def(
          "capture_begin",
          [](Graph& g, std::optional<cuda::GraphPool> pool, const std::string& mode) {
            g.capture_begin(pool.value_or(0), mode_of(mode));
          },
          "pool"_a = nb::none(), "capture_error_mode"_a = "relaxed",
          "From here the current stream's work is recorded and not done. pool: another graph's pool(), or "
          "graph_pool_handle(), for graphs that are replayed in the order of their captures.")
      .def("capture_end", &Graph::capture_end, "Ends the capture; the graph can then be replayed.")
      .def("capture_abort", &Graph::capture_abort, "Ends the capture and forgets what was recorded.")
      .def("replay", &Graph::replay, "Launches what was captured on the current stream.")
      .def("reset", &Graph::reset, "Gives the graph and its memory back; it can capture again.")
      .def("pool", &Graph::pool, "The pool that its memory comes from, for another graph's capture.");
  m.def("graph_pool_handle", &cuda::new_graph_pool);
  m.def(
      "capturing", [](const MaybeDevice& d) { return cuda::is_current_stream_capturing(or_current(d)); },
      "device"_a = nb::none());
}

nb::dict stats_of(Device d) {
  const cuda::MemoryStats s = cuda::memory_stats(d);
  nb::dict all;
  all["allocated"] = s.allocated, all["allocated_peak"] = s.allocated_peak, all["reserved"] = s.reserved;
  all["reserved_peak"] = s.reserved_peak, all["waiting"] = s.waiting, all["largest_free"] = s.largest_free;
  all["limit"] = s.limit, all["allocations"] = s.allocations, all["hits"] = s.hits, all["misses"] = s.misses;
  all["retries"] = s.retries, all["failures"] = s.failures, all["segments_taken"] = s.taken;
  all["segments_given"] = s.given;
  return all;
}
nb::list snapshot_of(Device d) {
  nb::list segments;
  for (const cuda::MemorySegment& s : cuda::memory_snapshot(d)) {
    nb::list blocks;
    for (const auto& b : s.blocks) {
      nb::dict block;
      block["address"] = reinterpret_cast<std::uintptr_t>(b.data), block["size"] = b.size;
      block["state"] = b.used ? "active_allocated" : "inactive";
      blocks.append(block);
    }
    nb::dict segment;
    segment["device"] = int(d.index), segment["address"] = reinterpret_cast<std::uintptr_t>(s.data);
    segment["total_size"] = s.size, segment["allocated_size"] = s.used, segment["stream"] = number(s.stream);
    segment["segment_pool_id"] = s.pool, segment["blocks"] = blocks;
    segments.append(segment);
  }
  return segments;
}

}  // namespace

Tensor pinned(bool pin_memory, const Tensor& made) { return surface::pinned(pin_memory, made); }

void bind_streams(nb::module_& m) {
  bind_stream(m), bind_event(m), bind_graph(m);
  m.def("current_device", [] { return int(cuda::current_device().index); });
  m.def("set_device", &cuda::set_device, "device"_a);
  m.def(
      "current_stream", [](const MaybeDevice& d) { return cuda::current_stream(or_current(d)); },
      "device"_a = nb::none());
  m.def(
      "default_stream", [](const MaybeDevice& d) { return cuda::default_stream(or_current(d)); },
      "device"_a = nb::none());
  m.def("set_stream", &cuda::set_stream, "stream"_a);
  m.def("stats", &stats_of, "device"_a);
  m.def("snapshot", &snapshot_of, "device"_a);
  m.def("summary", &cuda::memory_summary, "device"_a);
  m.def("set_fraction", &cuda::set_per_process_memory_fraction, "fraction"_a, "device"_a);
}

void bind_pinned(const Names& n) {
  n.method(
      "record_stream", [](const Tensor& x, const Stream& s) { cuda::record_stream(x, s); }, "self"_a, "stream"_a);
}

}  // namespace neura::python
