// Each pass on a program that shows what it does, and what it must leave.
#include "neura/graph/passes.h"

#include <algorithm>

#include "neura/graph/trace.h"
#include "neura/neura.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using graph::parse;
using graph::Program;
using graph::str;

std::string program(const std::string& lines) { return "program\n" + lines; }

TEST(Passes, DeadCallsGoAndDrawsStay) {
  const Program p =
      parse(program("%0 = input : float32 [2]\n"
                    "%1 = captured w : float32 [2]\n"
                    "%2 = captured v : float32 [2]\n"
                    "%3 = exp(%0) : float32 [2]\n"
                    "%4 = mul(%3, %2) : float32 [2]\n"
                    "%5 = dropout(%0) {numbers=[seed=1, offset=2, reserved=false], p=0.5, group=1} : float32 [2]\n"
                    "%6 = add(%1, 1) in %1 : float32 [2]\n"
                    "%7 = sin(%0) : float32 [2]\n"
                    "update %1 = %6\n"
                    "return %7\n"));
  EXPECT_EQ(str(without_dead(p)),
            program("%0 = input : float32 [2]\n"
                    "%1 = captured w : float32 [2]\n"
                    "%2 = dropout(%0) {numbers=[seed=1, offset=2, reserved=false], p=0.5, group=1} : float32 [2]\n"
                    "%3 = add(%1, 1) in %1 : float32 [2]\n"
                    "%4 = sin(%0) : float32 [2]\n"
                    "update %1 = %3\n"
                    "return %4\n"));
}
TEST(Passes, EqualCallsAreMadeOnce) {
  const Program p =
      parse(program("%0 = input : float32 [2]\n"
                    "%1 = exp(%0) : float32 [2]\n"
                    "%2 = exp(%0) : float32 [2]\n"
                    "%3 = add(%1, %2) : float32 [2]\n"
                    "%4 = add(%2, %1) : float32 [2]\n"
                    "%5 = mul(%3, 2) : float32 [2]\n"
                    "%6 = mul(%4, 2.0) : float32 [2]\n"
                    "%7 = exp(%0) region 1 : float32 [2]\n"
                    "%8 = mul(%4, 2) in %4 : float32 [2]\n"
                    "%9 = sub(%5, %6) : float32 [2]\n"
                    "%10 = sub(%7, %8) : float32 [2]\n"
                    "%11 = exp(%0) : float32 [2]\n"
                    "return %9, %10, %11\n"));
  EXPECT_EQ(str(without_repeats(p)), program("%0 = input : float32 [2]\n"
                                             "%1 = exp(%0) : float32 [2]\n"
                                             "%2 = add(%1, %1) : float32 [2]\n"
                                             "%3 = mul(%2, 2) : float32 [2]\n"
                                             "%4 = mul(%2, 2.0) : float32 [2]\n"
                                             "%5 = exp(%0) region 1 : float32 [2]\n"
                                             "%6 = mul(%2, 2) in %2 : float32 [2]\n"
                                             "%7 = sub(%3, %4) : float32 [2]\n"
                                             "%8 = sub(%5, %6) : float32 [2]\n"
                                             "%9 = exp(%0) : float32 [2]\n"
                                             "return %7, %8, %9\n"));
  const Tensor x = sample({2});
  const auto want = run(p, {{x}}), got = run(without_repeats(p), {{x}});
  for (std::size_t i = 0; i < want.size(); ++i) expect_same(got[i], want[i]);
}
TEST(Passes, ConstantsAreComputedInAdvance) {
  const Program p =
      parse(program("%0 = input : float32 [2]\n"
                    "%1 = captured w : float32 [2]\n"
                    "%2 = constant <0000803f00000040> : float32 [2]\n"
                    "%3 = mul(%2, 2) : float32 [2]\n"
                    "%4 = permute(%2) {dims=[0]} : float32 [2]\n"
                    "%5 = add(%4, %3) : float32 [2]\n"
                    "%6 = dropout(%5) {numbers=[seed=0, offset=0, reserved=false], p=0.5, group=1} : float32 [2]\n"
                    "%7 = mul(%0, %5) : float32 [2]\n"
                    "%8 = add(%3, 1) in %3 : float32 [2]\n"
                    "return %7, %6, %8\n"));
  EXPECT_EQ(str(folded(p)),
            program("%0 = input : float32 [2]\n"
                    "%1 = constant <0000004000008040> : float32 [2]\n"
                    "%2 = constant <000040400000c040> : float32 [2]\n"
                    "%3 = dropout(%2) {numbers=[seed=0, offset=0, reserved=false], p=0.5, group=1} : float32 [2]\n"
                    "%4 = mul(%0, %2) : float32 [2]\n"
                    "%5 = add(%1, 1) in %1 : float32 [2]\n"
                    "return %4, %3, %5\n"));
  const Tensor x = sample({2});
  for (int i = 0; i < 2; ++i) expect_same(run(folded(p), {{x}})[2], tensor({3.0f, 5.0f}));
}

std::size_t calls_of(const Program& p, std::string_view name) {
  return std::size_t(
      std::count_if(p.nodes.begin(), p.nodes.end(), [&](const graph::Node& n) { return n.row->name == name; }));
}
Tensor chain(const Tensor& a, const Tensor& b, const Tensor& c) { return gelu(a * b + c) * sigmoid(c) - a; }

TEST(Passes, AChainOfPointwiseCallsIsOneCall) {
  for (const DType d : {float32, float64, float16, bfloat16, complex64})
    for (const std::int64_t n : {2, 63, 64, 65, 1023, 1025, 5000, 70001}) {
      SCOPED_TRACE(std::string(name(d)) + " " + std::to_string(n));
      const auto f = [&](auto in) {
        const Tensor y = is_complex(d) ? exp(in[0] * in[1] + in[2]) * tanh(in[2]) - in[0] : chain(in[0], in[1], in[2]);
        return std::vector{y};
      };
      const std::vector<Tensor> in{sample({n}, d), sample({n}, d, {.seed = 1}), sample({n}, d, {.seed = 2})};
      const Program p = graph::trace(f, in), q = fused(p);
      ASSERT_EQ(q.nodes.size(), 1u) << str(p);
      expect_same(run(q, in)[0], f(in)[0]);
      EXPECT_EQ(str(parse(str(q))), str(q));
    }
}
TEST(Passes, MixedDtypesMasksAndNumbersAreFused) {
  const auto f = [](auto in) {
    const Tensor &x = in[0], &mask = in[1], &whole = in[2], &one = in[3];
    const Tensor y = where(mask & (x > 0.25), x * whole + one, neg(x) / 3);
    return std::vector{to(y, float64).sum(), leaky_relu(y, 0.125) * 2 >= one};
  };
  const std::int64_t n = 3001;
  const std::vector<Tensor> in{sample({n}), sample({n}, boolean), sample({n}, int32), full({}, 0.5)};
  const Program p = graph::trace(f, in), q = fused(p);
  EXPECT_EQ(calls_of(q, "fused") + calls_of(q, "fused_2"), 2u)
      << str(q);  // `y`, its conversion; what reads it after sum
  EXPECT_EQ(q.nodes.size(), 3u) << str(q);
  const auto want = f(in), got = run(q, in);
  for (std::size_t i = 0; i < want.size(); ++i) expect_same(got[i], want[i]);
}
TEST(Passes, BroadcastOperandsAreFused) {
  const std::pair<Shape, Shape> cases[] = {{{70, 33}, {33}},        {{70, 33}, {70, 1}},    {{4, 3000}, {1, 3000}},
                                           {{4, 3000}, {4, 1}},     {{3, 5, 700}, {5, 1}},  {{3, 5, 700}, {3, 1, 1}},
                                           {{3, 5, 700}, {5, 700}}, {{3, 5, 7}, {3, 5, 1}}, {{600, 3, 2, 2}, {3, 1, 1}},
                                           {{70, 33}, {1, 1}}};
  for (const auto& [whole, part] : cases)
    for (const DType d : {float32, float64, float16, complex64}) {
      SCOPED_TRACE(whole.str() + part.str() + name(d));
      const auto f = [](auto in) {
        const Tensor y = in[0] * in[1] + 1;
        return std::vector{where(in[2], y - in[1], y * 2), y};
      };
      const std::vector<Tensor> in{sample(whole, d), sample(part, d, {.seed = 1}), sample(part, boolean, {.seed = 2})};
      const Program p = graph::trace(f, in), q = fused(p);
      EXPECT_EQ(calls_of(q, "fused_2"), 1u) << str(q);
      const auto want = f(in), got = run(q, in);
      for (std::size_t i = 0; i < want.size(); ++i) expect_same(got[i], want[i]);
    }
}
TEST(Passes, OneBroadcastOfAnOperandIsFused) {  // not two, nor another order of dimensions
  const auto f = [](auto in) { return std::vector{exp(in[0]) * in[1]}; };
  const Tensor x = sample({3, 4, 5});
  for (const auto& [other, nodes] : {std::pair{sample({3, 1, 5}), 2u}, std::pair{sample({5, 4}).t(), 2u},
                                     std::pair{sample({4, 1}).expand({3, 4, 5}), 1u}}) {
    const std::vector<Tensor> in{x, other};
    const Program q = fused(graph::trace(f, in));
    EXPECT_EQ(q.nodes.size(), nodes) << str(q);
    expect_same(run(q, in)[0], f(in)[0]);
  }
}
TEST(Passes, ConversionsAreFused) {
  const DType all[] = {float32, float64, float16, bfloat16, boolean, int64, uint8, complex64};
  for (const DType from : all)
    for (const DType into : all) {
      if (from == into || is_complex(from)) continue;
      SCOPED_TRACE(std::string(name(from)) + " " + name(into));
      const auto f = [&](auto in) {  // in front, in the middle, at the end, of a row
        const Tensor x = to(in[0], into) + 1;
        return std::vector{to(to(x * to(in[1], into), float16) * 2, from), x};
      };
      const std::vector<Tensor> in{sample({33, 70}, from), sample({70}, from, {.seed = 1})};
      const Program p = graph::trace(f, in), q = fused(p);
      EXPECT_LE(q.nodes.size(), 3u) << str(q);
      EXPECT_EQ(str(parse(str(q))), str(q));
      const auto want = f(in), got = run(q, in);
      for (std::size_t i = 0; i < want.size(); ++i) expect_same(got[i], want[i]);
    }
}
TEST(Passes, SlopesAreFused) {
  for (const DType d : {float32, float64, float16, bfloat16}) {
    const auto f = [](auto in) {
      const Tensor x = in[0].detach().requires_grad_();
      const Tensor y = leaky_relu(tanh(sigmoid(x) - in[1]), 0.25);
      y.backward(in[2]);
      return std::vector{x.grad()};
    };
    std::vector<Tensor> in;
    for (std::uint64_t i = 0; i < 3; ++i) in.push_back(sample({33, 101}, d, {.seed = i}));
    const Program p = graph::trace(f, in), q = fused(p);
    const auto slopes = [](const Program& r) {
      return std::count_if(r.nodes.begin(), r.nodes.end(), [](auto& n) { return n.row->kind == Row::slope; });
    };
    EXPECT_EQ(slopes(p), 3) << str(p);
    EXPECT_EQ(slopes(q), 0) << str(q);
    EXPECT_EQ(str(parse(str(q))), str(q));
    expect_same(run(q, in)[0], f(in)[0]);
  }
}
TEST(Passes, ASlopeThatReadsNothingStaysApart) {
  const auto f = [](auto in) {
    const Tensor x = in[0].detach().requires_grad_();
    tanh(floor(x) + in[1]).backward(in[1]);
    return std::vector{x.grad()};
  };
  const std::vector<Tensor> in{sample({33}), sample({33}, float32, {.seed = 1})};
  const Program p = graph::trace(f, in), q = fused(p);
  EXPECT_EQ(calls_of(q, "floor_backward"), 1u) << str(q);
  expect_same(run(q, in)[0], zeros({33}));
}
TEST(Passes, WhatOthersReadLaterIsAResult) {
  const auto f = [](auto in) {
    const Tensor inner = in[0] + 1, y = exp(inner) * 2;
    Tensor z = y - in[1];
    mul_(z, 3);
    return std::vector{inner, z, transpose(in[0], 0, 1) * 2 + 1, sum(y)};
  };
  const std::vector<Tensor> in{sample({33, 7}), sample({33, 7}, float32, {.seed = 4})};
  const Program p = graph::trace(f, in), q = fused(p);
  EXPECT_EQ(calls_of(q, "fused_3"), 1u) << str(q);
  EXPECT_EQ(q.nodes.size(), p.nodes.size() - 3) << str(q);  // add, exp, mul, sub
  EXPECT_EQ(str(parse(str(q))), str(q));
  const auto want = f(in), got = run(q, in);
  for (std::size_t i = 0; i < want.size(); ++i) expect_same(got[i], want[i]);
}
TEST(Passes, WhatOthersReadBeforeIsNotFused) {
  const auto f = [](auto in) {
    const Tensor y = exp(in[0]);
    return std::vector{y * sum(y)};
  };
  const std::vector<Tensor> in{sample({33, 7})};
  const Program p = graph::trace(f, in), q = fused(p);
  EXPECT_EQ(q.nodes.size(), p.nodes.size()) << str(q);
}
TEST(Passes, WhatIsOverwrittenMeanwhileIsReadBefore) {
  const Program p =
      parse(program("%0 = captured w : float32 [64]\n"
                    "%1 = mul(%0, 2) : float32 [64]\n"
                    "%2 = add(%0, 1) in %0 : float32 [64]\n"
                    "%3 = exp(%1) : float32 [64]\n"
                    "update %0 = %2\n"
                    "return %3\n"));
  EXPECT_EQ(str(fused(p)), str(p));
}
TEST(Passes, BranchesOfOneValueAreFused) {
  const auto f = [](auto in) {
    const Tensor g = tanh(in[0] * in[1]), a = g * in[0], b = g * in[1];  // b joins by g, which it reads first
    return std::vector{b, a};
  };
  for (const std::int64_t n : {63, 5000}) {
    const std::vector<Tensor> in{sample({n}), sample({n}, float32, {.seed = 4})};
    const Program q = fused(graph::trace(f, in));
    EXPECT_EQ(q.nodes.size(), 1u) << str(q);
    EXPECT_EQ(calls_of(q, "fused_2"), 1u);
    const auto want = f(in), got = run(q, in);
    for (std::size_t i = 0; i < want.size(); ++i) expect_same(got[i], want[i]);
  }
}
TEST(Passes, AFusedCallHasFourResultsAtMost) {
  const auto f = [](auto in) {
    std::vector<Tensor> all{in[0]};
    for (int i = 0; i < 7; ++i) all.push_back(sin(all.back()));
    return all;
  };
  for (const std::int64_t n :
       {std::int64_t{65}, std::int64_t{1} << 22}) {  // the large results are written past the caches
    const std::vector<Tensor> in{sample({n})};
    const Program q = fused(graph::trace(f, in));
    EXPECT_EQ(q.nodes.size(), 2u) << str(q);
    EXPECT_EQ(calls_of(q, "fused_4"), 1u);
    EXPECT_EQ(calls_of(q, "fused_3"), 1u);
    const auto want = f(in), got = run(q, in);
    for (std::size_t i = 0; i < want.size(); ++i) expect_same(got[i], want[i]);
  }
}
TEST(Passes, AFusedCallThatMakesNoSenseIsRefused) {
  const Tensor x = sample({8});
  const std::string text = str(fused(graph::trace([](auto in) { return std::vector{exp(in[0]) + 1}; }, {{x}})));
  const auto with = [&](const std::string& what, const std::string& other) {
    std::string broken = text;
    EXPECT_NE(broken.find(what), broken.npos) << text;
    broken.replace(broken.find(what), what.size(), other);
    return error_of<Error>([&] { parse(broken); });
  };
  EXPECT_NE(with("row=", "row=-").find("fused: expected pointwise operations of the registry"), std::string::npos);
  EXPECT_NE(with("in=[2, 1]", "in=[3, 1]").find("fused: expected operands made before"), std::string::npos) << text;
  EXPECT_NE(with("in=[2, 1]", "in=[2]").find("fused: expected as many operands"), std::string::npos);
  EXPECT_NE(with("computed=float32", "computed=int32").find("fused: expected a dtype"), std::string::npos);
  EXPECT_NE(with("natural=float32", "natural=float64").find("fused: expected the dtype that the kernel writes"),
            std::string::npos);
  EXPECT_NE(with("size=[8]", "size=[9]").find("fused: expected contiguous operands of [9] or that broadcast"),
            std::string::npos);
}

struct Convolving : nn::Module {
  nn::Conv2d first{2, 4, 3, {.padding = {1, 1}}}, second{4, 3, 3, {.bias = false}};
  nn::BatchNorm2d norm{4}, plain{3, {.affine = false}};
  NEURA_MODULE(Convolving, first, second, norm, plain)
  Tensor forward(const Tensor& x) { return plain(second(relu(norm(first(x))))); }
};
TEST(Passes, BatchNormIsFoldedIntoConvolutions) {
  manual_seed(2);
  Convolving net;
  const Tensor x = sample({3, 2, 6, 6});
  for (int i = 0; i < 3; ++i) net(x * (i + 1));  // statistics other than the first ones
  {
    const NoGrad off;
    net.norm.weight.copy_(sample({4}, float32, {.low = 0.5})), net.norm.bias.copy_(sample({4}));
  }
  net.eval();
  const NoGrad off;
  const Program p = graph::trace([&](auto in) { return std::vector{net(in[0])}; }, {{x}});
  const Program q = folded(frozen(without_batch_norm(p)));
  EXPECT_EQ(calls_of(p, "batch_norm_inference"), 2u) << str(p);
  EXPECT_EQ(calls_of(q, "batch_norm_inference"), 0u) << str(q);
  EXPECT_LT(q.nodes.size(), p.nodes.size()) << str(q);
  expect_close(run(q, {{x}})[0], run(p, {{x}})[0]);
  verify(without_batch_norm(p)), verify(q);
  expect_close(run(without_batch_norm(p), {{x}})[0], run(p, {{x}})[0]);
  net.train();
  const Program training = graph::trace([&](auto in) { return std::vector{net(in[0])}; }, {{x}});
  EXPECT_EQ(calls_of(without_batch_norm(training), "batch_norm"), 2u);
}
TEST(Passes, FrozenMemoryIsAConstant) {
  const Tensor w = full({2}, 3.0), count = zeros({});
  const auto f = [&](auto in) {
    Tensor n = count;
    add_(n, 1);
    return std::vector{in[0] * exp(w), n};
  };
  const Tensor x = sample({2});
  const Program p = frozen(graph::trace(f, {{x}}));
  const Tensor before = x * exp(w);
  Tensor(w).zero_();
  expect_same(run(p, {{x}})[0], before);
  EXPECT_EQ(p.updates.size(), 1u);
  EXPECT_EQ(calls_of(folded(p), "exp"), 0u);
}

TEST(Passes, PlannedMemoryIsUsedAgain) {
  const Program p =
      parse(program("%0 = input : float32 [100]\n"
                    "%1 = exp(%0) : float32 [100]\n"
                    "%2 = permute(%1) {dims=[0]} : float32 [100]\n"
                    "%3 = sin(%1) : float32 [100]\n"
                    "%4 = mul(%2, %3) : float32 [100]\n"
                    "%5 = cos(%4) : float32 [100]\n"
                    "%6 = add(%5, 1) : float32 [100]\n"
                    "return %6\n"));
  const graph::MemoryPlan plan = plan_memory(p);
  const std::size_t none = std::string::npos, a = 0, b = 448;  // 400 bytes in whole lines of 64
  EXPECT_EQ(plan.bytes, 3 * b);
  EXPECT_EQ(plan.offset, (std::vector<std::size_t>{none, a, none, b, 2 * b, a, none}));
}

}  // namespace
}  // namespace neura::test
