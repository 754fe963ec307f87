// Attention on a CUDA device against the cpu's: forward and all gradients, every path of its kernels.
#include "neura/ops/nn/attention.h"

#include "neura/autograd/autograd.h"
#include "neura/core/precision.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "tests/cuda/library.h"

namespace neura::test {
namespace {

using CudaAttention = CudaTest;

struct Operands {
  Tensor q, k, v, g;
};
Operands operands(const Shape& batch, std::int64_t queries, std::int64_t keys, std::int64_t width, std::int64_t values,
                  DType d) {
  const auto make = [&](std::int64_t lines, std::int64_t columns) {
    Shape sizes = batch;
    sizes.push_back(lines), sizes.push_back(columns);
    return randn(sizes).to(d);
  };
  return {make(queries, width), make(keys, width), make(keys, values), make(queries, values)};
}
using Results = std::vector<Tensor>;  // y and the gradients of q, k, v
Results attend(const Operands& x, AttentionOptions o, bool device) {
  const auto place = [&](const Tensor& t) { return device && t ? there(t) : t; };
  Tensor in[3];
  for (int i = 0; i < 3; ++i) in[i] = place(i == 0 ? x.q : i == 1 ? x.k : x.v).detach().requires_grad_();
  o.attn_mask = place(o.attn_mask);
  const Tensor y = scaled_dot_product_attention(in[0], in[1], in[2], o);
  y.backward(place(x.g));
  Results r = {y.detach(), in[0].grad(), in[1].grad(), in[2].grad()};
  for (Tensor& t : r)
    if (device) t = back(t);
  return r;
}
void expect_alike(const Operands& x, const AttentionOptions& o, double factor = 16, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  const Results got = attend(x, o, true), want = attend(x, o, false);
  for (std::size_t i = 0; i < got.size(); ++i)
    expect_close(got[i], want[i], tolerance(want[i].dtype()).times(factor), file, line);
}

TEST_F(CudaAttention, SizesThatFillTilesAndThatDoNot) {
  for (const DType d : {float32, float16, bfloat16, float64})
    for (const auto& [queries, keys, width, values] : {std::tuple{1, 1, 1, 1},
                                                       {7, 5, 3, 2},
                                                       {64, 64, 64, 64},
                                                       {65, 130, 40, 72},
                                                       {130, 65, 128, 96},
                                                       {33, 70, 256, 200},
                                                       {1, 200, 64, 64},
                                                       {128, 128, 64, 64},
                                                       {20, 30, 300, 8}})
      for (const bool causal : {false, true}) {
        if (causal ? d == bfloat16 : d == float16) continue;  // cuDNN takes its time to plan
        SCOPED_TRACE(std::string(name(d)) + Shape({queries, keys, width, values}).str() + (causal ? " causal" : ""));
        expect_alike(operands({2, 3}, queries, keys, width, values, d), {.is_causal = causal});
      }
}

TEST_F(CudaAttention, HalvesTakeTheTensorCores) {
  const auto count = of_library<std::int64_t()>("neura_cudnn_attentions");
  if (!has_cudnn()) GTEST_SKIP() << "libcudnn.so.9 is not here; NEURA_CUDNN_LIBRARY may name it";
  for (const auto& [d, length, width] :
       {std::tuple{float16, 200, 64}, {bfloat16, 64, 64}, {bfloat16, 200, 128}, {bfloat16, 512, 128}})
    for (const bool causal : {false, true}) {
      SCOPED_TRACE(std::string(name(d)) + Shape({length, width}).str() + (causal ? " causal" : ""));
      const Operands x = operands({2, 3}, length, length, width, width, d);
      const std::int64_t before = count();
      expect_alike(x, {.is_causal = causal});
      EXPECT_EQ(count() - before, 2);  // forward and backward
      use_cudnn(false);
      expect_alike(x, {.is_causal = causal});
      use_cudnn(true);
      EXPECT_EQ(count() - before, 2);
    }
}

TEST_F(CudaAttention, TheSameTwiceWhereThatIsAskedFor) {
  const Operands x = operands({2, 3}, 300, 1000, 64, 64, bfloat16);
  use_deterministic_algorithms(true);
  const Results first = attend(x, {}, true);
  for (int n = 0; n < 3; ++n) {
    const Results again = attend(x, {}, true);
    for (std::size_t i = 0; i < first.size(); ++i) expect_same(again[i], first[i]);
  }
  use_deterministic_algorithms(false);
  const Results want = attend(x, {}, false);
  for (std::size_t i = 0; i < first.size(); ++i) expect_close(first[i], want[i], tolerance(bfloat16).times(16));
}

TEST_F(CudaAttention, MasksOnTheTensorCores) {
  if (!has_cudnn()) GTEST_SKIP() << "libcudnn.so.9 is not here; NEURA_CUDNN_LIBRARY may name it";
  const auto count = of_library<std::int64_t()>("neura_cudnn_attentions");
  for (const auto& [d, keys] : {std::pair{float16, 64}, {bfloat16, 203}}) {
    SCOPED_TRACE(name(d));
    const Operands x = operands({2, 3}, 128, keys, 64, 64, d);
    Tensor seen = rand({2, 1, 128, keys}) > 0.3, padding = rand({2, 1, 1, keys}) > 0.5;
    seen.slice(2, 5, 9).fill_(false);
    const std::int64_t before = count();
    expect_alike(x, {.attn_mask = seen});
    expect_alike(x, {.attn_mask = padding});
    padding.slice(0, 0, 1).fill_(false);
    expect_alike(x, {.attn_mask = padding});
    expect_alike(x, {.attn_mask = rand({keys}) > 0.5});
    expect_alike(x, {.attn_mask = randn({3, 128, keys}).to(d)});
    expect_alike(x, {.attn_mask = rand({3, 128, 1}) > 0.5});
    EXPECT_EQ(count() - before, 12);
    expect_alike(x, {.attn_mask = randn({128, keys})});  // of float32: not rounded
    EXPECT_EQ(count() - before, 12);
  }
}

TEST_F(CudaAttention, BatchesAndLayouts) {
  for (const DType d : {float32, bfloat16}) {
    SCOPED_TRACE(name(d));
    for (const Shape& batch : {Shape{}, Shape{3}, Shape{2, 1, 3}, Shape{2, 2, 1, 2}}) {
      SCOPED_TRACE(batch.str());
      expect_alike(operands(batch, 70, 66, 32, 32, d), {.scale = 0.3});
    }
    Operands x = operands({2, 70}, 3, 3, 32, 32, d);  // heads after the positions, as a layer of heads has them
    for (Tensor* t : {&x.q, &x.k, &x.v, &x.g}) *t = t->transpose(1, 2);
    expect_alike(x, {.is_causal = true});
    x = operands({2, 3}, 32, 32, 70, 70, d);
    for (Tensor* t : {&x.q, &x.k, &x.v, &x.g}) *t = t->transpose(2, 3);
    expect_alike(x, {});
    x = operands({2, 3}, 40, 40, 64, 64, d);
    x.g = full({1, 1, 1, 1}, 0.5).to(d).expand(x.g.shape()), x.k = x.k.slice(1, 0, 1).expand(x.k.shape());
    expect_alike(x, {});
    x = operands({2, 3}, 40, 40, 67, 67, d);
    for (Tensor* t : {&x.q, &x.k, &x.v, &x.g}) *t = t->slice(3, 1, 65);  // not at 16 bytes
    expect_alike(x, {});
  }
}

TEST_F(CudaAttention, MasksHideKeysAndWholeRows) {
  for (const DType d : {float32, float16, bfloat16}) {
    SCOPED_TRACE(name(d));
    const Operands x = operands({2, 3}, 70, 90, 20, 36, d);  // by tiles: cuDNN wants multiples of 8
    Tensor seen = rand({2, 1, 70, 90}) > 0.3;
    expect_alike(x, {.attn_mask = seen});
    seen.slice(2, 5, 9).fill_(false);
    expect_alike(x, {.attn_mask = seen});
    expect_alike(x, {.attn_mask = rand({90}) > 0.5});
    expect_alike(x, {.attn_mask = rand({2, 1, 1, 90}) > 0.5});
    expect_alike(x, {.attn_mask = rand({70, 1}) > 0.5});
    expect_alike(x, {.attn_mask = randn({3, 70, 90}).to(d)});
    expect_alike(x, {.attn_mask = randn({90, 70}).to(d).transpose(0, 1)});
  }
  const Operands x = operands({2, 3}, 10, 12, 8, 8, float32);
  const Tensor mask = randn({10, 12}).requires_grad_();  // with a gradient: composed
  const auto gradient = [&](bool device) {
    const auto place = [&](const Tensor& t) { return device ? there(t) : t; };
    const Tensor leaf = place(mask.detach()).requires_grad_();
    scaled_dot_product_attention(place(x.q), place(x.k), place(x.v), {.attn_mask = leaf}).backward(place(x.g));
    return device ? back(leaf.grad()) : leaf.grad();
  };
  expect_close(gradient(true), gradient(false), tolerance(float32).times(16));
}

TEST_F(CudaAttention, WhatIsNoNumberStaysThat) {
  Operands x = operands({2}, 70, 70, 16, 16, float32);
  x.q.slice(1, 3, 4).slice(2, 0, 1).fill_(std::numeric_limits<double>::quiet_NaN());
  x.k.slice(1, 69, 70).slice(2, 0, 1).fill_(std::numeric_limits<double>::infinity());
  const Results got = attend(x, {.is_causal = true}, true), want = attend(x, {.is_causal = true}, false);
  expect_close(got[0], want[0], tolerance(float32).times(16));
}

TEST_F(CudaAttention, SharedHeadsAndSecondDerivatives) {
  for (const DType d : {float32, bfloat16}) {
    const Tensor q = randn({2, 6, 20, 16}).to(d), k = randn({2, 2, 24, 16}).to(d), v = randn({2, 2, 24, 16}).to(d);
    const auto f = [&](bool device) {
      const auto place = [&](const Tensor& t) { return device ? there(t) : t; };
      const Tensor x = place(q).detach().requires_grad_();
      const Tensor y = scaled_dot_product_attention(x, place(k), place(v), {.enable_gqa = true});
      const Tensor g = grad((y * y).sum(), x, {}, {.create_graph = true});
      const Tensor gg = grad((g * g).sum(), x);
      return device ? Results{back(y.detach()), back(g.detach()), back(gg)} : Results{y.detach(), g.detach(), gg};
    };
    const Results got = f(true), want = f(false);
    for (std::size_t i = 0; i < got.size(); ++i) expect_close(got[i], want[i], tolerance(d).times(i == 2 ? 64 : 16));
  }
}

TEST_F(CudaAttention, LongOnesTakeNoMatrixOfScores) {
  const DeviceApi& api = device_api(kCuda);
  for (const DType d : {float32, bfloat16}) {
    SCOPED_TRACE(name(d));
    Tensor in[3];
    for (Tensor& t : in) t = there(randn({1, 2, 4096, 64}).to(d)).requires_grad_();
    const Tensor g = there(randn({1, 2, 4096, 64}).to(d));
    Results first;
    DeviceMemory before, after;
    for (int i = 0; i < 2; ++i) {
      api.reset_peak(0), api.memory(0, &before);
      const Tensor y = scaled_dot_product_attention(in[0], in[1], in[2], {.is_causal = true});
      y.backward(g);
      api.memory(0, &after);
      EXPECT_LT(after.allocated_peak - before.allocated, std::size_t{32} << 20);  // the scores: 128 MiB of float32
      Results r = {back(y.detach())};
      for (Tensor& t : in) r.push_back(back(t.grad())), t.set_grad({});
      if (first.empty()) first = r;
      else if (d == float32)
        for (std::size_t k = 0; k < r.size(); ++k) expect_same(r[k], first[k]);
    }
    const Tensor rows = scaled_dot_product_attention(
        back(in[0].detach()).slice(2, 0, 200).to(float32), back(in[1].detach()).slice(2, 0, 200).to(float32),
        back(in[2].detach()).slice(2, 0, 200).to(float32), {.is_causal = true});
    expect_close(first[0].slice(2, 0, 200).to(float32), rows, tolerance(d).times(16));
  }
}

}  // namespace
}  // namespace neura::test
