#include "neura/graph/pending_calls.h"

#include <chrono>
#include <cstring>
#include <unordered_map>

#include "neura/graph/fused.h"
#include "neura/graph/passes.h"
#include "neura/graph/program_internal.h"
#include "neura/op/launch.h"
#include "neura/ops/create/copy.h"

namespace neura::graph {
namespace {

constexpr std::size_t kMostCalls = 128, kMostPlans = 512, kMostIdle = 16;
constexpr ValueId kMade = ValueId{1} << 31;

struct Shared {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, std::shared_ptr<const Plan>> plans;
  Explanation done;
  std::vector<std::shared_ptr<PendingCalls>> idle;
};
Shared& shared() {
  static Shared* const s = new Shared;  // windows may outlive static objects
  return *s;
}
std::uint64_t hash_of(const std::vector<std::uint64_t>& words) {
  std::uint64_t h = 0x9e3779b97f4a7c15;
  for (const std::uint64_t w : words) h = mixed_hash(h, w);
  return h;
}
double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

Explanation explanation() {
  const std::lock_guard hold(shared().mutex);
  return shared().done;
}
void forget_plans() {
  const std::lock_guard hold(shared().mutex);
  shared().plans.clear();
}
void reset_explanation() {
  const std::lock_guard hold(shared().mutex);
  shared().done = {};
}

void DelayedResult::keep() {
  const std::shared_ptr<PendingCalls> s = stream;
  const PendingCalls::Lock lock = s->lock();
  s->run("a value is read");
}
std::shared_ptr<PendingCalls> PendingCalls::make() {
  const std::lock_guard hold(shared().mutex);
  auto& idle = shared().idle;
  if (idle.empty()) return std::make_shared<PendingCalls>();
  std::shared_ptr<PendingCalls> s = std::move(idle.back());
  idle.pop_back();
  return s;
}
void PendingCalls::put_back(std::shared_ptr<PendingCalls> s) {
  if (s.use_count() != 1 || !s->empty()) return;
  const std::lock_guard hold(shared().mutex);
  if (shared().idle.size() < kMostIdle) shared().idle.push_back(std::move(s));
}

PendingCalls::Lock PendingCalls::lock() { return lock_outside_interpreter(mutex_); }

// Its bytes are shared until they are written (copy on write), so that they are kept for the calls that wait.
std::optional<ValueId> PendingCalls::outside(const TensorImpl* t) {
  Storage* s = t->storage;
  for (std::size_t i = outside_.size(); i-- > 0 && !s->exposed;) {  // by a pointer it may be written unseen
    const ExternalMemory& o = outside_[i];
    if (o.storage.get() == s && o.version == s->version && same_layout(o.tensor.spec(), t->spec)) return ValueId(i);
  }
  const bool alone = s->sharing.load(std::memory_order_acquire) == Storage::alone;
  Storage* mine = s->lazy_clone();
  const bool shares = mine;
  if (!mine) {
    if (!s->device.is_cpu() || s->bytes > std::size_t{1} << 14) return {};
    mine = Storage::make(s->bytes, s->device);
    std::memcpy(mine->data, s->data, s->bytes);
  }
  Tensor tensor = tensor_on(t->spec, Ref<Storage>::adopt(mine));
  outside_.push_back({Ref<Storage>::share(s), s->version, std::move(tensor), shares && alone});
  return ValueId(outside_.size() - 1);
}

ValueId PendingCalls::waiting(const TensorImpl* t) const {
  const Ref<Promise> p = promise_of(t->storage);
  const auto* mine = static_cast<const DelayedResult*>(p.get());
  if (!mine || mine->stream.get() != this || !same_layout(calls_[mine->call].result, t->spec)) return kNoValue;
  return kMade | ValueId(mine->call);
}

bool PendingCalls::operands(const Call& c) {
  if (calls_.size() >= kMostCalls) run("many calls wait");
  const std::size_t first = args_.size();
  const auto value = [&](TensorImpl* t) -> std::optional<ValueId> {
    if (!is_promise(t->storage)) return outside(t);
    const ValueId made = waiting(t);
    return made == kNoValue ? std::nullopt : std::optional(made);
  };
  for (int i = 0; i < c.inputs; ++i) {
    const Operand& o = c.in[i];
    if (o.is_scalar()) {
      args_.emplace_back(o.scalar);
    } else if (!o.is_tensor()) {
      args_.emplace_back();
    } else if (const auto v = value(o.tensor)) {
      args_.emplace_back(*v);
    } else {
      args_.resize(first);
      return false;
    }
  }
  return true;
}

void PendingCalls::push(const Call& c, const Spec& result, Ref<DelayedResult> promise) {
  const auto* attributes = static_cast<const double*>(c.op);
  calls_.push_back({c.row, {}, args_.size() - std::size_t(c.inputs), c.inputs, result, std::move(promise)});
  for (int i = 0; i < c.row->attributes.count; ++i) calls_.back().attributes[i] = attributes[i];
  if (is_conversion(*c.row)) {
    NEURA_ASSERT(c.row->op_bytes <= sizeof calls_.back().attributes);
    std::memcpy(calls_.back().attributes, c.op, c.row->op_bytes);
  }
  some_ = true;
}

Tensor PendingCalls::add(const Call& c, const Spec& result) {
  const Ref<DelayedResult> promise = Ref<DelayedResult>::adopt(new DelayedResult(shared_from_this(), calls_.size()));
  Storage* s = promise_bytes(result.bytes(), result.device, Ref<Promise>(promise));
  promise->promises(s);
  Tensor t = tensor_on(result, Ref<Storage>::adopt(s));
  t.impl()->spec.offset = 0;
  t.impl()->inference = state.active & kInference;
  push(c, result, promise);
  return t;
}

// The memory's bytes are those of the later call; the earlier one may still be read by calls between them.
bool PendingCalls::rewrite(const Call& c, const Spec& result) {
  TensorImpl* out = c.out[0].impl();
  const ValueId before = waiting(out);
  if (before == kNoValue) return false;
  Ref<DelayedResult> promise = std::move(calls_[before & ~kMade].promise);
  promise->call = calls_.size();
  push(c, result, std::move(promise));
  out->storage->count_write(c.row, out->unversioned);
  return true;
}

Program PendingCalls::program(const std::vector<std::size_t>& wanted) const {
  Program p;
  const auto id = [&](ValueId v) { return v & kMade ? ValueId(outside_.size() + (v & ~kMade)) : v; };
  for (const ExternalMemory& o : outside_) p.externals.emplace_back(), p.values.push_back(o.tensor.spec());
  for (const DelayedCall& w : calls_) {
    Node n;
    n.row = w.row, n.op = std::make_shared<OpMemory>(*w.row, w.attributes);
    for (int i = 0; i < w.inputs; ++i) {
      const Arg& a = args_[w.first + std::size_t(i)];
      n.in.push_back(a.is_value() ? Arg(id(a.id)) : a);
    }
    n.out = {ValueId(p.values.size())};
    p.values.push_back(w.result), p.nodes.push_back(std::move(n));
  }
  for (const std::size_t w : wanted) p.outputs.push_back(ValueId(outside_.size() + w));
  return optimized(without_dead(p));
}

// All that a plan depends on.
void PendingCalls::write_key(const std::vector<std::size_t>& wanted) {
  key_.clear();
  key_.push_back(outside_.size()), key_.push_back(calls_.size());
  for (const ExternalMemory& o : outside_) {
    const Spec& s = o.tensor.spec();
    key_.push_back(std::uint64_t(s.device.type) << 32 | std::uint64_t(s.device.index) << 16 |
                   std::uint64_t(s.dtype) << 8 | s.rank);
    for (int d = 0; d < s.rank; ++d)
      key_.push_back(std::uint64_t(s.shape[d])), key_.push_back(std::uint64_t(s.strides[d]));
  }
  for (const DelayedCall& w : calls_) {
    key_.push_back(reinterpret_cast<std::uintptr_t>(w.row)), key_.push_back(std::uint64_t(w.result.dtype));
    for (int i = 0; i < w.row->attributes.count || (i == 0 && is_conversion(*w.row)); ++i)
      key_.push_back(word_of(w.attributes[i]));
    for (int i = 0; i < w.inputs; ++i) {
      const Arg& a = args_[w.first + std::size_t(i)];
      key_.push_back(std::uint64_t(a.kind) << 32 | a.id);
      if (a.kind != Arg::number) continue;
      key_.push_back(std::uint64_t(a.scalar.category()));
      key_.push_back(word_of(a.scalar.real())),
          key_.push_back(word_of(a.scalar.category() == Category::floating ? 0 : a.scalar.integer()));
    }
  }
  for (const std::size_t w : wanted) key_.push_back(w);
}

void PendingCalls::clear() {
  calls_.clear(), args_.clear(), some_ = false;
  for (ExternalMemory& o : outside_) {
    o.tensor = {};
    if (o.restores && o.storage->count.load(std::memory_order_acquire) > 1) o.storage->own();
  }
  outside_.clear();
}

Tensor PendingCalls::alone() {
  const DelayedCall& w = calls_[0];
  Operand in[kMaxInputs];
  for (int i = 0; i < w.inputs; ++i) {
    const Arg& a = args_[w.first + std::size_t(i)];
    if (a.kind != Arg::absent) in[i] = a.is_value() ? Operand(outside_[a.id].tensor) : Operand(a.scalar);
  }
  Tensor out;
  Call call{w.row, w.attributes, in, w.inputs, &out};
  proceed(call);
  return out;
}

std::shared_ptr<const Plan> PendingCalls::plan(const std::vector<std::size_t>& wanted, Explanation& now) {
  write_key(wanted);
  const std::uint64_t hash = hash_of(key_);
  {
    const std::lock_guard hold(shared().mutex);
    const auto at = shared().plans.find(hash);
    if (at != shared().plans.end() && at->second->key == key_) return ++now.found, at->second;
  }
  Plan made{key_, program(wanted), {}};
  made.last = last_uses(made.program);
  const auto p = std::make_shared<const Plan>(std::move(made));
  const std::lock_guard hold(shared().mutex);
  if (shared().plans.size() >= kMostPlans) shared().plans.clear();
  shared().plans[hash] = p;
  return ++now.plans, p;
}

// As graph::run, of calls that write nothing.
std::vector<Tensor> PendingCalls::execute(const Plan& plan) {
  const Program& p = plan.program;
  values_.resize(p.values.size());
  struct Clear {
    std::vector<Tensor>& values;
    ~Clear() { values.clear(); }
  } clear{values_};
  for (std::size_t i = 0; i < outside_.size(); ++i) values_[i] = outside_[i].tensor;
  for (std::size_t i = 0; i < p.nodes.size(); ++i) {
    const Node& n = p.nodes[i];
    operands_.clear();
    for (const Arg& a : n.in)
      operands_.push_back(a.is_value()            ? Operand(values_[a.id])
                          : a.kind == Arg::number ? Operand(a.scalar)
                                                  : Operand());
    Tensor out[kMaxOutputs];
    Call call{n.row, n.op->get(), operands_.data(), int(operands_.size()), out};
    proceed(call);
    for (std::size_t k = 0; k < n.out.size(); ++k) values_[n.out[k]] = std::move(out[k]);
    for (const Arg& a : n.in)
      if (a.is_value() && plan.last[a.id] == i) values_[a.id] = {};
  }
  std::vector<Tensor> results;
  for (const ValueId v : p.outputs) results.push_back(std::move(values_[v]));
  return results;
}

std::vector<Tensor> PendingCalls::compute(const std::vector<std::size_t>& wanted, Explanation& now) {
  if (calls_.size() == 1) return ++now.ran, std::vector<Tensor>{alone()};
  const double begin = seconds();
  const std::shared_ptr<const Plan> p = plan(wanted, now);
  const double middle = seconds();
  std::vector<Tensor> results = execute(*p);
  for (const Node& n : p->program.nodes) ++now.ran, now.fused += is_fused(*n.row);
  now.planning = middle - begin, now.running = seconds() - middle;
  return results;
}

void PendingCalls::run(const char* why) {
  if (calls_.empty() || running_) return;
  running_ = true;
  struct Done {
    bool& running;
    ~Done() { running = false; }
  } done{running_};
  flush_launches("a window's calls run");
  const EagerKernels eager;
  std::vector<Ref<Storage>> held;
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < calls_.size(); ++i)
    if (Ref<Storage> s = calls_[i].promise ? calls_[i].promise->hold() : Ref<Storage>())
      held.push_back(std::move(s)), wanted.push_back(i);
  Explanation now;
  now.waited = std::int64_t(calls_.size()), now.unread = now.waited - std::int64_t(wanted.size());
  if (!wanted.empty()) {
    std::vector<Tensor> results = compute(wanted, now);
    for (std::size_t i = 0; i < held.size(); ++i) {
      if (!exclusive(results[i])) results[i] = clone(results[i]);
      keep_promise(held[i].get(), results[i]);
    }
  }
  clear();
  const std::lock_guard hold(shared().mutex);
  Explanation& all = shared().done;
  all.waited += now.waited, all.unread += now.unread, all.ran += now.ran, all.fused += now.fused;
  all.plans += now.plans, all.found += now.found, all.planning += now.planning, all.running += now.running;
  ++all.flushes[why];
}

}  // namespace neura::graph
