// RNN, GRU and LSTM in ONNX's order of gates, with everything that ONNX allows; the common case goes to the recurrences
// of Neura, others run step by step.
#include <cmath>
#include <functional>

#include "neura/onnx/operators.h"
#include "neura/onnx/quantised.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/nn/recurrent.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"

namespace neura::onnx {
namespace {

using Function = std::function<Tensor(const Tensor&)>;

Function activation(const std::string& name, double alpha, double beta) {
  if (name == "Sigmoid") return [](const Tensor& x) { return sigmoid(x); };
  if (name == "Tanh") return [](const Tensor& x) { return tanh(x); };
  if (name == "Relu") return [](const Tensor& x) { return relu(x); };
  if (name == "Affine") return [=](const Tensor& x) { return add(mul(x, alpha), beta); };
  if (name == "LeakyRelu") return [=](const Tensor& x) { return leaky_relu(x, {alpha}); };
  if (name == "ThresholdedRelu") return [=](const Tensor& x) { return threshold(x, alpha, 0.0); };
  if (name == "ScaledTanh") return [=](const Tensor& x) { return mul(tanh(mul(x, beta)), alpha); };
  if (name == "HardSigmoid") return [=](const Tensor& x) { return clamp(add(mul(x, alpha), beta), {0.0, 1.0}); };
  if (name == "Elu") return [=](const Tensor& x) { return elu(x, {alpha}); };
  if (name == "Softsign") return [](const Tensor& x) { return softsign(x); };
  if (name == "Softplus") return [](const Tensor& x) { return softplus(x); };
  refuse("recurrence", "an activation of ONNX", name);
}
double usual_alpha(const std::string& name) {
  if (name == "LeakyRelu") return 0.01;
  return name == "HardSigmoid" ? 0.2 : 1;
}

struct Weights {  // of one direction
  Tensor w, r, bias_w, bias_r, p;
};

struct Recurrence {
  std::string kind;  // RNN, GRU, LSTM
  std::int64_t hidden, layout;
  int gates, directions;
  bool reverse_only, before_reset, coupled, usual = true, rectified = false, quantised = false;
  double clip;
  std::vector<Function> functions;

  explicit Recurrence(const Node& n)
      : kind(n.op == "DynamicQuantizeLSTM" ? "LSTM" : n.op),
        hidden(n.integer("hidden_size", 0)),
        layout(n.integer("layout", 0)),
        gates(kind == "LSTM"  ? 4
              : kind == "GRU" ? 3
                              : 1),
        before_reset(n.flag("linear_before_reset")),
        coupled(n.flag("input_forget")),
        quantised(n.op == "DynamicQuantizeLSTM"),
        clip(n.real("clip", 0)) {
    const std::string direction = n.text("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
      refuse(n.op, "a direction of ONNX", direction);
    directions = direction == "bidirectional" ? 2 : 1, reverse_only = direction == "reverse";
    const std::vector<std::string> each = kind == "LSTM"  ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
                                          : kind == "GRU" ? std::vector<std::string>{"Sigmoid", "Tanh"}
                                                          : std::vector<std::string>{"Tanh"};
    std::vector<std::string> names = n.texts("activations"), all;
    for (int d = 0; d < directions; ++d) all.insert(all.end(), each.begin(), each.end());
    rectified = kind == "RNN" && names == std::vector<std::string>(std::size_t(directions), "Relu");
    usual = names.empty() || names == all || rectified;
    if (names.empty()) names = all;
    if (names.size() != all.size())
      refuse(n.op, std::to_string(all.size()) + " activations", std::to_string(names.size()));
    const std::vector<double> alphas = n.reals("activation_alpha"), betas = n.reals("activation_beta");
    for (std::size_t i = 0; i < names.size(); ++i)
      functions.push_back(activation(names[i], i < alphas.size() ? alphas[i] : usual_alpha(names[i]),
                                     i < betas.size()            ? betas[i]
                                     : names[i] == "HardSigmoid" ? 0.5
                                     : names[i] == "ScaledTanh"  ? 1
                                                                 : 0));
  }

  Tensor clipped(const Tensor& x) const { return clip > 0 ? clamp(x, {-clip, clip}) : x; }

  // One step: the new h and c. `x` is W's share already.
  void step(const Weights& k, const Function* f, const Tensor& x, Tensor& h, Tensor& c) const {
    const Tensor seen = quantised ? rounded(h) : h;
    if (kind == "RNN") {
      h = f[0](clipped(add(add(x, matmul(seen, k.r.t())), k.bias_r)));
    } else if (kind == "GRU") {
      const Tensor both = narrow(k.r, 0, 0, 2 * hidden), last = narrow(k.r, 0, 2 * hidden, hidden);
      const Tensor zr =
          f[0](clipped(add(add(narrow(x, 1, 0, 2 * hidden), matmul(h, both.t())), narrow(k.bias_r, 0, 0, 2 * hidden))));
      const Tensor z = narrow(zr, 1, 0, hidden), r = narrow(zr, 1, hidden, hidden),
                   bias = narrow(k.bias_r, 0, 2 * hidden, hidden);
      const Tensor of_h =
          before_reset ? mul(r, add(matmul(h, last.t()), bias)) : add(matmul(mul(r, h), last.t()), bias);
      const Tensor candidate = f[1](clipped(add(narrow(x, 1, 2 * hidden, hidden), of_h)));
      h = add(mul(sub(1, z), candidate), mul(z, h));
    } else {
      const std::vector<Tensor> g = split(add(add(x, matmul(seen, k.r.t())), k.bias_r), hidden, 1);  // i, o, f, c
      const auto with_peephole = [&](const Tensor& gate, int at, const Tensor& cell) {
        return clipped(k.p ? add(gate, mul(narrow(k.p, 0, at * hidden, hidden), cell)) : gate);
      };
      const Tensor i = f[0](with_peephole(g[0], 0, c));
      const Tensor forget = coupled ? sub(1, i) : f[0](with_peephole(g[2], 2, c));
      c = add(mul(forget, c), mul(i, f[1](clipped(g[3]))));
      h = mul(f[0](with_peephole(g[1], 1, c)), f[2](c));
    }
  }
  // To 8 bits and back, as the quantised operator does with what it multiplies.
  static Tensor rounded(const Tensor& x) {
    const Tensor zero = zeros({}, {x.dtype(), x.device(), false});
    const Tensor low = minimum(amin(x), zero), high = maximum(amax(x), zero), range = sub(high, low);
    const Tensor scale = where(eq(range, 0), ones_like(range), neura::div(range, 255.0));
    const Tensor point = neura::round(neura::div(neg(low), scale));
    return mul(sub(clamp(add(neura::round(neura::div(x, scale)), point), {0.0, 255.0}), point), scale);
  }

  // One direction over [T, N, I]: Y [T, N, H], and the last h and c.
  std::array<Tensor, 3> run(const Weights& k, const Function* f, const Tensor& x, Tensor h, Tensor c,
                            const Tensor& lengths, bool reverse) const {
    const std::int64_t steps = x.size(0);
    const Tensor shares = add(matmul(quantised ? rounded(x) : x, k.w.t()), k.bias_w);
    std::vector<Tensor> out(static_cast<std::size_t>(steps));
    for (std::int64_t n = 0; n < steps; ++n) {
      const std::int64_t t = reverse ? steps - 1 - n : n;
      Tensor h_next = h, c_next = c;
      step(k, f, select(shares, 0, t), h_next, c_next);
      Tensor y = h_next;
      if (lengths) {  // after its end, a sequence keeps its state and gives zeros
        const Tensor inside = lt(neura::full_like(lengths, t), lengths).unsqueeze(1);
        y = where(inside, h_next, zeros_like(h_next));
        h_next = where(inside, h_next, h);
        if (c) c_next = where(inside, c_next, c);
      }
      h = h_next, c = c_next, out[std::size_t(t)] = y;
    }
    if (out.empty()) refuse(kind, "at least one step", "none");
    return {stack(out), h, c};
  }

  Tensor reordered(const Tensor& t) const {  // ONNX's gates in torch's order, along dimension 0
    if (kind == "RNN") return t;
    const std::vector<Tensor> g = split(t, hidden, 0);
    return kind == "GRU" ? cat({g[1], g[0], g[2]}) : cat({g[0], g[2], g[3], g[1]});
  }
  // The recurrences of Neura, where nothing is unusual.
  Results fused(const std::vector<Weights>& k, const Tensor& given, const Tensor& h, const Tensor& c) const {
    const Tensor x = reverse_only ? flip(given, {0}) : given;
    const auto turned = [&](const Tensor& y) { return Value(reverse_only ? flip(y, {0}) : y); };
    std::vector<Tensor> params;
    for (const Weights& one : k)
      for (const Tensor& t : {one.w, one.r, one.bias_w, one.bias_r}) params.push_back(reordered(t));
    RecurrentOptions o;
    o.bidirectional = directions == 2;
    if (kind == "LSTM") {
      const LstmResult r = lstm(x, {h, c}, params, o);
      return {turned(r.output), Value(r.h), Value(r.c)};
    }
    const RecurrentResult r = kind == "GRU" ? gru(x, h, params, o)
                              : rectified   ? rnn_relu(x, h, params, o)
                                            : rnn_tanh(x, h, params, o);
    return {turned(r.first), Value(r.second)};
  }

  Results operator()(const Operands& x, const std::vector<Weights>& k, const Tensor& peephole) const {
    const Tensor in = layout ? transpose(x[0], 0, 1) : x[0];
    if (in.dim() != 3 || int(k.size()) != directions)
      throw ShapeError(kind + ": expected [steps, batch, width], got " + in.shape().str());
    const std::int64_t batch = in.size(1), steps = in.size(0);
    const auto state = [&](std::size_t i) {
      if (!x.has(i)) return zeros({directions, batch, hidden}, {in.dtype(), in.device(), false});
      return layout ? transpose(x[i], 0, 1) : x[i];
    };
    const Tensor h = state(5), c = kind == "LSTM" ? state(6) : Tensor();
    Tensor y;
    Results out;
    const bool plain =
        usual && !x.has(4) && !peephole && clip == 0 && !coupled && !quantised && (kind != "GRU" || before_reset);
    if (plain) {
      out = fused(k, in, h.contiguous(), c ? c.contiguous() : c);
      y = transpose(reshape(out[0].tensor, {steps, batch, directions, hidden}), 1, 2);
    } else {
      std::vector<Tensor> ys, hs, cs;
      for (int d = 0; d < directions; ++d) {
        const auto at = std::size_t(d);
        const auto [one, last, cell] =
            run(k[at], &functions[functions.size() / std::size_t(directions) * at], in, select(h, 0, d),
                c ? select(c, 0, d) : c, x.has(4) ? x[4].to(int64) : Tensor(), reverse_only || d == 1);
        ys.push_back(one), hs.push_back(last), cs.push_back(cell);
      }
      y = stack(ys, 1);
      out = {Value(), Value(stack(hs))};
      if (c) out.push_back(Value(stack(cs)));
    }
    out[0] = Value(layout ? permute(y, {2, 0, 1, 3}) : y);
    for (std::size_t i = 1; i < out.size() && layout; ++i) out[i] = Value(transpose(out[i].tensor, 0, 1));
    return out;
  }
};

Results recurrent(const Recurrence& given, const Operands& x, const Tensor& w, const Tensor& r,
                  const Tensor& peephole) {
  Recurrence k = given;
  if (w.dim() != 3 || r.dim() != 3)
    throw ShapeError(k.kind + ": expected weights [directions, gates * hidden, width], got " + w.shape().str());
  k.hidden = r.size(2);
  if (r.size(1) != k.gates * k.hidden || w.size(1) != r.size(1))
    throw ShapeError(k.kind + ": expected weights of " + std::to_string(k.gates) + " gates, got " + r.shape().str());
  std::vector<Weights> weights;
  for (std::int64_t d = 0; d < w.size(0); ++d) {
    const std::int64_t rows = w.size(1);
    const Tensor b = x.has(3) ? select(x[3], 0, d) : zeros({2 * rows}, {w.dtype(), w.device(), false});
    weights.push_back({select(w, 0, d), select(r, 0, d), narrow(b, 0, 0, rows), narrow(b, 0, rows, rows),
                       peephole ? select(peephole, 0, d) : Tensor()});
  }
  return k(x, weights, peephole);
}
BoundNode recurrence(const Node& n) {
  const bool lstm_form = n.op == "LSTM";
  return [k = Recurrence(n), lstm_form](const Operands& x) {
    return recurrent(k, x, x[1], x[2], lstm_form ? x.maybe(7) : Tensor());
  };
}
// com.microsoft: weights of 8 bits, [directions, width, gates * hidden], with scales and zero points.
BoundNode quantised_recurrence(const Node& n) {
  return [k = Recurrence(n)](const Operands& x) {
    const auto weight = [&](std::size_t i, std::size_t scale) {
      const auto spread = [&](const Tensor& t) {
        return t.dim() == 2 ? t.unsqueeze(1) : t.dim() == 1 ? t.reshape({t.numel(), 1, 1}) : t;
      };
      Tensor t = x[i].to(float32);
      if (x.has(scale + 1)) t = sub(t, spread(x[scale + 1].to(float32)));
      return transpose(mul(t, spread(x[scale])), 1, 2).contiguous();
    };
    return recurrent(k, x, weight(1, 8), weight(2, 10), x.maybe(7));
  };
}

}  // namespace

std::span<const Operator> recurrent_operators() {
  constexpr Types plain = Types::plain;
  constexpr Folding never = Folding::never;
  static const Operator rows[] = {
      {"RNN", 7, kNewest, recurrence, plain, never},
      {"GRU", 7, kNewest, recurrence, plain, never},
      {"LSTM", 7, kNewest, recurrence, plain, never},
      {"DynamicQuantizeLSTM", 1, kNewest, quantised_recurrence, plain, never, "com.microsoft"},
  };
  return rows;
}

}  // namespace neura::onnx
