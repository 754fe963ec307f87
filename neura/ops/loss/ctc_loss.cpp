#include "neura/ops/loss/ctc_loss.h"

#include <algorithm>
#include <limits>

#include "neura/backend/kernels/loss.h"
#include "neura/core/state.h"
#include "neura/op/apply.h"
#include "neura/op/call_error.h"
#include "neura/op/cast_scope.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/loss/loss_common.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/expect.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Used instead of -inf, whose derivatives are NaN; sums of many of these stay finite in float32.
constexpr double kNever = -1e30;

// The definition: a row of [samples, states] per time.
struct Lattice {
  Tensor scores;  // [T, N, states]
  Tensor skips;   // [N, states]: 0 where a path may come from two states before
  Tensor never;   // [N, 2]
  Lattice(const Tensor& x, const Tensor& targets, const Tensor& labels, std::int64_t blank) {
    const std::int64_t samples = targets.size(0), most = targets.size(1);
    const Tensor place = arange(most, {.dtype = DType::int64, .device = x.device()});
    const Tensor there = where(place < unsqueeze(labels, 1), targets, blank);  // no other number is looked up
    const Tensor blanks = full_like(there, blank);
    const Tensor pairs = reshape(stack({blanks, there}, 2), {samples, 2 * most});
    const Tensor classes = cat({pairs, new_full(targets, {samples, 1}, blank)}, 1);
    scores = gather(x, 2, expand(unsqueeze(classes, 0), {x.size(0), samples, 2 * most + 1}));
    scores = clamp_min(scores, kNever);
    never = new_full(x, {samples, 2}, kNever);
    skips = never;
    if (!most) return;
    const Tensor differ = slice(classes, 1, 2) != slice(classes, 1, 0, -2);
    skips = cat({never, where(differ, new_full(x, {}, 0), new_full(x, {}, kNever))}, 1);
  }
  Tensor first() const {
    const std::int64_t begin = std::min<std::int64_t>(2, scores.size(2));
    const Tensor row = select(scores, 0, 0);
    return begin == row.size(1) ? row : cat({narrow(row, 1, 0, begin), full_like(slice(row, 1, begin), kNever)}, 1);
  }
  Tensor after(const Tensor& row, std::int64_t time) const {
    const Tensor here = select(scores, 0, time);
    const std::int64_t states = row.size(1);
    if (states == 1) return row + here;
    const Tensor padded = cat({never, row}, 1);
    const Tensor two = narrow(padded, 1, 0, states) + skips;
    return logsumexp(stack({row, narrow(padded, 1, 1, states), two}), 0) + here;
  }
};

// The loss of each sample; at least -kNever / 2 if no path exists.
Tensor composed_losses(const Tensor& x, const Tensor& targets, const Tensor& times, const Tensor& labels,
                       std::int64_t blank) {
  const Lattice lattice(x, targets, labels, blank);
  Tensor row = lattice.first();
  for (std::int64_t t = 1; t < x.size(0); ++t) row = where(unsqueeze(times, 1) > t, lattice.after(row, t), row);
  const Tensor last = unsqueeze(labels, 1) * 2;
  const Tensor blank_last = gather(row, 1, last), label_last = gather(row, 1, clamp_min(last - 1, 0));
  const Tensor both = cat({blank_last, where(last > 0, label_last, kNever)}, 1);
  const Tensor none = where(labels == 0, new_full(x, {}, 0), new_full(x, {}, -kNever));
  return where(times > 0, -logsumexp(both, 1), none);
}
// 0, with the derivative of the sum of exp(x) over the times of each sample: see the header.
Tensor gradient_of_scores(const Tensor& x, const Tensor& times, const Tensor& counts) {
  const Tensor time = arange(x.size(0), {.dtype = DType::int64, .device = x.device()});
  const Tensor there = (unsqueeze(time, 1) < times) & counts;
  const Tensor e = sum(where(there, sum(exp(x), 2), 0), 0);
  return e - e.detach();
}

struct CtcLossBackward {
  NEURA_OPERANDS(grad_output, log_probs, targets, input_lengths, target_lengths, loss, alpha)
  static constexpr Operation op = operation("ctc_loss_backward");
  std::int64_t blank;
  bool zero_infinity;
  NEURA_FIELDS(blank, zero_infinity)
  void infer(const Spec&, const Spec& x, const Spec&, const Spec&, const Spec&, const Spec&, const Spec&,
             Spec& gx) const {
    gx = Spec::dense(x.dtype, x.sizes(), x.device);
  }
  void run(Context& c, View g, View x, View targets, View times, View labels, View loss, View alpha, View gx) const {
    c.backend.loss->ctc_loss_backward(c, g, {x, targets, times, labels}, loss, alpha, blank, zero_infinity, gx);
  }
};

// x [T, N, C], its classes side by side; the rest int64 and contiguous: targets [N, S], times and labels [N].
struct CtcLoss {
  NEURA_OPERANDS(log_probs, targets, input_lengths, target_lengths)
  NEURA_RESULTS(loss, alpha)
  static constexpr Operation op =
      operation("ctc_loss")
          .saves(In::log_probs, in(In::log_probs, In::targets, In::input_lengths, In::target_lengths),
                 out(Out::loss, Out::alpha));
  std::int64_t blank;
  bool zero_infinity, recorded;  // alpha is needed: the call is recorded
  NEURA_FIELDS(blank, zero_infinity, recorded)
  void infer(const Spec& x, const Spec& targets, const Spec& times, const Spec& labels, Spec& loss, Spec& alpha) const {
    check<DTypeError>(x.dtype == DType::float32 || x.dtype == DType::float64, [&] {
      return std::string(op.name) + ": expected log_probs of dtype float32 or float64, got " + name(x.dtype) +
             "; convert them with to(dtype)";
    });
    check<ShapeError>(x.rank == 3 && x.numel, [&] {
      return std::string(op.name) + ": expected log_probs [T, N, C] or [T, C] with elements, got " + x.sizes().str();
    });
    check<ValueError>(blank >= 0 && blank < x.shape[2], [&] {
      return std::string(op.name) + ": expected blank within the " + std::to_string(x.shape[2]) + " classes, got " +
             std::to_string(blank);
    });
    const Shape batch{x.shape[1]};
    check<ShapeError>(times.sizes() == batch && labels.sizes() == batch, [&] {
      return std::string(op.name) + ": expected input_lengths and target_lengths of one number for each sample " +
             batch.str() + ", got " + times.sizes().str() + " and " + labels.sizes().str();
    });
    check<ShapeError>(targets.rank == 2 && targets.shape[0] == x.shape[1], [&] {
      return std::string(op.name) + ": expected targets [" + std::to_string(x.shape[1]) + ", S] or all in a row, got " +
             targets.sizes().str();
    });
    loss = Spec::dense(x.dtype, batch, x.device);
    alpha = Spec::dense(x.dtype, Shape{recorded ? x.shape[1] : 0, x.shape[0], 2 * targets.shape[1] + 1}, x.device);
  }
  bool accepts(const Backend& b, const Spec&, const Spec&, const Spec&, const Spec&) const {
    return b.loss->ctc_loss.fn;
  }
  void run(Context& c, View x, View targets, View times, View labels, View loss, View alpha) const {
    c.backend.loss->ctc_loss(c, {x, targets, times, labels}, blank, loss, recorded ? alpha : View());
  }
  void gradient(Gradient& g) const {
    if (!g.needs(In::log_probs)) return;
    g.result[In::log_probs] =
        apply(CtcLossBackward{blank, zero_infinity}, g.g[Out::loss], g.input(In::log_probs), g.input(In::targets),
              g.input(In::input_lengths), g.input(In::target_lengths), g.output(Out::loss), g.output(Out::alpha));
  }
  std::array<Tensor, 2> define(const Tensor& x, const Tensor& targets, const Tensor& times,
                               const Tensor& labels) const {
    const Tensor losses = composed_losses(x, targets, times, labels, blank), found = losses < -kNever / 2;
    // Without a path the gradient is not finite, or 0 with zero_infinity.
    const Tensor one = new_full(x, {}, 1), endless = new_full(x, {}, kInfinity);
    const Tensor shown = zero_infinity ? where(found, losses, endless) : losses * where(found, one, endless);
    return {shown + gradient_of_scores(x, times, found), Tensor()};
  }
};

// On the device of the operation, and as numbers where the host has them without waiting: given on the cpu.
struct Lengths {
  const char* what;
  Tensor there;
  std::vector<std::int64_t> known;
  bool on_cpu;
  Lengths(const char* what, const Tensor& given, Device device) : what(what) {
    check_given("ctc_loss", what, given);
    check<DTypeError>(is_integral(given.dtype()) && given.dtype() != DType::boolean, [&] {
      return std::string("ctc_loss: expected ") + what + " of integers, got " + name(given.dtype());
    });
    const Tensor t = contiguous(to(reshape(given, {given.numel()}), DType::int64));
    on_cpu = host_looks(t), there = to(t, device);
    if (on_cpu) known = t.to_vector<std::int64_t>();
  }
  void limit(std::int64_t most) {
    for (const std::int64_t v : known)
      check<ValueError>(v >= 0 && v <= most, [&] {
        return std::string("ctc_loss: expected ") + what + " from 0 to " + std::to_string(most) + ", got " +
               std::to_string(v);
      });
    if (on_cpu) return;
    expect(Rule::lengths, ge(there, 0) & le(there, most));
    there = clamp(there, {.min = 0, .max = most});  // a kernel reads so far
  }
};

// Targets in a row as [N, S]; the elements after the end of one are those that follow it.
Tensor padded(const Tensor& row, const std::vector<std::int64_t>& lengths) {
  std::int64_t most = 0, total = 0;
  for (const std::int64_t n : lengths) most = std::max(most, n), total += n;
  check<ShapeError>(total == row.numel(), [&] {
    return "ctc_loss: expected as many targets as target_lengths say, " + std::to_string(total) + ", got " +
           std::to_string(row.numel());
  });
  std::vector<std::int64_t> places;
  std::int64_t begin = 0;
  for (const std::int64_t n : lengths) {
    for (std::int64_t i = 0; i < most; ++i) places.push_back(std::min(begin + i, total - 1));
    begin += n;
  }
  const Shape sizes{std::int64_t(lengths.size()), most};
  if (!most) return new_empty(row, sizes);
  return take(row, tensor(places, sizes, {.device = row.device()}));
}

// As the operation wants them: [N, S]; no longer than the longest where that is known. Those in a row are told apart by
// their lengths: these are waited for.
Tensor targets_of(const Tensor& targets, Lengths& lengths) {
  check_given("ctc_loss", "targets", targets);
  check<DTypeError>(targets.dtype() == DType::int64 || targets.dtype() == DType::int32, [&] {
    return std::string("ctc_loss: expected targets of dtype int64 or int32, got ") + name(targets.dtype());
  });
  check<ShapeError>(targets.dim() == 1 || targets.dim() == 2,
                    [&] { return "ctc_loss: expected targets [N, S] or all in a row, got " + targets.shape().str(); });
  const Tensor t = to(targets, DType::int64);
  if (t.dim() == 1 && !lengths.on_cpu)
    lengths.known = lengths.there.to(Device()).to_vector<std::int64_t>(), lengths.on_cpu = true;
  lengths.limit(t.dim() == 1 ? t.numel() : t.size(1));
  if (t.dim() == 1) return padded(t, lengths.known);
  if (!lengths.on_cpu) return contiguous(t);
  const std::int64_t most = lengths.known.empty() ? 0 : *std::max_element(lengths.known.begin(), lengths.known.end());
  return contiguous(narrow(t, 1, 0, most));
}

}  // namespace

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CtcLossOptions& o) {
  if (const amp::CastScope cast{amp::Name::ctc_loss, log_probs})
    return ctc_loss(cast(log_probs), targets, input_lengths, target_lengths, o);
  check_given("ctc_loss", "log_probs", log_probs);
  const bool batched = log_probs.dim() != 2;
  const Tensor x = batched ? log_probs : unsqueeze(log_probs, 1);
  Lengths times("input_lengths", input_lengths, x.device()), labels("target_lengths", target_lengths, x.device());
  if (x.dim() == 3) times.limit(x.size(0));
  const Tensor rows = targets_of(targets, labels);
  const bool recorded = !(state.active & (kNoGrad | kInference)) && x.requires_grad();
  const bool lies_right = x.dim() != 3 || x.size(2) == 1 || x.spec().strides[2] == 1;
  Tensor loss = apply(CtcLoss{o.blank, o.zero_infinity, recorded}, lies_right ? x : contiguous(x), rows, times.there,
                      labels.there)[0];
  if (o.zero_infinity) loss = where(loss == kInfinity, 0, loss);
  if (o.reduction == Reduction::mean) return mean(loss / clamp_min(to(labels.there, loss.dtype()), 1));
  if (o.reduction == Reduction::sum) return sum(loss);
  return batched ? loss : squeeze(loss, 0);
}

}  // namespace neura

NEURA_DEFINE_OPERATION(ctc_loss_backward, CtcLossBackward);
NEURA_DEFINE_OPERATION(ctc_loss, CtcLoss);
