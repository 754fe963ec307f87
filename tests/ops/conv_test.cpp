// Convolutions: against plain loops, PyTorch's stored answers, gradients of first and second order, errors.
#include "neura/ops/spatial/conv.h"

#include <gtest/gtest.h>

#include "neura/core/parallel.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "tests/support/conformance.h"
#include "tests/support/gradients.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using Results = std::vector<Tensor>;

struct Window {
  std::int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
};
Tensor looped(const Tensor& x, const Tensor& w, const Window& o) {
  const auto out = [&](int d) { return (x.size(d) + 2 * o.padding - o.dilation * (w.size(d) - 1) - 1) / o.stride + 1; };
  const std::int64_t per_group = w.size(0) / o.groups;
  return from_loop({x.size(0), w.size(0), out(2), out(3)}, x.dtype(), [&](const Shape& i) {
    double sum = 0;
    for_each_index({w.size(1), w.size(2), w.size(3)}, [&](const Shape& k) {
      const std::int64_t row = i[2] * o.stride + k[1] * o.dilation - o.padding;
      const std::int64_t column = i[3] * o.stride + k[2] * o.dilation - o.padding;
      if (row < 0 || row >= x.size(2) || column < 0 || column >= x.size(3)) return;
      sum += at(x, {i[0], i[1] / per_group * w.size(1) + k[0], row, column}) * at(w, {i[1], k[0], k[1], k[2]});
    });
    return sum;
  });
}
ConvOptions options(const Window& o) {
  return {.stride = o.stride, .padding = o.padding, .dilation = o.dilation, .groups = o.groups};
}

TEST(Conv2d, EqualsPlainLoops) {
  const Window windows[] = {{}, {1, 1}, {2, 1}, {3, 2, 2}, {1, 2, 1, 2}, {2, 0, 1, 4}, {1, 1, 2, 4}};
  for (const DType d : {DType::float32, DType::float64})
    for (const Window& o : windows)
      for (const Shape& size : {Shape{7, 9}, Shape{16, 33}}) {
        const Tensor x = sample({3, 4, size[0], size[1]}, d);
        const Tensor w = sample({8, 4 / o.groups, 3, 2}, d, {.seed = 1});
        expect_close(conv2d(x, w, {}, options(o)), looped(x, w, o), tolerance(d).times(10));
      }
}
TEST(Conv2d, FewFilters) {  // slivers of every height, depths around a vector
  for (const DType d : {DType::float32, DType::float64})
    for (const std::int64_t filters : {1, 2, 3, 5, 7, 9, 15})
      for (const std::int64_t channels : {1, 2, 3}) {
        const Tensor x = sample({2, channels, 5, 6}, d), w = sample({filters, channels, 3, 3}, d, {.seed = 1});
        expect_close(conv2d(x, w, {}, {.padding = 1}), looped(x, w, {.padding = 1}), tolerance(d).times(10));
      }
}
TEST(Conv2d, OneByOneAndLayouts) {
  const Tensor x = sample({2, 6, 5, 7}, DType::float64), w = sample({4, 3, 1, 1}, DType::float64, {.seed = 1});
  for (const Tensor& t : layouts(x)) expect_close(conv2d(t, w, {}, {.groups = 2}), looped(x, w, {.groups = 2}));
}
TEST(Conv2d, ManyChannelsAndFilters) {  // several blocks of depth, of filters and of results
  const Tensor x = sample({2, 70, 24, 24}, DType::float64), w = sample({20, 70, 3, 3}, DType::float64, {.seed = 1});
  expect_close(conv2d(x, w, {}, {.padding = 1}), looped(x, w, {.padding = 1}), {1e-10, 1e-10});
}
TEST(Conv2d, ThreadsDoNotChangeBits) {
  const Tensor x = sample({20, 8, 14, 14}), w = sample({16, 8, 3, 3}, DType::float32, {.seed = 1}), b = sample({16});
  const int before = get_num_threads();
  const auto run = [&](int threads) {
    set_num_threads(threads);
    Tensor px = x.clone().requires_grad_(), pw = w.clone().requires_grad_();
    const Tensor y = conv2d(px, pw, b, {.padding = 1});
    y.backward(y.detach());
    return Results{y.detach(), px.grad(), pw.grad()};
  };
  const Results one = run(1), four = run(4);
  set_num_threads(before);
  for (int i = 0; i < 3; ++i) expect_same(four[std::size_t(i)], one[std::size_t(i)]);
}
TEST(Conv, Gradients) {
  for (const DType d : {DType::float64, DType::complex128}) {
    const Tensor x = sample({2, 4, 5, 6}, d), w = sample({4, 2, 2, 3}, d, {.seed = 1}), b = sample({4}, d, {.seed = 2});
    expect_gradients(
        [](const std::vector<Tensor>& t) -> Results {
          return {conv2d(t[0], t[1], t[2], {.stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2}, .groups = 2})};
        },
        {x, w, b});
    expect_gradients(
        [](const std::vector<Tensor>& t) -> Results {
          return {conv_transpose2d(t[0], t[1], t[2], {.stride = 2, .padding = 1, .output_padding = 1})};
        },
        {x, w, sample({2}, d)});
  }
  expect_gradients(
      [](const Tensor& t) {
        return unfold(t, {2, 3}, {.padding = 1, .stride = 2});
      },
      sample({2, 2, 5, 6}, DType::float64), {.second = false});
}
TEST(Conv, GradientsOfDepthwise) {  // kernels of their own, by the mirrored weight where steps are 1
  for (const Window& o : {Window{1, 1, 1, 4}, Window{2, 1, 1, 4}, Window{1, 3, 2, 4}, Window{1, 0, 1, 2}})
    for (const std::int64_t filters : {4, 8}) {
      const Tensor x = sample({2, 4, 5, 11}, DType::float64);
      const Tensor w = sample({filters, 4 / o.groups, 3, 2}, DType::float64, {.seed = 1});
      expect_gradients([&](const std::vector<Tensor>& t) -> Results { return {conv2d(t[0], t[1], {}, options(o))}; },
                       {x, w}, {.second = false});
    }
}
TEST(Conv, FoldAddsWhatUnfoldTookApart) {
  const Tensor x = sample({1, 2, 6, 8}, DType::float64);
  expect_close(fold(unfold(x, 2, {.stride = 2}), {6, 8}, 2, {.stride = 2}), x);
  for (const UnfoldOptions& o : {UnfoldOptions{}, UnfoldOptions{.padding = 1}, UnfoldOptions{.dilation = 2}}) {
    const auto around = [&](const Tensor& t) { return fold(unfold(t, {3, 2}, o), {6, 8}, {3, 2}, o); };
    expect_close(around(x), x * around(ones_like(x)));  // where windows overlap, as often as they do
  }
}
TEST(Conv, Errors) {
  const Tensor x = sample({8, 3, 32, 32}), w = sample({32, 16, 3, 3});
  EXPECT_EQ(error_of<ShapeError>([&] { conv2d(x, w); }),
            "conv2d: expected an input of 16 channels, got 3 (input [8, 3, 32, 32], weight [32, 16, 3, 3], groups 1)");
  EXPECT_EQ(error_of<ValueError>([&] {
              conv2d(x, sample({4, 3, 3, 3}), {}, {.stride = 2, .padding = "same"});
            }),
            "conv2d: expected stride 1 with padding \"same\", got [2]");
  EXPECT_EQ(error_of<ValueError>([&] {
              conv2d(x, sample({4, 3, 3, 3}), {}, {.padding = -1});
            }),
            "conv2d: expected padding of at least 0, got [-1]");
  EXPECT_EQ(error_of<ShapeError>([&] {
              conv2d(x, sample({4, 3, 40, 3}));
            }),
            "conv2d: expected a kernel no larger than the padded input, got 40 against 32 (input [8, 3, 32, 32], "
            "weight [4, 3, "
            "40, 3], groups 1)");
}

PerDim per_dim_of(const Value& v, std::int64_t fallback) {
  if (!v) return fallback;
  if (v.kind == Value::integer) return v.scalar.integer();
  PerDim p;
  for (const Value& item : v.items) p.push_back(item.scalar.integer());
  return p;
}
template <auto f> Results convolution(const ConformanceCase& c) {
  const Value &bias = c.argument(1, "bias"), &padding = c.argument(3, "padding"), &groups = c.argument(5, "groups");
  ConvOptions o;
  o.stride = per_dim_of(c.argument(2, "stride"), 1), o.dilation = per_dim_of(c.argument(4, "dilation"), 1);
  o.padding = padding.kind == Value::text ? Padding(std::string_view(padding.word)) : Padding(per_dim_of(padding, 0));
  if (groups) o.groups = groups.scalar.integer();
  return {f(c.input.data, c.argument(0, "weight").data, bias.kind == Value::tensor ? bias.data : Tensor(), o)};
}
template <auto f> Results transposed(const ConformanceCase& c) {
  const Value &bias = c.argument(1, "bias"), &groups = c.argument(5, "groups");
  ConvTransposeOptions o;
  o.stride = per_dim_of(c.argument(2, "stride"), 1), o.padding = per_dim_of(c.argument(3, "padding"), 0);
  o.output_padding = per_dim_of(c.argument(4, "output_padding"), 0),
  o.dilation = per_dim_of(c.argument(6, "dilation"), 1);
  if (groups) o.groups = groups.scalar.integer();
  return {f(c.input.data, c.argument(0, "weight").data, bias.kind == Value::tensor ? bias.data : Tensor(), o)};
}
TEST(Conv, AnswersArePyTorchs) {
  expect_conformance("conv", {{"nn.functional.conv1d", &convolution<conv1d>},
                              {"nn.functional.conv2d", &convolution<conv2d>},
                              {"nn.functional.conv3d", &convolution<conv3d>},
                              {"nn.functional.conv_transpose1d", &transposed<conv_transpose1d>},
                              {"nn.functional.conv_transpose2d", &transposed<conv_transpose2d>},
                              {"nn.functional.conv_transpose3d", &transposed<conv_transpose3d>},
                              {"nn.functional.unfold", [](const ConformanceCase& c) -> Results {
                                 UnfoldOptions o;
                                 o.dilation = per_dim_of(c.argument(1, "dilation"), 1);
                                 o.padding = per_dim_of(c.argument(2, "padding"), 0);
                                 o.stride = per_dim_of(c.argument(3, "stride"), 1);
                                 return {unfold(c.input.data, per_dim_of(c.argument(0, "kernel_size"), 1), o)};
                               }}});
}

}  // namespace
}  // namespace neura::test
