#include "neura/graph/automatic_replay.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "neura/core/graph_api.h"
#include "neura/core/settings.h"
#include "neura/core/wrapped.h"
#include "neura/graph/stretch_graph.h"
#include "neura/op/launch.h"
#include "neura/op/registry.h"

namespace neura::graph {
namespace {

constexpr std::size_t kLeast = 4, kMost = 8192;  // launches of a stretch
constexpr int kSightings = 2, kFailures = 3, kPause = 32;
constexpr std::size_t kMostPrograms = 32, kMostSeen = 512;
constexpr double kLaunchSeconds = 4e-6;                   // of the host
constexpr std::size_t kMostBytes = std::size_t{1} << 28;  // of a stretch's results, which a graph may have to keep

struct Counts {
  std::mutex mutex;
  ReplayCounts counts;
};
Counts& counts() {
  static Counts* const c = new Counts;  // threads may outlive static objects
  return *c;
}

class LaunchReplay final : public LaunchObserver {
 public:
  ~LaunchReplay() {
    try {
      leave("the end of the thread");
    } catch (...) {  // raised again by who reads a result
    }
  }
  bool takes(Call&, const Spec* results) override;
  void flush(const char* why) override;
  void boundary() override;
  void forget() override;

 private:
  struct Program {
    std::shared_ptr<Stretch> stretch;
    std::unique_ptr<StretchGraph> graph;
    std::uint64_t key;
    int failures = 0;
  };
  using Programs = std::vector<std::unique_ptr<Program>>;

  static bool is_known_memory(const TensorImpl*);
  static bool can_wait(const Call&, const Spec* results, Device&);
  static bool only_sends(const Call&);
  bool start(Call&, const Spec* results, std::uint64_t hash, Device);
  bool go_on(Call&, const Spec* results, std::uint64_t hash);
  bool change(Call&, const Spec* results, std::uint64_t hash);
  bool is_waiting();  // no thread has needed a value of the run
  void complete();
  void leave(const char* why);
  void leave_for_another();
  void failed();
  void begin_log(bool at_boundary) { log_.clear(), seconds_ = 0, bytes_ = 0, aligned_ = at_boundary; }
  void learn();

  Programs programs_;  // the one that was replayed last is the first
  std::unordered_map<std::uint64_t, int> seen_;
  std::shared_ptr<StretchRun> run_;  // of the first program, while launches wait
  std::size_t waited_ = 0;           // how many
  std::vector<std::uint64_t> log_;   // hashes of launches since the last boundary
  Device device_;
  std::uint64_t modes_ = 0;
  double seconds_ = 0;     // that a device needs for them
  std::size_t bytes_ = 0;  // of their results
  bool aligned_ = true;    // the log began at a boundary
  std::vector<std::uint64_t> scratch_;
};

const std::thread::id main_thread = std::this_thread::get_id();  // that loads this library

std::shared_ptr<Stretch> unwritten(const Stretch& s) {
  auto fresh = std::make_shared<Stretch>();
  fresh->device = s.device, fresh->modes = s.modes, fresh->hashes = s.hashes;
  fresh->seconds = s.seconds, fresh->bytes = s.bytes;
  return fresh;
}

LaunchReplay& of_this_thread() {
  struct Owner {
    std::unique_ptr<LaunchReplay> own = std::make_unique<LaunchReplay>();
    ~Owner() {
      state.active |= kUnobserved;
      // At the end of the process the driver goes, too.
      if (std::this_thread::get_id() == main_thread) static_cast<void>(own.release());
    }
  };
  static thread_local Owner owner;
  return *owner.own;
}
LaunchObserver& observer() { return of_this_thread(); }

// Its bytes are waited for, or nobody but operations reads and writes them.
bool LaunchReplay::is_known_memory(const TensorImpl* t) {
  const Storage* s = t->storage;
  if (wrapped(t) || s->exposed) return false;
  if (const Ref<Promise> p = promise_of(t->storage)) {
    if (dynamic_cast<const LaunchResult*>(p.get())) return true;
    settle(t->storage);
  }
  return has_kept_bytes(s);
}

bool LaunchReplay::can_wait(const Call& c, const Spec* results, Device& device) {
  const Row& row = *c.row;
  if (state.active & (kDeferred | kAnomaly) || row.is_dynamic || row.across_devices || c.generator) return false;
  if (row.kind == Row::pointwise && row.types.divides) return false;  // integers: whether one is 0 is read
  if (!is_of_the_library(row)) return false;
  auto is_there = [&, first = true](Device d) mutable {
    if (std::exchange(first, false)) device = d;
    return d.is_cuda() && d == device;
  };
  for (int k = 0; c.destination == Destination::fresh && k < row.outputs; ++k)
    if (!is_there(results[k].device)) return false;
  if (c.destination != Destination::fresh && (!is_there(c.out[0].device()) || !is_known_memory(c.out[0].impl())))
    return false;
  for (int i = 0; i < c.inputs; ++i)
    if (c.in[i].is_tensor() && (!is_there(c.in[i].tensor->spec.device) || !is_known_memory(c.in[i].tensor)))
      return false;
  if (!is_captured(device)) return true;
  for (int i = 0; i < c.inputs; ++i)  // the program's own graph has their addresses
    if (c.in[i].is_tensor() && is_lent(c.in[i].tensor->storage)) c.in[i].tensor->storage->exposed = true;
  return false;
}

// From memory of the host into fresh memory: what waits has no part in it.
bool LaunchReplay::only_sends(const Call& c) {
  if (c.destination != Destination::fresh || c.row->written_inputs) return false;
  for (int i = 0; i < c.inputs; ++i)
    if (c.in[i].is_tensor() && !c.in[i].tensor->spec.device.is_cpu()) return false;
  return true;
}

bool LaunchReplay::takes(Call& c, const Spec* results) {
  if (run_ && !is_waiting()) run_.reset(), begin_log(true);        // a value was needed
  if (!run_ && !aligned_ && !c.row->across_devices) return false;  // until the next boundary
  Device device;
  if (!can_wait(c, results, device)) {
    if (c.row->across_devices && only_sends(c)) return false;
    return flush(c.row->name), false;
  }
  const std::uint64_t hash = hash_of(c, scratch_);
  if (run_) {
    if (device == run_->stretch->device && (go_on(c, results, hash) || change(c, results, hash))) return true;
    leave_for_another();
  }
  if (aligned_ && log_.empty() && start(c, results, hash, device)) return true;
  const std::uint64_t modes = kernel_modes();
  if (!log_.empty() && (device != device_ || modes != modes_)) return begin_log(false), false;
  device_ = device, modes_ = modes;
  for (int k = 0; c.destination == Destination::fresh && k < c.row->outputs; ++k) bytes_ += results[k].bytes();
  if (log_.size() < kMost && bytes_ <= kMostBytes) log_.push_back(hash), seconds_ += device_time(c, results);
  else begin_log(false);
  return false;
}

bool LaunchReplay::is_waiting() {
  const StretchRun::Lock lock = run_->lock();
  return run_->waiting() == waited_;
}

bool LaunchReplay::start(Call& c, const Spec* results, std::uint64_t hash, Device device) {
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    Program& p = *programs_[i];
    if (p.stretch->hashes[0] != hash || p.stretch->device != device) continue;
    if (!p.stretch->is_complete()) p.stretch = unwritten(*p.stretch);
    run_ = std::make_shared<StretchRun>(p.stretch), waited_ = 0;
    std::swap(programs_[0], programs_[i]);
    if (go_on(c, results, hash)) return true;
    run_.reset();
  }
  return false;
}

bool LaunchReplay::go_on(Call& c, const Spec* results, std::uint64_t hash) {
  {
    const StretchRun::Lock lock = run_->lock();
    if (run_->waiting() != waited_ || run_->stretch->modes != kernel_modes() || !run_->take(c, results, hash))
      return false;
  }
  if (++waited_ == run_->stretch->hashes.size()) complete();
  return true;
}

// Another stretch that begins with the same launches.
bool LaunchReplay::change(Call& c, const Spec* results, std::uint64_t hash) {
  for (std::size_t i = 1; i < programs_.size() && is_waiting(); ++i) {
    const std::shared_ptr<Stretch> now = run_->stretch;
    std::shared_ptr<Stretch>& s = programs_[i]->stretch;
    if (s->device != now->device || s->modes != now->modes || s->hashes.size() <= waited_ ||
        s->hashes[waited_] != hash ||
        !std::equal(s->hashes.begin(), s->hashes.begin() + std::ptrdiff_t(waited_), now->hashes.begin()))
      continue;
    if (!s->is_complete()) s = unwritten(*s), s->begin_as(*now, waited_);
    if (!s->begins_as(*now, waited_)) continue;
    {
      const StretchRun::Lock lock = run_->lock();
      if (run_->waiting() != waited_) return false;
      run_->change_to(s);
    }
    std::swap(programs_[0], programs_[i]);
    if (go_on(c, results, hash)) return true;
  }
  return false;
}

void LaunchReplay::complete() {
  const std::shared_ptr<StretchRun> run = std::exchange(run_, nullptr);
  begin_log(true);
  Program& p = *programs_[0];
  const StretchRun::Lock lock = run->lock();
  if (run->waiting() != waited_) return;  // another thread has needed a value
  if (!device_api(p.stretch->device).graphs) return p.failures = 0, run->run_apart("the device has no graphs");
  if (!p.graph) p.graph = std::make_unique<StretchGraph>(p.stretch);
  if (p.graph->replay(*run)) return p.failures = 0, run->done();
  run->run_apart("launches that cannot be captured");
  failed();
}

void LaunchReplay::leave(const char* why) {
  if (!run_) return;
  const std::shared_ptr<StretchRun> run = std::exchange(run_, nullptr);
  const StretchRun::Lock lock = run->lock();
  run->run_apart(why);
}

// What has come so far may be the beginning of a stretch that is not known yet.
void LaunchReplay::leave_for_another() {
  const std::shared_ptr<const Stretch> s = run_->stretch;
  const bool waits = is_waiting();
  if (waits) leave("another launch than before"), failed();
  run_.reset(), begin_log(waits);
  if (!waits) return;
  const double share = double(waited_) / double(s->hashes.size());
  log_.assign(s->hashes.begin(), s->hashes.begin() + std::ptrdiff_t(waited_));
  device_ = s->device, modes_ = s->modes;
  seconds_ = s->seconds * share, bytes_ = std::size_t(double(s->bytes) * share);
}

// The first program was not what came.
void LaunchReplay::failed() {
  Program& p = *programs_[0];
  if (++p.failures < kFailures) return;
  seen_[p.key] = -kPause;
  programs_.erase(programs_.begin());
}

void LaunchReplay::flush(const char* why) {
  if (run_) {
    const bool waits = is_waiting();
    leave(why);
    if (waits) failed();
    return begin_log(true);
  }
  boundary();
}

void LaunchReplay::boundary() {
  if (run_) return flush("a boundary");
  learn();
  begin_log(true);
}

void LaunchReplay::forget() {
  flush("graphs are given back");
  programs_.clear(), seen_.clear();
}

void LaunchReplay::learn() {
  if (!aligned_ || log_.size() < kLeast || double(log_.size()) * kLaunchSeconds < seconds_ / 2) return;
  std::uint64_t key = modes_;
  for (const std::uint64_t h : log_) key = mixed_hash(key, h);
  if (seen_.size() >= kMostSeen) seen_.clear();
  if (++seen_[key] != kSightings) return;
  auto stretch = std::make_shared<Stretch>();
  stretch->device = device_, stretch->modes = modes_, stretch->hashes = log_;
  stretch->seconds = seconds_, stretch->bytes = bytes_;
  if (programs_.size() >= kMostPrograms) programs_.pop_back();
  programs_.insert(programs_.begin(), std::make_unique<Program>(Program{std::move(stretch), nullptr, key}));
  count_replays([](ReplayCounts& c) { ++c.stretches; });
}

void flush_from_outside() { flush_launches("an address is asked for"); }

[[maybe_unused]] const bool is_set_up = [] {
  detail::launch_observer = &observer, detail::before_access = &flush_from_outside;
  if (setting_on(Setting::replay, true)) automatic_replay(true);
  return true;
}();

}  // namespace

void automatic_replay(bool on) {
  if (!on) forget_launches();
  detail::launches_are_observed = on;
}
bool is_automatic_replay() { return detail::launches_are_observed; }

ReplayCounts replay_counts() {
  const std::lock_guard hold(counts().mutex);
  return counts().counts;
}
void reset_replay_counts() {
  count_replays([](ReplayCounts& c) { c = {}; });
}
void count_replays(const std::function<void(ReplayCounts&)>& change) {
  const std::lock_guard hold(counts().mutex);
  change(counts().counts);
}

}  // namespace neura::graph
