#include "neura/profile/profile.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <optional>

#include "neura/autograd/run.h"
#include "neura/core/graph_api.h"
#include "neura/core/memory.h"
#include "neura/core/state.h"
#include "neura/cuda/event.h"
#include "neura/cuda/stream.h"
#include "neura/op/apply.h"

namespace neura::profiler {
namespace {

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
Device device_of(const Call& call) {
  for (int i = 0; i < call.inputs; ++i)
    if (call.in[i].is_tensor()) return call.in[i].tensor->spec.device;
  return {};
}
// Bytes that are allocated on a device; of the CPU's small blocks, those that this thread took less those it gave back.
std::int64_t allocated(Device d) {
  if (!d.is_cpu()) return std::int64_t(memory_allocated(d));
  std::int64_t bytes = std::int64_t(memory::pages().live);
  for (int c = 0; c < memory::kClasses; ++c)
    bytes += state.cache->list[c].live.load(std::memory_order_relaxed) * std::int64_t(memory::class_size(c));
  return bytes;
}
constexpr cuda::EventOptions kTimed{.enable_timing = true};

// A moment of a device that the host's clock knows, too.
struct Anchor {
  cuda::Event event{kTimed};
  std::int64_t time;
  explicit Anchor(Device d) {
    cuda::synchronize(d);
    event.record(cuda::current_stream(d)), event.synchronize();
    time = now();
  }
};

thread_local Recorder* recorder = nullptr;
std::atomic<std::uint32_t> profiles{0};

}  // namespace

struct Recorder {
  struct CallObserver : Interceptor {
    explicit CallObserver(Recorder& r) : recorder(r) {}
    void call(Call& c) override { recorder.record(c); }
    Recorder& recorder;
  };
  struct Entry {
    const char* name;
    Event::Kind kind;
    bool backward;
    Device device;
    std::int64_t begin, end, bytes;
    std::int32_t operands, device_time;  // -1: none
    std::int32_t operand_count;
  };
  class Entries {  // they never move: a profile of millions is not copied while it grows
   public:
    Entry& operator[](std::size_t i) const { return blocks_[i / kBlock][i % kBlock]; }
    std::size_t size() const { return size_; }
    void push_back(const Entry& e) {
      if (size_ % kBlock == 0) blocks_.push_back(std::make_unique<Entry[]>(kBlock));
      ++size_, (*this)[size_ - 1] = e;
    }

   private:
    static constexpr std::size_t kBlock = 1024;
    std::vector<std::unique_ptr<Entry[]>> blocks_;
    std::size_t size_ = 0;
  };
  struct DeviceTime {
    cuda::Event begin{kTimed}, end{kTimed};
  };

  explicit Recorder(Options o) : options(o), number(++profiles) { recorder = this, watch.emplace(*this); }
  void stop() {
    watch.reset(), recorder = nullptr;
    const std::int64_t t = now();
    for (std::size_t i = 0; i < entries.size(); ++i)
      if (entries[i].end < 0) entries[i].end = t;  // a range that is open
  }

  std::size_t open(const char* name, Event::Kind kind, Device device) {
    entries.push_back({name, kind, current_backward() != 0, device, 0, -1, 0, -1, -1, 0});
    return entries.size() - 1;
  }
  void note_operands(Entry& e, const Call& call) {
    e.operands = std::int32_t(operands.size());
    for (int i = 0; i < call.inputs; ++i)
      if (call.in[i].is_tensor()) operands.push_back({call.in[i].tensor->spec.dtype, call.in[i].tensor->spec.sizes()});
    e.operand_count = std::int32_t(operands.size()) - e.operands;
  }
  bool begin_device(Entry& e) {
    if (!options.devices || !e.device.is_cuda() || is_captured(e.device)) return false;
    anchors.try_emplace(int(e.device.index), e.device);
    e.device_time = std::int32_t(device_times.size());
    device_times.emplace_back().begin.record(cuda::current_stream(e.device));
    return true;
  }
  void record(Call& c) {
    const std::size_t at = open(c.row->name, Event::operation, device_of(c));
    if (options.shapes) note_operands(entries[at], c);
    const bool timed = begin_device(entries[at]);
    const std::int64_t before = options.memory ? allocated(entries[at].device) : 0;
    {
      struct Close {  // after an error, too
        Entry& e;
        ~Close() { e.end = now(); }
      } close{entries[at]};  // it stays there: what runs below is not seen here
      entries[at].begin = now();
      apply(c);
    }
    Entry& e = entries[at];
    if (options.memory) e.bytes = allocated(e.device) - before;
    if (timed) device_times[std::size_t(e.device_time)].end.record(cuda::current_stream(e.device));
  }
  Event event(const Entry& e) const {
    Event v{e.name, e.kind, e.backward, e.device, e.begin, e.end, -1, 0, e.bytes, {}};
    for (int i = 0; i < e.operand_count; ++i) v.operands.push_back(operands[std::size_t(e.operands + i)]);
    if (e.device_time < 0) return v;
    const DeviceTime& d = device_times[std::size_t(e.device_time)];
    if (!d.end.recorded()) return v;  // of an operation that failed
    const Anchor& anchor = anchors.at(int(e.device.index));
    d.end.synchronize();
    v.device_begin = anchor.time + std::int64_t(anchor.event.elapsed_time(d.begin) * 1e6);
    v.device_end = v.device_begin + std::int64_t(d.begin.elapsed_time(d.end) * 1e6);
    return v;
  }

  std::optional<CallObserver> watch;  // until it is stopped
  const Options options;
  const std::uint32_t number;
  Entries entries;
  std::vector<Event::Operand> operands;
  std::deque<DeviceTime> device_times;
  std::map<int, Anchor> anchors;
  std::deque<std::string> names;  // of ranges: entries point there
};

Profile::Profile(Options o) {
  check<ValueError>(!recorder, [] {
    return std::string(
        "profile: expected no other profile on this thread, got one inside of it; stop() that one first");
  });
  recorder_ = std::make_unique<Recorder>(o);
}
Profile::~Profile() {
  if (!recorder_ || !recorder_->watch) return;
  if (recorder == recorder_.get() && state.top == &*recorder_->watch) recorder_->stop();
  else static_cast<void>(recorder_.release());  // on another thread, or below a mode that lasts: it must stay
}
void Profile::stop() {
  if (!recorder_->watch) return;
  check<ValueError>(recorder == recorder_.get(), [] {
    return std::string("profile: expected stop() on the thread that it records, got another thread");
  });
  check<ValueError>(state.top == &*recorder_->watch, [] {
    return std::string(
        "profile: expected the modes that began inside of it to be over, got one that is not; stop() it "
        "after them");
  });
  recorder_->stop();
}
std::vector<Event> Profile::events() const {
  std::vector<Event> all;
  all.reserve(recorder_->entries.size());
  for (std::size_t i = 0; i < recorder_->entries.size(); ++i) all.push_back(recorder_->event(recorder_->entries[i]));
  return all;
}

std::uint64_t begin_range(std::string name, Event::Kind kind) {
  if (!recorder) return 0;
  const std::size_t at = recorder->open(recorder->names.emplace_back(std::move(name)).c_str(), kind, {});
  recorder->entries[at].begin = now();
  return std::uint64_t{recorder->number} << 32 | at;
}
void end_range(std::uint64_t r) {
  if (r && recorder && r >> 32 == recorder->number) recorder->entries[std::size_t(r & 0xffffffff)].end = now();
}

}  // namespace neura::profiler
