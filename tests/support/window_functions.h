// Functions for compiled functions on devices: each is run as it is and with a window, and gives the same bits.
#pragma once
#include <functional>

#include "neura/graph/window.h"
#include "neura/neura.h"
#include "tests/support/sample.h"

namespace neura::test {

struct WindowFunction {
  const char* name;
  std::function<std::vector<Tensor>(Device)> run;
};

template <class F> auto compiled(const F& f) {
  return graph::compile([f](Device d) { return f(d); });
}
inline Tensor sample_on(Device d, const Shape& s, DType dtype = float32, std::uint64_t seed = 0) {
  return sample(s, dtype, {.seed = seed}).to(d);
}

// Chains of rows over operands that broadcast, by the seed.
inline std::vector<Tensor> random_chain(Device d, std::uint64_t seed) {
  Dice dice{seed};
  const DType dtypes[] = {float32, float32, bfloat16, float16, float64};
  const Shape shapes[] = {{33, 70}, {33, 70}, {70}, {33, 1}, {1}, {1, 70}};
  std::vector<Tensor> pool;
  for (int i = 0; i < 4; ++i)
    pool.push_back(
        sample_on(d, i ? shapes[dice.below(6)] : shapes[0], dtypes[dice.below(5)], dice.bits()).requires_grad_(i % 2));
  const auto pick = [&] { return pool[std::size_t(dice.below(std::int64_t(pool.size())))]; };
  for (int i = 0; i < 12; ++i) {
    const Tensor x = pick(), y = pick();
    switch (dice.below(10)) {
      case 0:
        pool.push_back(x * y);
        break;
      case 1:
        pool.push_back(x + y);
        break;
      case 2:
        pool.push_back(tanh(x) - y);
        break;
      case 3:
        pool.push_back(sigmoid(x) * 0.5);
        break;
      case 4:
        pool.push_back(where(x > y, x, y));
        break;
      case 5:
        pool.push_back(gelu(x));
        break;
      case 6:
        pool.push_back(relu(y) + 1.0);
        break;
      case 7:
        pool.push_back(sum(x, {-1}, true));
        break;
      case 8:
        pool.push_back(contiguous((x.detach() + 0.0).t()).t());
        break;  // strided
      default:
        pool.push_back(maximum(x, y));
    }
    if (dice.below(6) == 0 && !pool.back().requires_grad()) add_(pool.back(), 0.25);
  }
  Tensor loss = zeros({}, {.dtype = float64, .device = d});
  for (std::size_t i = 4; i < pool.size(); ++i) loss = loss + sum(to(pool[i], float64));
  std::vector<Tensor> all(pool.begin() + 4, pool.end());
  if (loss.requires_grad()) loss.backward();
  for (int i = 0; i < 4; ++i)
    if (pool[std::size_t(i)].grad()) all.push_back(pool[std::size_t(i)].grad());
  return all;
}

inline std::vector<WindowFunction> window_functions() {
  return {
      {"a chain",
       [](Device d) {
         const Tensor a = sample_on(d, {50, 70}), b = sample_on(d, {50, 70}, float32, 1), c = b * 2.0;
         return std::vector{gelu(a * b + c) * sigmoid(c) - a};
       }},
      {"operands that broadcast",
       [](Device d) {
         const Tensor x = sample_on(d, {8, 5, 70}), row = sample_on(d, {70}, bfloat16, 1);
         const Tensor column = sample_on(d, {5, 1}, float32, 2), one = sample_on(d, {}, float32, 3);
         return std::vector{relu(x * column + row) * one, where(x > row, x, column) * 2.0};
       }},
      {"gradients of a norm by hand",
       [](Device d) {
         const Tensor x = sample_on(d, {16, 70}).requires_grad_(), w = sample_on(d, {70}, float32, 1).requires_grad_();
         const Tensor centred = x - mean(x, {-1}, true);
         const Tensor y = centred * rsqrt(mean(centred * centred, {-1}, true) + 1e-5) * w;
         sum(tanh(y)).backward();
         return std::vector{y.detach(), x.grad(), w.grad()};
       }},
      {"writes in place",
       [](Device d) {
         Tensor x = sample_on(d, {16, 70});
         const Tensor before = exp(x);
         add_(x, 1.0);
         Tensor y = x * 2.0;
         mul_(y, before);
         y.slice(0, 0, 3).fill_(7.0);
         return std::vector{before, x, y, y + x};
       }},
      {"a training step",
       [](Device d) {
         manual_seed(3);
         nn::Linear net(70, 10);
         net.to(d);
         optim::AdamW adam(net.parameters(), {.lr = 0.1});
         std::vector<Tensor> all;
         for (std::uint64_t i = 0; i < 3; ++i) {
           adam.zero_grad();
           const Tensor x = sample_on(d, {16, 70}, float32, i);
           const Tensor loss = square(dropout(gelu(net(x) * 2.0) + 1.0, 0.25)).mean();
           loss.backward(), adam.step();
           all.push_back(loss.detach());
         }
         for (const Tensor& p : net.parameters()) all.push_back(p.detach().clone());
         return all;
       }},
  };
}

}  // namespace neura::test
