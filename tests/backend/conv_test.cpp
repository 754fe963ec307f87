#include "neura/backend/kernels/conv.h"
#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

ConvShape shape_of(std::int64_t n, std::int64_t channels, std::int64_t filters, std::int64_t groups, std::int64_t size,
                   std::int64_t kernel, std::int64_t stride, std::int64_t padding, std::int64_t dilation) {
  ConvShape s;
  s.n = n, s.channels = channels, s.filters = filters, s.groups = groups;
  for (const int d : {1, 2}) {
    s.in[d] = size + d, s.kernel[d] = kernel, s.stride[d] = stride, s.padding[d] = padding, s.dilation[d] = dilation;
    s.out[d] = (s.in[d] + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  }
  return s;
}
Shape x_size(const ConvShape& s) { return {s.n, s.channels, s.in[0], s.in[1], s.in[2]}; }
Shape w_size(const ConvShape& s) { return {s.filters, s.group_channels(), s.kernel[0], s.kernel[1], s.kernel[2]}; }
Shape y_size(const ConvShape& s) { return {s.n, s.filters, s.out[0], s.out[1], s.out[2]}; }

// f(flat places in x, w and y) for every product of the convolution.
template <class F> void products(const ConvShape& s, F f) {
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t o = 0; o < s.filters; ++o)
      for (std::int64_t c = 0; c < s.group_channels(); ++c)
        for (std::int64_t yi = 0; yi < s.out[1]; ++yi)
          for (std::int64_t yj = 0; yj < s.out[2]; ++yj)
            for (std::int64_t ki = 0; ki < s.kernel[1]; ++ki)
              for (std::int64_t kj = 0; kj < s.kernel[2]; ++kj) {
                const std::int64_t i = yi * s.stride[1] - s.padding[1] + ki * s.dilation[1];
                const std::int64_t j = yj * s.stride[2] - s.padding[2] + kj * s.dilation[2];
                if (i < 0 || j < 0 || i >= s.in[1] || j >= s.in[2]) continue;
                const std::int64_t channel = o / s.group_filters() * s.group_channels() + c;
                f(((n * s.channels + channel) * s.in[1] + i) * s.in[2] + j,
                  ((o * s.group_channels() + c) * s.kernel[1] + ki) * s.kernel[2] + kj,
                  ((n * s.filters + o) * s.out[1] + yi) * s.out[2] + yj);
              }
}
const ConvShape kShapes[] = {shape_of(2, 3, 8, 1, 9, 3, 1, 1, 1), shape_of(1, 16, 16, 1, 14, 3, 2, 0, 1),
                             shape_of(2, 6, 6, 6, 8, 3, 1, 2, 2), shape_of(1, 4, 6, 2, 7, 2, 3, 1, 1),
                             shape_of(3, 5, 7, 1, 6, 1, 1, 0, 1)};

class ConvKernels : public Kernels<conv_kernels> {
 protected:
  void check(const ConvShape& s) {  // sums of eighths: exact
    Array<float> x = eighths(x_size(s)), w = eighths(w_size(s), 2), bias = eighths({s.filters}, 3),
                 g = eighths(y_size(s), 4), y(y_size(s)), gx(x_size(s)), gw(w_size(s)), want_y = y, want_x = gx,
                 want_w = gw;
    products(s, [&](std::int64_t i, std::int64_t k, std::int64_t o) {
      want_y.at(o) += x.at(i) * w.at(k), want_x.at(i) += g.at(o) * w.at(k), want_w.at(k) += g.at(o) * x.at(i);
    });
    run(&conv_kernels::forward, x, w, View{}, y, s, Conjugated{});
    EXPECT_EQ(y.values(), want_y.values());
    run(&conv_kernels::input_gradient, g, w, gx, s, Conjugated{});
    EXPECT_EQ(gx.values(), want_x.values());
    run(&conv_kernels::weight_gradient, x, g, gw, s, Conjugated{});
    EXPECT_EQ(gw.values(), want_w.values());
    run(&conv_kernels::forward, x, w, bias, y, s, Conjugated{});
    for (std::int64_t i = 0; i < y.numel(); ++i)
      ASSERT_EQ(y.at(i), want_y.at(i) + bias.at(i / s.out_size() % s.filters));
  }
};

TEST_F(ConvKernels, ForwardAndBothGradients) {
  for (const ConvShape& s : kShapes) check(s);
}
// Of enough values, filters and results for tiles that read the image: a part of a tile, one and more; of several small
// images; parts of a large one; padding that no window leaves, steps wider than the kernel, groups.
TEST_F(ConvKernels, TilesOfManyValues) {
  for (const ConvShape& s : {shape_of(2, 18, 31, 1, 5, 3, 1, 1, 1), shape_of(9, 20, 32, 1, 3, 3, 1, 1, 1),
                             shape_of(1, 18, 16, 1, 14, 3, 1, 4, 1), shape_of(3, 64, 64, 2, 2, 3, 1, 1, 1),
                             shape_of(2, 20, 48, 1, 9, 3, 2, 1, 1), shape_of(1, 40, 33, 1, 17, 2, 3, 1, 1),
                             shape_of(2, 18, 24, 1, 10, 3, 1, 2, 2), shape_of(1, 64, 32, 1, 6, 1, 2, 0, 1),
                             shape_of(5, 17, 70, 1, 7, 3, 1, 0, 1), shape_of(1, 18, 32, 1, 40, 3, 1, 1, 1),
                             shape_of(3, 20, 50, 1, 1, 5, 1, 4, 1), shape_of(17, 33, 17, 1, 2, 3, 2, 2, 1),
                             shape_of(2, 13, 31, 1, 24, 1, 2, 1, 1), shape_of(40, 7, 32, 1, 3, 3, 1, 1, 1)})
    check(s);
}
TEST_F(ConvKernels, PatchesAndTheirSum) {
  const ConvShape s = shape_of(2, 3, 1, 1, 6, 3, 2, 1, 1);
  const Shape columns_size{s.n, s.channels * s.kernel_size(), s.out_size()};
  Array<float> x = eighths(x_size(s)), columns(columns_size), want(columns_size), back(x_size(s)), want_back = back;
  ConvShape one = s;  // a filter per channel: every product has one patch element
  one.groups = s.channels, one.filters = s.channels;
  products(one, [&](std::int64_t i, std::int64_t k, std::int64_t o) {
    const std::int64_t n = o / s.out_size() / s.channels;
    const std::int64_t at = (n * s.channels * s.kernel_size() + k) * s.out_size() + o % s.out_size();
    want.at(at) = x.at(i), want_back.at(i) += x.at(i);
  });
  run(&conv_kernels::unfold, x, columns, s);
  EXPECT_EQ(columns.values(), want.values());
  run(&conv_kernels::fold, columns, back, s);
  EXPECT_EQ(back.values(), want_back.values());
}
TEST_F(ConvKernels, OfNothing) {
  ConvShape s = shape_of(0, 3, 4, 1, 6, 3, 1, 1, 1);
  Array<float> x(x_size(s)), w = eighths(w_size(s)), y(y_size(s)), gw = filled<float>(w_size(s), 9),
                             columns({0, s.patch(), s.out_size()});
  run(&conv_kernels::forward, x, w, View{}, y, s, Conjugated{});
  run(&conv_kernels::input_gradient, y, w, x, s, Conjugated{});
  run(&conv_kernels::weight_gradient, x, y, gw, s, Conjugated{});
  EXPECT_EQ(gw.values(), std::vector<float>(std::size_t(gw.numel()), 0));  // a sum over no images
  run(&conv_kernels::unfold, x, columns, s);
  run(&conv_kernels::fold, columns, x, s);
}
TEST_F(ConvKernels, SameOnAnyNumberOfThreads) {
  for (const ConvShape& s : {shape_of(4, 16, 32, 1, 30, 3, 1, 1, 1), shape_of(2, 32, 32, 32, 40, 3, 2, 1, 1),
                             shape_of(19, 24, 48, 1, 6, 3, 1, 1, 1), shape_of(1, 24, 64, 1, 20, 3, 1, 1, 1)}) {
    Array<float> x = eighths(x_size(s)), w = eighths(w_size(s), 2), g = eighths(y_size(s), 3);
    for (std::int64_t i = 0; i < x.numel(); ++i) x.at(i) = 1 / (x.at(i) + 5);  // no exact sums
    for (std::int64_t i = 0; i < w.numel(); ++i) w.at(i) = 1 / (w.at(i) + 5);
    expect_same_on_any_threads([&] {
      Array<float> y(y_size(s)), gx(x_size(s)), gw(w_size(s));
      run(&conv_kernels::forward, x, w, View{}, y, s, Conjugated{});
      run(&conv_kernels::input_gradient, g, w, gx, s, Conjugated{});
      run(&conv_kernels::weight_gradient, x, g, gw, s, Conjugated{});
      Array<float> columns({s.n, s.channels * s.kernel_size(), s.out_size()}), back(x_size(s));
      run(&conv_kernels::unfold, x, columns, s);
      run(&conv_kernels::fold, columns, back, s);
      return y.bytes() + gx.bytes() + gw.bytes() + columns.bytes() + back.bytes();
    });
  }
}

}  // namespace
}  // namespace neura::test
