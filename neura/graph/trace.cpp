#include "neura/graph/trace.h"

#include <algorithm>
#include <cstring>

#include "neura/graph/passes.h"
#include "neura/graph/program_internal.h"
#include "neura/graph/tracer.h"
#include "neura/ops/create/copy.h"

namespace neura::graph {
namespace {

constexpr int kMostCalls = 4;

Recording record(const Function& f, std::span<const Tensor> inputs, const Recording* before) {
  Recording r;
  Tracer tracer(r, before, inputs);
  std::vector<Tensor> outputs = f(inputs);
  for (const Tensor& t : outputs)
    check<ValueError>(t.defined(), [] { return "trace: expected tensors as results, got an undefined one"; });
  tracer.finish(std::move(outputs));
  return r;
}

bool same_arg(const Arg& a, const Arg& b) {
  if (a.kind != b.kind) return false;
  if (a.kind != Arg::number) return a.id == b.id;
  return same_number(a.scalar, b.scalar);
}
bool same_call(const Program& a, const Program& b, std::size_t i) {
  const Node &x = a.nodes[i], &y = b.nodes[i];
  if (x.row != y.row || x.destination != y.destination || x.into != y.into || x.out != y.out ||
      !std::equal(x.in.begin(), x.in.end(), y.in.begin(), y.in.end(), same_arg))
    return false;
  for (const ValueId v : x.out)
    if (!same_layout(a.values[v], b.values[v])) return false;
  return Attributes::of(*x.row, x.op->get()).fixed() == Attributes::of(*y.row, y.op->get()).fixed();
}
bool same_bytes(const Tensor& a, const Tensor& b) {
  if (!a.device().is_cpu() || !b.device().is_cpu()) return false;
  return a.nbytes() == b.nbytes() && !std::memcmp(a.impl()->data(), b.impl()->data(), a.nbytes());
}
// What it held before the call; undefined where that is not known any more.
Tensor before_call(const Recording::ExternalMemory& o) { return o.written ? o.snapshot : o.tensor; }

// True for memory that lives from call to call; else it is a constant. The text says what is neither.
std::string difference(const Recording& a, const Recording& b, std::size_t i) {
  const Recording::ExternalMemory &x = a.outside[i], &y = b.outside[i];
  const std::string what = y.tensor.spec().str();
  const Storage* s = y.tensor.impl()->storage;
  if (x.is_input) return "";
  if (x.tensor.impl()->storage == s)
    return y.was_read ? "expected a function that reads no values on the host, got a read of " + what : "";
  for (const Ref<Storage>& kept : a.kept)
    if (kept.get() == s) return "expected a function that reads nothing its last call has made, got a read of " + what;
  if (a.find(s)) return "expected the same memory in every call, got another order of it";
  if (x.overwritten && y.overwritten) return "";
  const Tensor was = before_call(x), is = before_call(y);
  if (!was || !is || !same_bytes(was, is))
    return "expected the same values from the host in every call, got others in " + what;
  return "";
}
std::string difference(const Recording& a, const Recording& b) {
  const Program &x = a.program, &y = b.program;
  const std::size_t n = std::min(x.nodes.size(), y.nodes.size());
  for (std::size_t i = 0; i < n; ++i)
    if (!same_call(x, y, i))
      return std::string("expected the same calls every time, got ") + x.nodes[i].row->name + " and then " +
             y.nodes[i].row->name + " as number " + std::to_string(i);
  if (x.nodes.size() != y.nodes.size() || a.outside.size() != b.outside.size() || x.outputs != y.outputs)
    return "expected the same calls every time, got " + std::to_string(x.nodes.size()) + " and then " +
           std::to_string(y.nodes.size());
  for (std::size_t i = 0; i < b.outside.size(); ++i)
    if (a.outside[i].value != b.outside[i].value) return "expected the same memory in every call, got other";
  for (std::size_t i = 0; i < b.outside.size(); ++i)
    if (std::string text = difference(a, b, i); !text.empty()) return text;
  return b.problem;
}

// Externals first.
Program renumbered(const Recording& a, Recording b, std::span<const Named> names) {
  Program p;
  std::vector<ValueId> to(b.program.values.size(), kNoValue);
  for (std::size_t i = 0; i < b.outside.size(); ++i) {
    Recording::ExternalMemory& o = b.outside[i];
    External e;
    const bool lives = a.outside[i].tensor.impl()->storage == o.tensor.impl()->storage;
    e.kind = o.is_input ? External::input : lives ? External::captured : External::constant;
    if (e.kind != External::input)
      e.tensor = lives ? o.tensor : o.overwritten ? Tensor::empty(o.tensor.spec()) : before_call(o);
    if (o.overwritten && !lives && !o.is_input) zero_(e.tensor);
    for (const Named& n : names)
      if (n.tensor && n.tensor.impl()->storage == o.tensor.impl()->storage) e.name = n.name;
    for (char& c : e.name)
      if (std::string_view(" <:\n").find(c) != std::string_view::npos) c = '_';
    to[o.value] = ValueId(p.externals.size());
    p.externals.push_back(std::move(e)), p.values.push_back(b.program.values[o.value]);
  }
  for (std::size_t v = 0; v < to.size(); ++v)
    if (to[v] == kNoValue) to[v] = ValueId(p.values.size()), p.values.push_back(b.program.values[v]);
  p.nodes = std::move(b.program.nodes);
  for (Node& n : p.nodes) {
    for (Arg& arg : n.in)
      if (arg.is_value()) arg.id = to[arg.id];
    for (ValueId& v : n.out) v = to[v];
    if (n.into != kNoValue) n.into = to[n.into];
  }
  for (const ValueId v : b.program.outputs) p.outputs.push_back(to[v]);
  for (const Update& u : b.program.updates)
    if (p.externals[u.external].kind != External::constant) p.updates.push_back({u.external, to[u.value]});
  return p;
}

// A run gets memory of a program's size: not the window of a larger one.
std::vector<Tensor> whole(std::span<const Tensor> inputs) {
  std::vector<Tensor> all;
  for (const Tensor& t : inputs) {
    check<ValueError>(t.defined(), [] { return "trace: expected tensors as inputs, got an undefined one"; });
    const Spec& s = t.spec();
    const bool own = s.dense() && !s.offset && s.bytes() == t.impl()->storage->bytes;
    const bool twice =
        std::any_of(all.begin(), all.end(), [&](const Tensor& o) { return o.impl()->storage == t.impl()->storage; });
    check<ValueError>((own && !twice) || !t.requires_grad(), [&] {
      return "trace: expected an input that needs a gradient to own its memory, got a part of another; clone() it";
    });
    all.push_back(own && !twice ? t : clone(t));
  }
  return all;
}

}  // namespace

Program trace(const Function& f, std::span<const Tensor> inputs, std::span<const Named> names) {
  const std::vector<Tensor> in = whole(inputs);
  Recording last = record(f, in, nullptr);
  std::string why;
  for (int call = 1; call < kMostCalls; ++call) {
    Recording next = record(f, in, &last);
    const std::string before = std::exchange(why, difference(last, next));
    if (why.empty()) {
      Program p = without_dead(renumbered(last, std::move(next), names));
      verify(p);
      return p;
    }
    if (!next.problem.empty() && why == before) break;
    last = std::move(next);
  }
  throw ValueError("trace: " + why);
}

}  // namespace neura::graph
