// Sizes in types: a network whose layers fit because the program compiles. Only the batch's size is unknown before it
// runs. The types are a header of two pages (shaped.h), a prototype over the library's tensors;
// tests/refused/shaped.cpp has the programs that do not compile, and what the compiler says.
#include <neura/neura.h>

#include <chrono>
#include <type_traits>

#include "example.h"
#include "shaped.h"

using namespace neura;
using shaped::kAny;
using shaped::Shaped;

using Batch = Shaped<float, kAny, 8>;
struct Net {
  Shaped<float, 32, 8> w1{(randn({32, 8}) * 0.3).requires_grad_()};
  Shaped<float, 32> b1{zeros({32}).requires_grad_()};
  Shaped<float, 3, 32> w2{(randn({3, 32}) * 0.2).requires_grad_()};
  Shaped<float, 3> b2{zeros({3}).requires_grad_()};
  std::vector<Tensor> parameters() const { return {w1.tensor(), b1.tensor(), w2.tensor(), b2.tensor()}; }
  // The type of the result is said here; every other one follows.
  Shaped<float, kAny, 3> operator()(const Batch& x) const { return linear(relu(linear(x, w1, b1)), w2, b2); }
};
// What the types say costs nothing: a tensor of known sizes is a tensor.
static_assert(sizeof(Batch) == sizeof(Tensor));
static_assert(std::is_same_v<decltype(matmul(Batch{Tensor()}, shaped::randn<float, 8, 4>())), Shaped<float, kAny, 4>>);
static_assert(std::is_same_v<decltype(transpose(shaped::randn<float, 8, 4>())), Shaped<float, 4, 8>>);
static_assert(std::is_same_v<decltype(shaped::sum<0>(shaped::randn<float, 8, 4>())), Shaped<float, 4>>);
static_assert(std::is_same_v<decltype(shaped::reshape<2, 16>(shaped::randn<float, 8, 4>())), Shaped<float, 2, 16>>);

template <class F> double nanoseconds(const F& f) {  // of a call, the least of many
  double least = 1e9;
  for (int round = 0; round < 200; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 50; ++i) f();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    least = std::min(least, took.count() / 50);
  }
  return least;
}

int main(int argc, char** argv) {
  const auto [device, quick] = example::options(argc, argv, "Tensors whose sizes are part of their type.");
  const DeviceScope on(device);
  manual_seed(1);

  // 1. Values are those of the functions without types.
  const auto a = shaped::randn<float, 4, 6>();
  const auto b = shaped::randn<float, 6, 5>();
  example::check(equal(matmul(a, b).tensor(), a.tensor().matmul(b.tensor())), "a product");
  example::check(equal((a + a).tensor(), a.tensor() * 2), "a sum");
  example::check(equal(shaped::sum<1>(transpose(a)).tensor(), sum(a.tensor(), 0)), "a reduction of what is transposed");
  example::check(equal(shaped::reshape<3, 8>(a).tensor(), a.tensor().reshape({3, 8})), "other sizes, the same numbers");

  // 2. What comes from outside is looked at once.
  try {
    Batch(randn({5, 7}));
    example::check(false, "a batch of other sizes is refused");
  } catch (const ShapeError& e) {
    std::printf("%s\n", e.what());
  }

  // 3. Training: gradients, optimizers and devices are the library's.
  const Batch x(randn({512, 8}));
  const Tensor y = x.tensor().slice(1, 0, 3).argmax(1);
  const Net net;
  optim::Adam optimizer(net.parameters(), {.lr = 0.01});
  double first = 0, last = 0;
  for (int step = 0; step < (quick ? 60 : 200); ++step) {
    const Tensor loss = cross_entropy(net(x).tensor(), y);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    last = loss.item<double>();
    if (step == 0) first = last;
  }
  std::printf("loss %.3f -> %.3f\n", first, last);
  example::check(last < first / 2, "the network learned");

  // 4. What it costs while the program runs: nothing but what the clock makes of it.
  const NoGrad guard;
  const Tensor one = a.tensor();
  const double plain = nanoseconds([&] { return relu(one + one); }), typed = nanoseconds([&] { return relu(a + a); });
  std::printf("relu(a + a) of 24 numbers: %.0f ns without sizes in types, %.0f ns with them\n", plain, typed);
}
