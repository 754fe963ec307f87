// An operation of your own, y = x / (1 + |x|), in two ways. As a Function it is two functions of tensors: enough where
// other operations are fast enough. As a struct it has a kernel, and everything that goes through the dispatcher
// knows it: gradients, tracing, vmap, the profiler. Finite differences say whether the derivatives are right.
#include <neura/backend/context.h>
#include <neura/graph/trace.h>
#include <neura/neura.h>

#include <cmath>

#include "example.h"

using namespace neura;

// 1. A Function. Only the result is saved: 1 / (1 + |x|) is 1 - |y|.
struct SquashFunction final : Function {
  const char* name() const override { return "squash_function"; }
  std::vector<Tensor> forward(FunctionContext& context, const std::vector<Tensor>& x) override {
    const Tensor y = x[0] / (1 + abs(x[0]));
    context.save_for_backward({y});
    return {y};
  }
  std::vector<Tensor> backward(FunctionContext& context, const std::vector<Tensor>& g) override {
    return {g[0] * square(1 - abs(context.saved_tensors()[0]))};
  }
};
Tensor squash_function(const Tensor& x) { return apply_function(std::make_shared<SquashFunction>(), {x})[0]; }

// 2. A struct: what comes out (infer), for what the kernel is (accepts), the kernel (run), the same in terms of other
// operations where it is not (define), and the gradient.
struct Squash {
  static constexpr Operation op = operation("example_squash").saves(0, out(0));
  NEURA_FIELDS()  // no attributes

  void infer(const Spec& x, Spec& y) const {
    check<DTypeError>(x.dtype == float32 || x.dtype == float64,
                      [&] { return "squash: expected float32 or float64, got " + std::string(name(x.dtype)); });
    y = Spec::dense(x.dtype, x.sizes(), x.device);
  }
  bool accepts(const Backend&, const Spec& x) const { return x.device.is_cpu() && x.contiguous; }
  void run(Context&, View x, View y) const {
    const auto line = [n = x.numel()]<class T>(const T* in, T* result) {
      for (std::int64_t i = 0; i < n; ++i) result[i] = in[i] / (1 + std::abs(in[i]));
    };
    if (x.dtype() == float32) line(x.as<const float>(), y.as<float>());
    else line(x.as<const double>(), y.as<double>());
  }
  Tensor define(const Tensor& x) const { return x / (1 + abs(x)); }
  void gradient(Gradient& g) const { g.result[0] = g.g[0] * square(1 - abs(g.output())); }
};
Tensor squash(const Tensor& x) { return apply(Squash{}, x); }

int main(int argc, char** argv) {
  const auto [device, quick] = example::options(argc, argv, "Operations of your own, with their derivatives.");
  manual_seed(0);
  const Tensor x = randn({4, 5}, {.dtype = float64, .device = device}).requires_grad_();
  example::check(allclose(squash(x), squash_function(x)), "both compute the same");
  example::check(allclose(squash(x.t()), squash(x).t()), "and where the kernel is not for it, the definition runs");

  const auto by_struct = [](const std::vector<Tensor>& in) { return std::vector{squash(in[0])}; };
  const auto by_function = [](const std::vector<Tensor>& in) { return std::vector{squash_function(in[0])}; };
  example::check(gradcheck(by_struct, {x}) && gradgradcheck(by_struct, {x}), "the struct: both derivatives are right");
  example::check(gradcheck(by_function, {x}) && gradgradcheck(by_function, {x}), "the Function: the same");

  // Registered under its name, it can be read back from the text of a program.
  register_operation(row_of<Squash>);
  const Tensor input = randn({3}).to(device);
  const auto program =
      graph::trace([](std::span<const Tensor> in) { return std::vector{squash(in[0]) * 2}; }, {{input}});
  const std::string text = graph::str(program);
  std::printf("%s", text.c_str());
  const Tensor again = graph::run(graph::parse(text), {{input}})[0];
  example::check(equal(again, squash(input) * 2), "a traced program calls it by its name");

  // In a network
  nn::Linear first(2, 32), last(32, 1);
  first.to(device), last.to(device);
  std::vector<Tensor> parameters = first.parameters();
  for (const Tensor& p : last.parameters()) parameters.push_back(p);
  optim::Adam optimizer(parameters, {.lr = 0.02});
  const Tensor points = randn({256, 2}).to(device), target = points.slice(1, 0, 1) * points.slice(1, 1, 2);
  double begin = 0, end = 0;
  for (int step = 0; step < (quick ? 150 : 600); ++step) {
    const Tensor loss = mse_loss(last(squash(first(points))), target);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    end = loss.item<double>();
    if (step == 0) begin = end;
  }
  std::printf("loss %.4f -> %.4f\n", begin, end);
  example::check(end < begin / 4, "a network learns through it");
}
