// What the dispatcher costs: operations on eight floats, recorded and not, and a chain forward and backward.
#include <benchmark/benchmark.h>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

struct Eight {
  Tensor a = full({8}, 1.5), b = full({8}, 0.5), w = full({8}, 0.75).requires_grad_(),
         v = full({8}, 1.25).requires_grad_();
  Tensor column = full({8, 1}, 1.0), square = full({8, 8}, 1.0), out = full({8}, 0.0), two = full({2, 2}, 1.0);
};

template <class F> void run(benchmark::State& state, F f) {
  Eight e;
  for (auto _ : state) benchmark::DoNotOptimize(f(e));
}
#define CASE(name, expression)                   \
  void name(benchmark::State& s) {               \
    run(s, [](Eight& e) { return expression; }); \
  }                                              \
  BENCHMARK(name)
CASE(eight_add, e.a + e.b);
CASE(eight_add_recorded_saving_nothing, e.w + e.v);
CASE(eight_mul_recorded_saving_one, e.w* e.a);
CASE(eight_mul_recorded_saving_two, e.w* e.v);
CASE(eight_mul_number, e.a * 2.0);
CASE(eight_add_in_place, &(e.a += e.b));
CASE(eight_add_out, &add_out(e.out, e.a, e.b));
CASE(eight_add_broadcast, e.column + e.a);
CASE(eight_tanh, tanh(e.a));
CASE(eight_select, select(e.square, 0, 3));
CASE(eight_sum, sum(e.a));
CASE(two_matmul, matmul(e.two, e.two));

void eight_add_no_grad(benchmark::State& state) {
  Eight e;
  NoGrad off;
  for (auto _ : state) benchmark::DoNotOptimize(e.w + e.v);
}
BENCHMARK(eight_add_no_grad);

// Ten operations, mul and add in turn; the time is per operation.
void chain(benchmark::State& state, bool recorded, bool backwards) {
  Eight e;
  NoGrad mode(!recorded);
  for (auto _ : state) {
    Tensor x = e.w;
    for (int i = 0; i < 5; ++i) x = x * e.b + e.a;
    if (backwards) x.backward(e.b), e.w.set_grad({});
    benchmark::DoNotOptimize(x);
  }
  state.SetItemsProcessed(state.iterations() * 10);
}
BENCHMARK_CAPTURE(chain, forward, false, false);
BENCHMARK_CAPTURE(chain, recorded, true, false);
BENCHMARK_CAPTURE(chain, forward_and_backward, true, true);

}  // namespace
}  // namespace neura
