#include "neura/graph/tracer.h"

#include "neura/backend/transfer.h"
#include "neura/core/extension.h"
#include "neura/graph/program_internal.h"
#include "neura/op/struct_operations.h"
#include "neura/ops/create/create.h"
#include "neura/ops/shape/strided.h"

namespace neura::graph {
namespace {

Tensor on(const Spec& s, Storage* storage) { return tensor_on(s, Ref<Storage>::share(storage)); }
Tensor snapshot_of(const Tensor& t) {  // no call
  check_dense("trace", t);
  Tensor copy = Tensor::empty(t.spec());
  assign({copy.impl()->data(), &copy.spec()}, {t.impl()->data(), &t.spec()});
  return copy;
}

}  // namespace

const Recording::ExternalMemory* Recording::find(const Storage* s) const {
  for (const ExternalMemory& o : outside)
    if (o.tensor.impl()->storage == s) return &o;
  return nullptr;
}

Tracer::Tracer(Recording& to, const Recording* before, std::span<const Tensor> inputs)
    : Deferral(true), to_(to), program_(to.program), before_(before), numbers_(default_generator().state()) {
  for (const Tensor& t : inputs) capture(t.impl(), true);
}

void Tracer::problem(const std::string& text) {
  if (to_.problem.empty()) to_.problem = text;
}

void Tracer::reads(const TensorImpl* t) {
  if (depth_) return;
  const auto at = memory_.find(t->storage);
  if (at == memory_.end()) return void(was_read_.push_back(on(t->spec, t->storage)));
  problem("expected a function that reads no values on the host, got a read of " + t->spec.str() +
          "; return it instead of item()");
}

Tracer::Memory& Tracer::capture(const TensorImpl* t, bool is_input) {
  Spec s = t->spec;
  Storage* storage = t->storage;
  if (!s.dense() || s.offset || s.bytes() != storage->bytes)
    s = Spec::dense(s.dtype, Shape{std::int64_t(storage->bytes) / size_of(s.dtype)}, s.device);
  Memory m;
  m.hold = Ref<Storage>::share(storage), m.version = storage->version, m.whole = ValueId(program_.values.size());
  m.known = {{s, m.whole}}, m.outside = to_.outside.size();
  program_.values.push_back(s);
  Recording::ExternalMemory o;
  o.value = m.whole, o.is_input = is_input, o.tensor = on(s, storage);
  for (const Tensor& r : was_read_) o.was_read |= r.impl()->storage == storage;
  to_.outside.push_back(std::move(o));
  return memory_[storage] = std::move(m);
}

std::optional<ValueId> Tracer::known(const Memory& m, const Spec& s) const {
  for (const auto& [spec, value] : m.known)
    if (same_layout(spec, s)) return value;
  return {};
}

ValueId Tracer::value_of(const TensorImpl* t) {
  const auto at = memory_.find(t->storage);
  Memory& m = at == memory_.end() ? capture(t, false) : at->second;
  if (m.version != t->storage->version) {
    problem("expected memory that operations alone write, got another write of " + t->spec.str());
    m.version = t->storage->version;
  }
  if (const auto value = known(m, t->spec)) return *value;
  const Spec base = program_.values[m.whole];
  if (base.dtype != t->spec.dtype)
    problem("expected memory of one dtype, got " + base.str() + " seen as " + t->spec.str());
  Node n;
  n.row = &row_of<AsStrided>;
  Spec view = t->spec;
  view.offset += base.offset;
  const AsStrided op{base, view};
  n.op = std::make_shared<OpMemory>(*n.row, &op), n.in = {Arg(m.whole)};
  const ValueId value = add(std::move(n))[0];
  memory_[t->storage].known.emplace_back(t->spec, value);
  return value;
}

void Tracer::recomputes(bool begins) {
  if (begins) regions_.push_back(++last_region_);
  else regions_.pop_back();
}

std::vector<ValueId> Tracer::add(Node n) {
  n.region = regions_.empty() ? 0 : regions_.back();
  const std::vector<Spec> specs = infer(program_, n);
  for (const Spec& s : specs) n.out.push_back(ValueId(program_.values.size())), program_.values.push_back(s);
  program_.nodes.push_back(std::move(n));
  return program_.nodes.back().out;
}

void Tracer::saves(const TensorImpl* t) {
  Memory& m = memory_[t->storage];
  if (m.outside == std::string::npos) return;
  Recording::ExternalMemory& o = to_.outside[m.outside];
  // Memory that the call before had, too, lives on.
  if (!o.written && !o.is_input && !(before_ && before_->find(t->storage)) && o.tensor.nbytes() <= std::size_t{1} << 20)
    o.snapshot = snapshot_of(o.tensor);
  o.written = true;
}

// Of unknown memory, all of it, whatever it held.
bool Tracer::is_overwrite(const Call& call) const {
  if (call.destination == Destination::fresh || !call.out[0]) return false;
  const TensorImpl* out = call.out[0].impl();
  const Spec& s = out->spec;
  if (memory_.count(out->storage) || !s.dense() || s.offset || s.bytes() != out->storage->bytes) return false;
  const bool ignores_self = call.row->is_overwrite;
  for (int i = ignores_self ? 1 : 0; i < call.inputs; ++i)
    if (call.in[i].is_tensor() && call.in[i].tensor->storage == out->storage) return false;
  return ignores_self || call.destination == Destination::out;
}

Tracer::CallSnapshot Tracer::taken(const Call& call) {
  CallSnapshot t;
  const bool overwrites = is_overwrite(call);
  Node& n = t.node;
  n.row = call.row, n.destination = call.destination;
  for (int i = 0; i < call.inputs; ++i) {
    const Operand& o = call.in[i];
    n.in.push_back(o.is_tensor() ? Arg(value_of(o.tensor)) : o.is_scalar() ? Arg(o.scalar) : Arg());
    if (o.is_tensor() && n.row->writes_input(i)) saves(o.tensor);
  }
  if (call.destination != Destination::fresh && call.out[0]) {
    const TensorImpl* out = call.out[0].impl();
    n.into = value_of(out), t.destination = out->storage, saves(out);
    if (overwrites) to_.outside[memory_[out->storage].outside].overwritten = true;
  }
  if (n.row->numbers) t.draws = !n.row->numbers(const_cast<void*>(call.op))->reserved;
  if (t.draws && call.generator && call.generator != &default_generator())
    problem(std::string(n.row->name) + ": expected numbers of the default generator, got another one");
  return t;
}

void Tracer::take(Call& call) {
  CallSnapshot t = taken(call);
  ++depth_;
  try {
    proceed(call);
  } catch (...) {
    --depth_;
    // A hook may stop a call that is done: its result lives on in what autograd has saved.
    if (is_done(call) && !is_known(call)) written_down(call, std::move(t));
    renewal_ = {};
    throw;
  }
  --depth_;
  if (call.destination == Destination::fresh && is_known(call)) return;  // its parts, or a view once more
  written_down(call, std::move(t));
}

bool Tracer::is_done(const Call& call) {
  bool done = call.destination == Destination::fresh && call.row->outputs;
  for (int k = 0; k < call.row->outputs; ++k) done = done && call.out[k];
  return done;
}

bool Tracer::is_known(const Call& call) const {
  int results = 0;
  for (int k = 0; k < call.row->outputs; ++k) {
    const TensorImpl* out = call.out[k].impl();
    if (!out) continue;  // a definition leaves out what the kernel alone keeps for its derivative
    const auto at = memory_.find(out->storage);
    if (at == memory_.end() || !known(at->second, out->spec)) return false;
    ++results;
  }
  return results > 0;
}

// A run draws in the same order.
void Tracer::drawn(CallSnapshot& t) {
  PhiloxState* const numbers = t.node.row->numbers(t.node.op->get());
  if (!drawn_.emplace(numbers->seed, numbers->offset).second) return;  // by a generator that was set back to it
  if (numbers->seed != numbers_.seed || numbers->offset != numbers_.offset)
    problem(std::string(t.node.row->name) + ": expected draws one after the other, got a generator that was moved");
  numbers_ = {numbers->seed, numbers->offset + 1};
  numbers->reserved = false;
}

void Tracer::written_down(Call& call, CallSnapshot t) {
  Node& n = t.node;
  n.op = std::make_shared<OpMemory>(*n.row, call.op);
  if (t.draws) drawn(t);
  if (n.varies = varies(*n.row, n.op->get()); n.varies) {
    n.renewal = std::exchange(renewal_, {});
    if (!n.renewal)
      problem(std::string(n.row->name) + ": expected numbers that are the same in every run, got ones that vary");
  }
  const TensorImpl* out = call.out ? call.out[0].impl() : nullptr;
  if (call.destination != Destination::fresh && out->storage != t.destination) {  // out= took memory of its own
    const Tensor like = zeros(out->spec.sizes(), {.dtype = out->spec.dtype, .device = out->spec.device});
    n.into = value_of(like.impl());
    define(out, n.into, false);
  }
  const Row& row = *n.row;
  const bool fresh = call.destination == Destination::fresh;
  const std::vector<ValueId> ids = add(std::move(n));
  if (fresh)
    for (int k = 0; k < row.outputs; ++k) define(call.out[k].impl(), ids[std::size_t(k)], row.kind == Row::view);
  else redefine(out, ids[0]);
  std::size_t next = row.outputs;
  for (int i = 0; i < call.inputs; ++i)
    if (row.writes_input(i) && call.in[i].is_tensor()) redefine(call.in[i].tensor, ids[next++]);
}

// A new tensor.
void Tracer::define(const TensorImpl* t, ValueId id, bool view) {
  if (!same_layout(t->spec, program_.values[id]) && t->spec.numel)
    problem("expected a result of " + program_.values[id].str() + " in the order that the program has, got " +
            t->spec.str());
  if (view) return void(memory_[t->storage].known.emplace_back(t->spec, id));
  Memory m;
  m.hold = Ref<Storage>::share(t->storage), m.version = t->storage->version, m.whole = id, m.known = {{t->spec, id}};
  memory_[t->storage] = std::move(m);
}

// Memory that was written.
void Tracer::redefine(const TensorImpl* t, ValueId id) {
  Memory& m = memory_[t->storage];
  m.version = t->storage->version, m.known.clear();
  const Spec base = program_.values[m.whole];
  if (same_layout(base, t->spec) && base.dense()) {
    m.whole = id;
  } else {
    if (base.dtype != t->spec.dtype)
      problem("expected memory of one dtype, got " + base.str() + " written as " + t->spec.str());
    Node n;
    n.row = &row_of<StridedPut>;
    const StridedPut op{base, t->spec};
    n.op = std::make_shared<OpMemory>(*n.row, &op), n.in = {Arg(m.whole), Arg(id)};
    m.whole = add(std::move(n))[0];
  }
  m.known = {{program_.values[m.whole], m.whole}};
}

void Tracer::copied(const TensorImpl* from, const Tensor& to) {
  const auto at = memory_.find(from->storage);
  if (at == memory_.end() || at->second.version != from->storage->version) return;  // a kernel's own
  Node n;
  n.row = &operations::to();
  n.op = std::make_shared<OpMemory>(*n.row);
  Attributes::parse(std::string("dtype=") + name(to.dtype()) + ", keep_order=false").write_to(*n.row, n.op->get());
  n.in = {Arg(value_of(from))};
  define(to.impl(), add(std::move(n))[0], false);
}

void Tracer::finish(std::vector<Tensor> outputs) {
  for (const Tensor& t : outputs) program_.outputs.push_back(value_of(t.impl()));
  outputs.clear();
  for (auto& [storage, m] : memory_) {
    if (m.version != storage->version && (m.outside != std::string::npos || storage->count > 1))
      problem("expected memory that operations alone write, got another write");
    if (m.outside == std::string::npos && storage->exposed)
      problem("expected a function that reads no values on the host, got a pointer to those of a result");
    if (m.outside == std::string::npos && storage->count > 1) to_.kept.push_back(m.hold);
  }
  for (std::size_t i = 0; i < to_.outside.size(); ++i) {
    const Memory& m = memory_[to_.outside[i].tensor.impl()->storage];
    if (m.whole != to_.outside[i].value) program_.updates.push_back({ValueId(i), m.whole});
  }
  const GeneratorState now = default_generator().state();
  if (now.seed != numbers_.seed || now.offset != numbers_.offset)
    problem("expected draws by operations alone, got a generator that was moved");
}

}  // namespace neura::graph
