#include "neura/graph/stretch_run.h"

#include "neura/op/defer.h"

namespace neura::graph {
namespace {

class KeptVersions {
 public:
  explicit KeptVersions(const MemoryOfRun& memory) {
    for (const Ref<Storage>& s : memory)
      if (s) kept_.push_back({s, s->version, s->writer});
  }
  KeptVersions(const KeptVersions&) = delete;
  ~KeptVersions() {
    for (Kept& k : kept_) k.storage->version = k.version, k.storage->writer = k.writer;
  }

 private:
  struct Kept {
    Ref<Storage> storage;
    std::uint32_t version;
    const Row* writer;
  };
  std::vector<Kept> kept_;
};

}  // namespace

void LaunchResult::keep() {
  const std::shared_ptr<StretchRun> r = run;
  const StretchRun::Lock lock = r->lock();
  r->run_apart("a value is needed");
  r->rethrow();
}

StretchRun::StretchRun(std::shared_ptr<Stretch> s) : stretch(std::move(s)), memory_(stretch->memory.size()) {
  const EagerKernels eager;  // asks for a stream
  stream_ = cuda::current_stream(stretch->device);
}

StretchRun::~StretchRun() {
  const EagerKernels eager;
  stream_.reset();
}

StretchRun::Lock StretchRun::lock() { return lock_outside_interpreter(mutex_); }

MemoryId StretchRun::known(const Storage* s) const {
  for (std::size_t m = 0; m < memory_.size(); ++m)
    if (memory_[m].external.get() == s) return MemoryId(m);
  return kNoMemory;
}

// The memory that the stretch has there; kNoMemory: another one. Memory from outside is held from its first use.
MemoryId StretchRun::identify(const TensorImpl* t, MemoryId expected) {
  Storage* s = t->storage;
  if (const Ref<Promise> p = promise_of(s)) {
    const auto* result = dynamic_cast<const LaunchResult*>(p.get());
    if (!result || result->run.get() != this) return kNoMemory;
    return expected == kNoMemory || result->memory == expected ? result->memory : kNoMemory;
  }
  if (expected != kNoMemory && memory_[expected].external.get() == s) return expected;
  const MemoryId m = known(s);
  if (m != kNoMemory) return expected == kNoMemory ? m : kNoMemory;
  if (expected != kNoMemory) {
    if (!stretch->memory[expected].external || memory_[expected].external) return kNoMemory;
    memory_[expected].external = Ref<Storage>::share(s);
    return expected;
  }
  stretch->memory.push_back({.external = true});
  memory_.push_back({Ref<Storage>::share(s), {}});
  return MemoryId(memory_.size() - 1);
}

bool StretchRun::identify_all(const Call& c, bool writes_down) {
  const Launch* l = writes_down ? nullptr : &stretch->launches[next_];
  operands_.assign(std::size_t(c.inputs), kNoMemory), made_.clear();
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    if (!c.in[i].is_tensor()) continue;
    operands_[i] = identify(c.in[i].tensor, l ? l->in[i].memory : kNoMemory);
    if (operands_[i] == kNoMemory) return false;
  }
  if (c.destination == Destination::fresh) return true;
  made_.push_back(identify(c.out[0].impl(), l ? l->out[0].first : kNoMemory));
  return made_[0] != kNoMemory;
}

void StretchRun::make_results(Call& c, const Spec* results, bool writes_down) {
  for (int k = 0; k < c.row->outputs; ++k) {
    const MemoryId m = writes_down ? MemoryId(memory_.size()) : stretch->launches[next_].out[std::size_t(k)].first;
    if (writes_down) stretch->memory.emplace_back(), memory_.emplace_back();
    made_.push_back(m);
    const Spec& spec = results[k];
    const std::int64_t elements = spec.contiguous ? spec.numel : std::max(spec.numel, spec.span());
    Ref<LaunchResult> promise = Ref<LaunchResult>::adopt(new LaunchResult(shared_from_this(), m));
    Storage* s = promise_bytes(std::size_t(elements * size_of(spec.dtype)), spec.device, Ref<Promise>(promise));
    promise->promises(s);
    memory_[m].result = std::move(promise);
    c.out[k] = tensor_on(spec, Ref<Storage>::adopt(s));
    c.out[k].impl()->spec.offset = 0;
    c.out[k].impl()->inference = state.active & kInference;
  }
}

// What the dispatcher says of memory before a kernel writes it.
void StretchRun::count_writes(const Call& c) {
  if (c.destination != Destination::fresh) c.out[0].impl()->storage->count_write(c.row, c.out[0].impl()->unversioned);
  for (int i = 0; i < c.inputs; ++i) {
    if (!c.row->writes_input(i) || !c.in[i].is_tensor()) continue;
    TensorImpl* t = c.in[i].tensor;
    t->storage->count_write(c.row, t->unversioned), t->id = ++state.id;
  }
}

bool StretchRun::take(Call& c, const Spec* results, std::uint64_t hash) {
  const bool writes_down = !stretch->is_complete();
  if (writes_down ? hash != stretch->hashes[next_] : !stretch->has(next_, c, results, scratch_)) return false;
  if (!identify_all(c, writes_down)) return false;
  if (c.destination == Destination::fresh) make_results(c, results, writes_down);
  if (writes_down) stretch->add(c, results, operands_, made_);
  if (stretch->launches[next_].varies()) own_.emplace_back(next_, std::make_unique<OpMemory>(*c.row, c.op));
  count_writes(c);
  ++next_;
  return true;
}

void* StretchRun::attributes_of(std::size_t launch) const {
  for (const auto& [at, op] : own_)
    if (at == launch) return op->get();
  const auto& op = stretch->launches[launch].op;
  return op ? op->get() : nullptr;
}

void StretchRun::execute_one(std::size_t at, MemoryOfRun& memory, const Tensor& steps) const {
  const Launch& l = stretch->launches[at];
  std::vector<Operand> in(l.in.size());
  std::vector<Tensor> read(l.in.size());
  for (std::size_t i = 0; i < l.in.size(); ++i) {
    const LaunchOperand& o = l.in[i];
    if (o.kind == Operand::is_a_scalar) in[i] = Operand(o.scalar);
    if (o.kind == Operand::is_a_tensor) in[i] = Operand(read[i] = tensor_on(o.spec, memory[o.memory]));
  }
  if (steps) in[0] = Operand(steps);
  Tensor out[kMaxOutputs];
  if (l.destination != Destination::fresh) out[0] = tensor_on(l.out[0].second, memory[l.out[0].first]);
  Call call{l.row, attributes_of(at), in.data(), int(in.size()), out, l.destination};
  proceed(call);
  if (l.destination != Destination::fresh) return;
  for (std::size_t k = 0; k < l.out.size(); ++k) memory[l.out[k].first] = Ref<Storage>::share(out[k].impl()->storage);
}

void StretchRun::execute(MemoryOfRun& memory, const std::vector<bool>& kept, std::span<const Tensor> steps) {
  const KeptVersions versions(memory);
  for (std::size_t at = 0; at < next_; ++at) {
    execute_one(at, memory, at < steps.size() ? steps[at] : Tensor());
    const auto release = [&](MemoryId m) {
      const StretchMemory& s = stretch->memory[m];
      if (s.last == at && !s.external && !is_wanted(m) && !(m < kept.size() && kept[m])) memory[m] = {};
    };
    for (const LaunchOperand& o : stretch->launches[at].in)
      if (o.memory != kNoMemory) release(o.memory);
    for (const auto& [m, spec] : stretch->launches[at].out) release(m);
  }
}

void StretchRun::run_apart(const char* why) {
  if (!next_ || running_) return;
  running_ = true;
  struct Done {
    bool& running;
    ~Done() { running = false; }
  } end{running_};
  const EagerKernels eager;
  std::optional<cuda::StreamGuard> there;
  if (cuda::current_stream(stretch->device) != *stream_) there.emplace(*stream_);
  MemoryOfRun memory(memory_.size());
  for (std::size_t m = 0; m < memory.size(); ++m) memory[m] = memory_[m].external;
  try {
    execute(memory, {}, {});
  } catch (...) {
    error_ = std::current_exception();
  }
  for (std::size_t m = 0; m < memory.size(); ++m) {
    if (!memory_[m].result || !memory[m]) continue;
    const Ref<Storage> s = memory_[m].result->hold();
    if (!s) continue;
    const Tensor bytes = bytes_of(memory[m]);
    memory[m] = {};
    keep_promise(s.get(), bytes);
  }
  count_replays([&](ReplayCounts& c) { c.apart[why] += std::int64_t(next_); });
  done();
  if (error_) std::rethrow_exception(error_);
}

}  // namespace neura::graph
