#include "neura/autograd/vmap.h"

#include <string>

#include "neura/core/state.h"
#include "neura/op/attributes.h"
#include "neura/op/call_error.h"
#include "neura/op/pointwise/pointwise.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"

namespace neura {

struct BatchLevel::Batched final : Handle {
  bool batched = true;
  bool is_batch() const override { return batched; }
  Tensor copy(const TensorImpl* self) const override { return again(self, neura::clone(value)); }
  Tensor detached(const TensorImpl* self) const override { return again(self, detach_all(value)); }
  Tensor again(const TensorImpl* self, Tensor v) const {
    auto h = std::make_unique<Batched>(*this);
    h->value = std::move(v);
    return wrap(std::move(h), self->spec);
  }
};

namespace {

Shape with_batch(std::int64_t n, const Shape& sizes) {
  Shape all{n};
  for (const std::int64_t s : sizes) all.push_back(s);
  return all;
}
Spec of_sample(Spec s) {
  check<ShapeError>(s.rank > 0, [&] { return "vmap: expected a batch in front, got " + s.str(); });
  std::copy(s.shape + 1, s.shape + s.rank, s.shape), std::copy(s.strides + 1, s.strides + s.rank, s.strides);
  --s.rank, s.finish();
  return s;
}

}  // namespace

std::set<std::string>& looped_rows() {
  thread_local std::set<std::string> rows;
  return rows;
}

BatchLevel::BatchLevel(std::int64_t size, Randomness randomness) : size_(size), randomness_(randomness) {}

Tensor BatchLevel::make(Tensor value, bool batched) const {
  const Spec spec = batched ? of_sample(value.spec()) : value.spec();
  auto h = std::make_unique<Batched>();
  h->level = number(), h->value = std::move(value), h->batched = batched;
  return wrap(std::move(h), spec);
}
Tensor BatchLevel::in(const Tensor& t, int dim) {
  dim = wrap_dim("vmap", dim, t.dim());
  check<ValueError>(t.size(dim) == size_, [&] {
    return "vmap: expected " + std::to_string(size_) + " samples in dimension " + std::to_string(dim) + ", got " +
           t.spec().str();
  });
  return make(dim ? movedim(t, dim, 0) : t, true);
}
Tensor BatchLevel::out(const Tensor& t, int dim) const {
  const auto* h = handle_as<Batched>(t.impl());
  Tensor value = h ? h->value : t;
  if (!h || !h->batched) value = expand(value, with_batch(size_, value.shape()));
  dim = wrap_dim("vmap", dim, value.dim());
  return dim ? movedim(value, 0, dim) : value;
}
bool BatchLevel::is_batched(const Tensor& t) const {
  const auto* h = handle_as<Batched>(t.impl());
  return h && h->batched;
}
Tensor BatchLevel::lift(const Tensor& t) { return handle_of(t.impl()) ? t : make(t, false); }

bool BatchLevel::spreads(const Call& c) const {
  bool any = false;
  for (int i = 0; i < c.inputs; ++i)
    if (const auto* h = c.in[i].is_tensor() ? handle_as<Batched>(c.in[i].tensor) : nullptr) any |= h->batched;
  return any;
}
Tensor BatchLevel::adopted(const Tensor& value) {
  return make(contiguous(expand(value, with_batch(size_, value.shape()))), true);
}

bool BatchLevel::records_parts(const Call& c) const {
  return c.row->define && !batch_rule(*c.row) && c.destination == Destination::fresh && !c.row->draws_numbers &&
         spreads(c);  // what is one for all is recorded as the call that it is
}

void BatchLevel::announce(const Call& c, const PhiloxState& numbers) {
  if (randomness_ == Randomness::error)
    throw AutogradError(std::string(c.row->name) +
                        ": expected no random numbers to be drawn inside vmap with randomness='error'; pass "
                        "randomness='different' or 'same' to vmap");
  if (randomness_ == Randomness::different) apart_.insert({numbers.seed, numbers.offset});
}
bool BatchLevel::draws_apart(const Call& c) const {
  const PhiloxState* numbers = c.row->numbers(const_cast<void*>(c.op));
  return apart_.count({numbers->seed, numbers->offset});
}

// No operand is batched. Numbers that differ make a batch of what is drawn.
bool BatchLevel::draw(Call& c) {
  reserve(c);
  if (!draws_apart(c)) return false;
  if (c.destination != Destination::fresh)
    throw InplaceError(in_place_name(c.row->name) +
                       ": expected a batched tensor with randomness='different', got one that all samples share");
  BatchCall b(*this, c);
  b.own_numbers = true;
  const BatchRule rule = c.inputs && b.in[0] ? batch_rule(*c.row) : nullptr;
  if (rule) rule(b);
  else loop_over_samples(b);
  return true;
}

void BatchLevel::run(Call& c) {
  if (c.row->is_dynamic)
    throw AutogradError(std::string(c.row->name) +
                        ": expected a result whose size does not depend on values inside vmap; use where() or a mask");
  const bool apart = c.row->draws_numbers && draws_apart(c);
  BatchCall b(*this, c);
  b.own_numbers = apart;
  bool batched = apart;
  for (const bool each : b.batched) batched |= each;
  if (c.destination != Destination::fresh && batched && !is_batched(c.out[0]))
    throw InplaceError(in_place_name(c.row->name) +
                       ": expected the tensor that is written inside vmap to be batched as what is written, got one "
                       "that all samples share; use the form that returns a new tensor");
  if (c.destination != Destination::fresh) batched |= is_batched(c.out[0]);
  if (!batched) {  // handles of what is one for all
    std::vector<Operand> operands(c.in, c.in + c.inputs);
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (b.in[i]) operands[i] = Operand(b.in[i]);
    Tensor out[kMaxOutputs];
    if (c.destination != Destination::fresh) out[0] = handle_of(c.out[0].impl())->value;
    Call inner{c.row, c.op, operands.data(), c.inputs, out, c.destination, c.generator};
    apply(inner);
    if (c.destination != Destination::fresh) return written(c);
    for (int k = 0; k < c.row->outputs; ++k)
      if (out[k]) c.out[k] = make(out[k], false);
    if (c.row->kind == Row::view && handle_of(c.in[0])) set_base(c.out[0], c.in[0].tensor);
    return;
  }
  if (c.row->draws_numbers && !apart) return loop_over_samples(b);
  if (const BatchRule rule = batch_rule(*c.row)) return rule(b);
  if (!records_parts(c)) return loop_over_samples(b);
  b.define();
}

BatchCall::BatchCall(BatchLevel& l, Call& c) : level(l), call(c) {
  for (int i = 0; i < c.inputs; ++i) {
    const auto* h = c.in[i].is_tensor() ? l.handle_as<BatchLevel::Batched>(c.in[i].tensor) : nullptr;
    batched.push_back(h && h->batched);
    if (h) in.push_back(h->value);
    else in.push_back(c.in[i].is_tensor() ? Tensor(Ref<TensorImpl>::share(c.in[i].tensor)) : Tensor());
  }
}
bool BatchCall::any_of(std::initializer_list<int> operands) const {
  for (const int i : operands)
    if (i < int(in.size()) && batched[std::size_t(i)]) return true;
  return false;
}
void BatchCall::batch(int i) {
  const auto k = std::size_t(i);
  if (!in[k] || batched[k]) return;
  in[k] = expand(in[k], with_batch(size(), in[k].shape())), batched[k] = true;
}
void BatchCall::batch_all() {
  for (int i = 0; i < call.inputs; ++i) batch(i);
}
void BatchCall::pad(int i, int to) {
  const auto k = std::size_t(i);
  if (!in[k] || !batched[k] || in[k].dim() == to + 1) return;
  Shape sizes = in[k].shape();
  while (sizes.size() < to + 1) sizes.insert(1, 1);
  in[k] = reshape(in[k], sizes);
}
void BatchCall::lay_out() {
  for (int i = 0; i < call.inputs; ++i) {
    const auto k = std::size_t(i);
    if (in[k] && batched[k] && spec(i).contiguous && !in[k].is_contiguous() &&
        !(i == 0 && call.destination == Destination::in_place))
      in[k] = contiguous(in[k]);
  }
}

void BatchCall::set_result(int k, Tensor value) {
  if (value) call.out[k] = level.make(std::move(value), true);
}
void BatchCall::finish(const Row& row, const void* op) {
  std::vector<Operand> operands(call.in, call.in + call.inputs);
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (in[i]) operands[i] = Operand(in[i]);
  Tensor out[kMaxOutputs];
  const bool fresh = call.destination == Destination::fresh;
  if (!fresh) out[0] = level.handle_of(call.out[0].impl())->value;
  Call inner{&row, op, operands.data(), int(operands.size()), out, call.destination, call.generator};
  apply(inner);
  if (!fresh) return level.written(call);
  for (int k = 0; k < row.outputs; ++k) set_result(k, out[k]);
  if (row.kind == Row::view && out[0].impl()->storage == in[0].impl()->storage)
    level.set_base(call.out[0], call.in[0].tensor);
}
void BatchCall::write_result(const Tensor& value) {
  if (call.destination == Destination::fresh) return set_result(0, value);
  Tensor to = level.handle_of(call.out[0].impl())->value;
  copy_(to, value);
  level.written(call);
}
void BatchCall::define() {
  Tensor operands[kMaxInputs];
  for (int i = 0; i < call.inputs; ++i)
    if (call.in[i].is_tensor()) operands[i] = Tensor(Ref<TensorImpl>::share(call.in[i].tensor));
  const BatchLevel::Scope inside(level);
  call.row->define(call.op, operands, call.inputs, call.out);
}
Tensor BatchCall::beneath(const Row& row, const void* op, std::vector<Tensor> operands, int result) const {
  std::vector<Operand> list(operands.begin(), operands.end());
  Tensor out[kMaxOutputs];
  Call inner{&row, op, list.data(), int(list.size()), out};
  apply(inner);
  return out[result];
}

namespace {

void run_sample(BatchCall& b, std::int64_t n, std::vector<Operand>& operands, std::vector<Tensor>& samples,
                Tensor* out) {
  Call& c = b.call;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!b.in[i]) continue;
    samples[i] = b.batched[i] ? select(b.in[i], 0, n) : b.in[i];
    operands[i] = Operand(samples[i]);
  }
  OpMemory op(*c.row, c.op);
  if (b.own_numbers) {
    PhiloxState* numbers = c.row->numbers(op.get());
    const GeneratorState s = (c.generator ? *c.generator : default_generator()).reserve();
    if (n) numbers->seed = s.seed, numbers->offset = s.offset;
    for (Interceptor* i = b.level.below; i; i = i->below)  // those of this sample are new to the levels below
      if (auto* level = dynamic_cast<Level*>(i)) level->announce(c, *numbers);
  }
  Call inner{c.row, op.get(), operands.data(), c.inputs, out, c.destination, c.generator};
  apply(inner);
}

}  // namespace

void loop_over_samples(BatchCall& b) {
  Call& c = b.call;
  if (!c.row->draws_numbers) looped_rows().insert(c.row->name);
  for (int i = 0; i < c.inputs; ++i)
    if (c.row->writes_input(i) && b.in[std::size_t(i)] && !b.batched[std::size_t(i)])
      throw InplaceError(std::string(c.row->name) + ": expected " + operand_name(*c.row, i) +
                         ", which is written, to be batched inside vmap, got one that all samples share");
  check<ValueError>(b.size() > 0, [&] {
    return std::string(c.row->name) + ": expected at least one sample inside vmap, got a batch of none";
  });
  std::vector<Operand> operands(c.in, c.in + c.inputs);
  std::vector<Tensor> samples(b.in.size()), results[kMaxOutputs];
  const bool fresh = c.destination == Destination::fresh;
  Tensor whole = fresh ? Tensor() : b.level.out(c.out[0], 0);
  for (std::int64_t n = 0; n < b.size(); ++n) {
    Tensor out[kMaxOutputs];
    if (!fresh) out[0] = select(whole, 0, n);
    run_sample(b, n, operands, samples, out);
    for (int k = 0; fresh && k < c.row->outputs; ++k)
      if (out[k]) results[k].push_back(out[k]);
  }
  for (int k = 0; fresh && k < c.row->outputs; ++k)
    if (!results[k].empty()) b.set_result(k, stack(results[k]));
}

}  // namespace neura
