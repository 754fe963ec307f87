// group_norm, batch_norm and instance_norm.
#include "neura/core/wrapped.h"
#include "neura/op/registry.h"
#include "neura/op/safe.h"
#include "neura/ops/nn/norm.h"
#include "neura/ops/nn/norm_common.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"

namespace neura {

void check_norm_dtypes(const char* op, const Spec& x, const Spec& w, const Spec& b) {
  check<DTypeError>(is_floating(x.dtype), [&] {
    return std::string(op) + ": expected a floating input, got " + x.str() + "; convert it first";
  });
  for (const Spec* p : {&w, &b})
    check<DTypeError>(p->rank == kAbsent || p->dtype == x.dtype || p->dtype == accumulation(x.dtype), [&] {
      return std::string(op) + ": expected " + (p == &w ? "weight" : "bias") + " of the input's dtype " +
             name(x.dtype) + ", got " + name(p->dtype);
    });
}

Tensor around_mean(const Tensor& x, const Dims& dims) {
  const Tensor d = x - neura::mean(x, dims, true);
  return d - neura::mean(d, dims, true);
}

Tensor scaled(const Tensor& xhat, const Tensor& weight, const Tensor& bias, DType dtype) {
  Tensor y = weight ? xhat * weight : xhat;
  if (bias) y = y + bias;
  return to(y, dtype);
}

namespace {

Dims all_but_channels(int rank) {
  Dims d(0);
  for (int i = 2; i < rank; ++i) d.push_back(i);
  return d;
}
// One value for each channel, as it meets x [N, C, …]; absent where it is.
Tensor of_channels(const Tensor& t, const Tensor& x) {
  if (!t) return t;
  Shape s = Shape::filled(x.dim(), 1);
  s[1] = x.shape()[1];
  return reshape(t, s);
}

// A contiguous x [N, C, …], and one value of each parameter for each channel.
bool is_safe_channel_norm(const Spec& x, std::initializer_list<const Spec*> parameters) {
  if (!safe::contiguous(x) || x.rank < 2) return false;
  for (const Spec* p : parameters)
    if (!safe::contiguous(*p) || !safe::absent_or_vector(*p, x.shape[1])) return false;
  return true;
}

struct ChannelGradients {  // which are wanted, and what comes out
  bool x, w, b;
  DType parameter;
  NEURA_FIELDS(x, w, b, parameter)
  void infer(const Spec& in, Spec& gx, Spec& gw, Spec& gb) const {
    gx = Spec::dense(in.dtype, x ? in.sizes() : Shape{0}, in.device);
    gw = Spec::dense(parameter, Shape{w ? in.shape[1] : 0}, in.device);
    gb = Spec::dense(parameter, Shape{b ? in.shape[1] : 0}, in.device);
  }
};
ChannelGradients wanted_of(const Gradient& g) {
  using In = NormOperands::In;
  return {g.needs(In::input), g.needs(In::weight), g.needs(In::bias), parameter_dtype(g, g.input(In::input).dtype())};
}
// True if nothing but the bias needs a gradient: it is then a sum.
bool sums_for_bias(Gradient& g) {
  using In = NormOperands::In;
  if (g.needs(In::input) || g.needs(In::weight)) return false;
  g.result[In::bias] = sum(g.g[0], all_but_channels(g.g[0].dim()));
  return true;
}
template <class Op, class... In> void fused_gradients(Gradient& g, const Op& op, const In&... in) {
  auto r = apply(op, in...);
  for (int i = 0; i < NormOperands::In::count; ++i)
    if (g.needs(i)) g.result[i] = r[std::size_t(i)];
}

struct GroupNormBackward {
  using In = NormBackwardOperands::In;
  static constexpr Operation op = operation("group_norm_backward").optional(in(In::weight));
  double eps;
  ChannelGradients wanted;
  NEURA_FIELDS(eps, wanted)
  void infer(const Spec&, const Spec& x, const Spec&, const Spec&, const Spec&, Spec& gx, Spec& gw, Spec& gb) const {
    wanted.infer(x, gx, gw, gb);
  }
  void run(Context& c, View g, View x, View mean, View var, View w, View gx, View gw, View gb) const {
    c.backend.norm->group_norm_backward(c, g, x, mean, var, w, eps, wanted.x ? gx : View(), wanted.w ? gw : View(),
                                        wanted.b ? gb : View());
  }
};
struct GroupNorm {
  using In = NormOperands::In;
  NEURA_RESULTS(y, mean, var)
  static constexpr Operation op = operation("group_norm")
                                      .optional(in(In::weight, In::bias))
                                      .saves(In::input, in(In::input, In::weight), out(Out::mean, Out::var))
                                      .saves(In::weight, in(In::input), out(Out::mean, Out::var));
  int groups;
  double eps;
  NEURA_FIELDS(groups, eps)
  bool is_safe(const Spec& x, const Spec& w, const Spec& b) const {
    return is_safe_channel_norm(x, {&w, &b}) && groups >= 1 && x.shape[1] % groups == 0;
  }
  void infer(const Spec& x, const Spec& w, const Spec& b, Spec& y, Spec& mean, Spec& var) const {
    check_norm_dtypes(op.name, x, w, b);
    y = Spec::dense(x.dtype, x.sizes(), x.device);
    mean = var = Spec::dense(accumulation(x.dtype), Shape{x.shape[0], groups}, x.device);
  }
  void run(Context& c, View x, View w, View b, View y, View mean, View var) const {
    if (x.numel()) c.backend.norm->group_norm(c, x, w, b, groups, eps, y, mean, var);
  }
  void gradient(Gradient& g) const {
    if (sums_for_bias(g)) return;
    const Tensor &x = g.input(In::input), w = g.needs(In::input) ? g.input(In::weight) : Tensor();
    fused_gradients(g, GroupNormBackward{eps, wanted_of(g)}, contiguous(g.g[Out::y]), x, g.output(Out::mean),
                    g.output(Out::var), w);
  }
  std::array<Tensor, 3> define(const Tensor& x, const Tensor& w, const Tensor& b) const {
    const Shape sizes = x.shape(), statistics{sizes[0], groups};
    const Shape rows{sizes[0], groups, Shape(sizes.begin() + 1, std::size_t(sizes.size() - 1)).numel() / groups};
    const Tensor grouped = reshape(to(x, accumulation(x.dtype())), rows), d = around_mean(grouped, 2);
    const Tensor var = mean(d * d, 2, true), xhat = reshape(d * rsqrt(var + eps), sizes);
    return {scaled(xhat, of_channels(w, x), of_channels(b, x), x.dtype()), reshape(mean(grouped, 2), statistics),
            reshape(var, statistics)};
  }
};

struct BatchNormBackward {
  using In = NormBackwardOperands::In;
  static constexpr Operation op = operation("batch_norm_backward").optional(in(In::weight));
  bool training;
  double eps;
  ChannelGradients wanted;
  NEURA_FIELDS(training, eps, wanted)
  void infer(const Spec&, const Spec& x, const Spec&, const Spec&, const Spec&, Spec& gx, Spec& gw, Spec& gb) const {
    wanted.infer(x, gx, gw, gb);
  }
  void run(Context& c, View g, View x, View mean, View var, View w, View gx, View gw, View gb) const {
    c.backend.norm->batch_norm_backward(c, g, x, mean, var, w, training, eps, wanted.x ? gx : View(),
                                        wanted.w ? gw : View(), wanted.b ? gb : View());
  }
};
// In training, the running statistics are those that the kernel is to move, if any.
template <bool training> struct BatchNorm {
  using In = BatchNormOperands::In;
  NEURA_RESULTS(y, mean, var)
  static constexpr ValueSet running = in(In::running_mean, In::running_var), seen = out(Out::mean, Out::var);
  static constexpr Operation op = training ? operation("batch_norm")
                                                 .optional(in(In::weight, In::bias) | running)
                                                 .writes(running)
                                                 .saves(In::input, in(In::input, In::weight), seen)
                                                 .saves(In::weight, in(In::input), seen)
                                           : operation("batch_norm_inference")
                                                 .optional(in(In::weight, In::bias))
                                                 .saves(In::input, in(In::input, In::weight), running)
                                                 .saves(In::weight, in(In::input), running);
  double eps;
  double momentum = 0;
  NEURA_FIELDS(eps, momentum)
  bool is_safe(const Spec& x, const Spec& w, const Spec& b, const Spec& running_mean, const Spec& running_var) const
      requires(!training) {
    return is_safe_channel_norm(x, {&w, &b, &running_mean, &running_var}) && is_floating(running_mean.dtype) &&
           running_mean.dtype == running_var.dtype &&
           (running_mean.dtype == x.dtype || running_mean.dtype == accumulation(x.dtype));
  }
  void infer(const Spec& x, const Spec& w, const Spec& b, const Spec&, const Spec&, Spec& y, Spec& mean,
             Spec& var) const {
    check_norm_dtypes("batch_norm", x, w, b);
    y = Spec::dense(x.dtype, x.sizes(), x.device);
    mean = var = Spec::dense(accumulation(x.dtype), Shape{training ? x.shape[1] : 0}, x.device);
  }
  void run(Context& c, View x, View w, View b, View running_mean, View running_var, View y, View mean, View var) const {
    if (training)
      c.backend.norm->batch_norm(c, x, w, b, true, eps, y, mean, var, {running_mean, running_var, momentum});
    else c.backend.norm->batch_norm(c, x, w, b, false, eps, y, running_mean, running_var, {});
  }
  void gradient(Gradient& g) const {
    if (sums_for_bias(g)) return;
    const Tensor &x = g.input(In::input), w = g.needs(In::input) ? g.input(In::weight) : Tensor();
    fused_gradients(g, BatchNormBackward{training, eps, wanted_of(g)}, contiguous(g.g[Out::y]), x,
                    training ? g.output(Out::mean) : g.input(In::running_mean),
                    training ? g.output(Out::var) : g.input(In::running_var), w);
  }
  // The results alone, without an update of the running statistics.
  std::array<Tensor, 3> define(const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& running_mean,
                               const Tensor& running_var) const {
    const Dims dims = all_but_channels(x.dim());
    const Tensor wide = to(x, accumulation(x.dtype()));
    const Tensor d = training ? around_mean(wide, dims) : wide - of_channels(running_mean, x);
    const Tensor var = training ? mean(d * d, dims, true) : of_channels(running_var, x);
    const Tensor y = scaled(d * rsqrt(var + eps), of_channels(w, x), of_channels(b, x), x.dtype());
    if (training) return {y, mean(wide, dims), reshape(var, {-1})};
    return {y, narrow(running_mean, 0, 0, 0), narrow(running_var, 0, 0, 0)};
  }
};

void check_channels(const char* op, const Tensor& x,
                    std::initializer_list<std::pair<const char*, const Tensor*>> parameters) {
  check<ShapeError>(x.dim() >= 2, [&] {
    return std::string(op) + ": expected an input of at least two dimensions [N, C, ...], got " + x.shape().str();
  });
  for (const auto& [what, t] : parameters)
    check<ShapeError>(!*t || t->shape() == Shape{x.shape()[1]}, [&, what = what, t = t] {
      return std::string(op) + ": expected " + what + " to have one value per channel [" +
             std::to_string(x.shape()[1]) + "], got " + t->shape().str();
    });
}
void check_enough(const char* op, const Tensor& x, std::int64_t values) {
  check<ValueError>(values != 1, [&] {
    return std::string(op) + ": expected more than 1 value per channel when training, got input size " +
           x.shape().str();
  });
}

void check_groups(const char* op, const Tensor& x, int groups, const Tensor& w, const Tensor& b) {
  check_channels(op, x, {{"weight", &w}, {"bias", &b}});
  check<ShapeError>(groups > 0 && x.shape()[1] % groups == 0, [&] {
    return std::string(op) + ": expected num_groups to divide the channels, got " + std::to_string(x.shape()[1]) +
           " channels and num_groups = " + std::to_string(groups);
  });
}

// running = (1 - momentum) running + momentum value, in place
void move_towards(const Tensor& running, const Tensor& value, double momentum) {
  if (!running) return;
  Tensor r = running;
  add_(mul_(r, 1 - momentum), to(value, r.dtype()) * momentum);
}
// True for a plain floating tensor without history, which may be written in place.
bool kernel_may_move(const Tensor& t) {
  return !t || (is_floating(t.dtype()) && !t.requires_grad() && !t.impl()->inference && !t.spec().overlaps());
}
// Shared by batch_norm and native_batch_norm: the three results of the operation; updates the running statistics.
std::array<Tensor, 3> batch_norm_of(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                                    const Tensor& w, const Tensor& b, const BatchNormOptions& o) {
  check_channels("batch_norm", x,
                 {{"running_mean", &running_mean}, {"running_var", &running_var}, {"weight", &w}, {"bias", &b}});
  check<ValueError>(o.training || (running_mean && running_var), [&] {
    return std::string(
        "batch_norm: expected running_mean and running_var in evaluation, got none; pass training = true");
  });
  if (!o.training) return apply(BatchNorm<false>{o.eps}, contiguous(x), w, b, running_mean, running_var);
  const bool moves = (running_mean || running_var) && x.numel() != 0;  // an empty batch has no statistics
  if (moves && kernel_may_move(running_mean) && kernel_may_move(running_var))
    return apply(BatchNorm<true>{o.eps, o.momentum}, contiguous(x), w, b, running_mean, running_var);
  auto r = apply(BatchNorm<true>{o.eps}, contiguous(x), w, b, Operand(), Operand());
  if (!moves) return r;
  const double n = double(x.numel()) / double(x.shape()[1]);
  move_towards(running_mean, detach_all(r[1]), o.momentum);
  move_towards(running_var, detach_all(r[2]) * (n / (n - 1)), o.momentum);
  return r;
}

}  // namespace

Tensor group_norm(const Tensor& input, int num_groups, const Tensor& weight, const Tensor& bias, NormOptions o) {
  check_groups("group_norm", input, num_groups, weight, bias);
  check_enough("group_norm", input, input.numel() / num_groups);
  return std::move(apply(GroupNorm{num_groups, o.eps}, contiguous(input), weight, bias)[0]);
}
std::array<Tensor, 3> native_group_norm(const Tensor& input, int num_groups, const Tensor& weight, const Tensor& bias,
                                        double eps) {
  check_groups("native_group_norm", input, num_groups, weight, bias);
  auto r = apply(GroupNorm{num_groups, eps}, contiguous(input), weight, bias);
  return {r[0], to(r[1].detach(), input.dtype()), to(rsqrt(r[2].detach() + eps), input.dtype())};
}

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight,
                  const Tensor& bias, BatchNormOptions o) {
  if (input.dim() == 1 && !input.numel()) return clone(input);  // (torch) no sample, no channel
  if (o.training && input.dim() >= 2 && input.shape()[1])
    check_enough("batch_norm", input, input.numel() / input.shape()[1]);
  return std::move(batch_norm_of(input, running_mean, running_var, weight, bias, o)[0]);
}
std::array<Tensor, 3> native_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                        const Tensor& running_mean, const Tensor& running_var, bool training,
                                        double momentum, double eps) {
  auto r = batch_norm_of(input, running_mean, running_var, weight, bias, {training, momentum, eps});
  return {r[0], to(r[1].detach(), input.dtype()), to(rsqrt(r[2].detach() + eps), input.dtype())};
}

Tensor instance_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight,
                     const Tensor& bias, InstanceNormOptions o) {
  if (!o.use_input_stats) return batch_norm(input, running_mean, running_var, weight, bias, {.eps = o.eps});
  check_channels("instance_norm", input, {{"running_mean", &running_mean}, {"running_var", &running_var}});
  const Shape sizes = input.shape();
  const std::int64_t spatial = sizes[0] && sizes[1] ? input.numel() / (sizes[0] * sizes[1]) : 0;
  const double n = double(spatial);
  check<ValueError>(n != 1, [&] {
    return "instance_norm: expected more than 1 spatial element when training, got input size " + sizes.str();
  });
  check_groups("instance_norm", input, int(sizes[1]), weight, bias);
  auto r = apply(GroupNorm{int(sizes[1]), o.eps}, contiguous(input), weight, bias);
  move_towards(running_mean, mean(detach_all(r[1]), 0), o.momentum);
  move_towards(running_var, mean(detach_all(r[2]), 0) * (n / (n - 1)), o.momentum);
  return std::move(r[0]);
}

// The window sum over channels is that of a slice for each neighbour: `size` is small.
Tensor local_response_norm(const Tensor& input, int size, LocalResponseNormOptions o) {
  check<ShapeError>(input.dim() >= 3, [&] {
    return "local_response_norm: expected an input of at least three dimensions [N, C, ...], got " +
           input.shape().str();
  });
  check<ValueError>(size > 0,
                    [&] { return "local_response_norm: expected a positive size, got " + std::to_string(size); });
  const std::int64_t channels = input.shape()[1];
  if (!input.numel()) return input;
  const Tensor squares = input * input;
  std::vector<Tensor> sums;
  for (std::int64_t k = 0; k < channels; ++k) {  // torch's window: size / 2 channels before, (size - 1) / 2 after
    const std::int64_t from = std::max<std::int64_t>(0, k - size / 2), to = std::min(channels, k + (size - 1) / 2 + 1);
    sums.push_back(sum(slice(squares, 1, from, to), 1, true));
  }
  return input / pow(cat(sums, 1) * (o.alpha / size) + o.k, o.beta);
}

}  // namespace neura

NEURA_DEFINE_OPERATION(group_norm_backward, GroupNormBackward);
NEURA_DEFINE_OPERATION(group_norm, GroupNorm);
NEURA_DEFINE_OPERATION(batch_norm_backward, BatchNormBackward);
NEURA_DEFINE_OPERATION(batch_norm, BatchNorm<true>);
NEURA_DEFINE_OPERATION(batch_norm_inference, BatchNorm<false>);
