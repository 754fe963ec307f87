#include "neura/ops/nn/recurrent_layer.h"

#include "neura/core/state.h"
#include "neura/op/apply.h"
#include "neura/op/registry.h"
#include "neura/op/safe.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

RecurrentShape kernel_form(const Direction& d) {
  return {d.cell, d.reverse, d.times, d.sizes.empty() ? nullptr : d.sizes.data()};
}
std::int64_t states_of(const Direction& d) { return d.cell == RecurrentCell::lstm ? 2 : 1; }

struct RecurrentLayerBackward {
  NEURA_OPERANDS(grad_y, grad_last, h, cell, weight, y, kept)
  static constexpr Operation op =
      operation("recurrent_layer_backward").optional(in(In::grad_y, In::grad_last, In::cell));
  Direction way;
  NEURA_FIELDS(way)
  void infer(const Spec&, const Spec&, const Spec& h, const Spec&, const Spec& w, const Spec& y, const Spec&, Spec& gx,
             Spec& gh, Spec& gfirst) const {
    gx = Spec::dense(h.dtype, Shape{y.shape[0], w.shape[0]}, h.device);
    gh = Spec::dense(h.dtype, Shape{way.cell == RecurrentCell::gru ? y.shape[0] : 0, w.shape[0]}, h.device);
    gfirst = Spec::dense(h.dtype, Shape{states_of(way), h.shape[0], h.shape[1]}, h.device);
  }
  void run(Context& c, View gy, View glast, View h, View cell, View w, View y, View kept, View gx, View gh,
           View gfirst) const {
    c.backend.recurrent->backward(c, gy, glast, h, cell, w, y, kept, kernel_form(way), gx, gh, gfirst);
  }
};

// Rows of y, and of h at the ends, that are each row's previous state.
Tensor states_before(const Direction& way, const Tensor& h, const Tensor& y) {
  struct Piece {
    const Tensor* of;
    std::int64_t begin, count;
  };
  std::vector<Piece> pieces;
  const auto add = [&](const Tensor& of, std::int64_t begin, std::int64_t count) {
    if (!count) return;
    if (!pieces.empty() && pieces.back().of == &of && pieces.back().begin + pieces.back().count == begin)
      pieces.back().count += count;
    else pieces.push_back({&of, begin, count});
  };
  const std::int64_t batch = h.size(0);
  std::int64_t row = 0;  // of the time before, or after where it goes backwards
  for (std::int64_t t = 0; t < way.times; ++t) {
    const std::int64_t size = way.size(t, batch);
    if (!way.reverse) {
      if (t) add(y, row, size), row += way.size(t - 1, batch);
      else add(h, 0, size);
      continue;
    }
    row += size;
    const std::int64_t next = t + 1 < way.times ? way.size(t + 1, batch) : 0;
    add(y, row, next), add(h, next, size - next);
  }
  TensorList parts;
  for (const Piece& p : pieces) parts.push_back(narrow(*p.of, 0, p.begin, p.count));
  return cat(parts);
}

struct RecurrentLayer {
  NEURA_OPERANDS(input, h, cell, weight, bias)
  NEURA_RESULTS(y, last, kept)
  // The kernel's gradient reads neither input nor bias; the definition's does.
  static constexpr Operation op =
      operation("recurrent_layer")
          .optional(in(In::cell, In::bias))
          .saves(every_input, in(In::input, In::h, In::cell, In::weight, In::bias), out(Out::y, Out::kept));
  Direction way;
  bool training;
  NEURA_FIELDS(way, training)
  bool is_safe(const Spec& x, const Spec& h, const Spec& cell, const Spec& w, const Spec& b) const;
  void infer(const Spec& x, const Spec& h, const Spec&, const Spec&, const Spec&, Spec& y, Spec& last,
             Spec& kept) const {
    y = Spec::dense(x.dtype, Shape{x.shape[0], h.shape[1]}, x.device);
    last = Spec::dense(x.dtype, Shape{states_of(way), h.shape[0], h.shape[1]}, x.device);
    kept =
        Spec::dense(accumulation(x.dtype), Shape{training ? kept_of(way.cell) : 0, x.shape[0], h.shape[1]}, x.device);
  }
  void run(Context& c, View x, View h, View cell, View w, View b, View y, View last, View kept) const {
    c.backend.recurrent->forward(c, x, h, cell, w, b, kernel_form(way), y, last, kept);
  }
  bool accepts(const Backend& backend, const Spec& x, const Spec& h, const Spec& cell, const Spec& w,
               const Spec& b) const {
    if (!backend.recurrent->forward.fn || !x.numel || !is_floating(x.dtype)) return false;
    for (const Spec* s : {&h, &cell, &w, &b})
      if (s->rank != kAbsent && s->dtype != x.dtype) return false;
    return true;
  }
  std::array<Tensor, 3> define(const Tensor& x, const Tensor& h, const Tensor& cell, const Tensor& w,
                               const Tensor& b) const {
    const StepResults r = compose_steps(way, x, h, cell, w, b);
    return {r.y, r.c ? stack({r.h, r.c}) : unsqueeze(r.h, 0), Tensor()};
  }
  void gradient(Gradient& g) const {
    const auto incoming = [&](int result) { return g.g[result] ? contiguous(g.g[result]) : Tensor(); };
    const auto [gx, gh, gfirst] =
        apply(RecurrentLayerBackward{way}, incoming(Out::y), incoming(Out::last), g.input(In::h), g.input(In::cell),
              g.input(In::weight), g.output(Out::y), g.output(Out::kept));
    const Tensor& gates = way.cell == RecurrentCell::gru ? gh : gx;
    if (g.needs(In::input)) g.result[In::input] = gx;
    if (g.needs(In::h)) g.result[In::h] = select(gfirst, 0, 0);
    if (g.needs(In::cell)) g.result[In::cell] = select(gfirst, 0, 1);
    if (g.needs(In::weight))
      g.result[In::weight] = matmul(gates.t(), states_before(way, g.input(In::h), g.output(Out::y)));
    if (g.needs(In::bias)) g.result[In::bias] = sum(gates, {0});
  }
};

// The sizes say of each time how many rows of x are its own, and no more than those of the time before.
bool RecurrentLayer::is_safe(const Spec& x, const Spec& h, const Spec& cell, const Spec& w, const Spec& b) const {
  if (way.cell > RecurrentCell::lstm || !safe::contiguous(x, h, cell, w, b) || !safe::one_dtype(x, h, cell, w, b))
    return false;
  if (x.rank != 2 || h.rank != 2 || w.rank != 2 || !is_floating(x.dtype) || !safe::is_between(way.times, 1, x.shape[0]))
    return false;
  const std::int64_t batch = h.shape[0], hidden = h.shape[1];
  if (batch < 1 || !safe::is_between(hidden, 1, safe::kMost)) return false;
  const std::int64_t width = gates_of(way.cell) * hidden;
  if (w.shape[0] != width || w.shape[1] != hidden || x.shape[1] != width || !safe::absent_or_vector(b, width))
    return false;
  const bool has_cell = safe::is_given(cell);
  if (has_cell != (way.cell == RecurrentCell::lstm) || (has_cell && !cell.same_shape(h))) return false;
  if (safe::is_given(b) && way.cell != RecurrentCell::gru) return false;
  if (way.sizes.empty()) return x.shape[0] % way.times == 0 && x.shape[0] / way.times == batch;
  std::int64_t rows = 0, before = batch;
  for (const std::int64_t n : way.sizes) {
    if (!safe::is_between(n, 1, before)) return false;
    before = n, rows += n;
  }
  return std::int64_t(way.sizes.size()) == way.times && rows == x.shape[0] && way.sizes[0] == batch;
}

}  // namespace

StepResults recurrence(const Direction& way, const Tensor& x, const Tensor& h, const Tensor& c, const Tensor& w,
                       const Tensor& b) {
  bool training = false;
  for (const Tensor* t : {&x, &h, &c, &w, &b})
    training |= !(state.active & (kNoGrad | kInference)) && *t && t->requires_grad();
  const auto whole = [](const Tensor& t) { return t ? contiguous(t) : t; };
  auto [y, last, kept] =
      apply(RecurrentLayer{way, training}, contiguous(x), contiguous(h), whole(c), contiguous(w), whole(b));
  // The gradient reads y. A lazy clone lets the caller write y in place, as where the cpu composes the steps.
  if (training && kept && x.device().is_cpu()) y = lazy_clone(y);
  return {y, select(last, 0, 0), c ? select(last, 0, 1) : Tensor()};
}

}  // namespace neura

NEURA_DEFINE_OPERATION(recurrent_layer_backward, RecurrentLayerBackward);
NEURA_DEFINE_OPERATION(recurrent_layer, RecurrentLayer);
