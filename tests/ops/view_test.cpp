// Views: the geometry of each, for every way to call it, that bytes are shared, gradients, and what is refused.
#include "neura/ops/shape/view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view_dtype.h"
#include "tests/support/close.h"
#include "tests/support/gradients.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

// y shows x's element where(i) at i, shares x's bytes, and writes reach both ways.
void expect_view(const Tensor& y, const Tensor& x, const Shape& shape,
                 const std::function<Shape(const Shape&)>& where) {
  ASSERT_EQ(y.shape(), shape);
  EXPECT_EQ(y.impl()->storage, x.impl()->storage);
  EXPECT_TRUE(y.dtype() == x.dtype() && y.impl()->base);
  for_each_index(shape, [&](const Shape& i) {
    const Scalar got = scalar_at(y, i), want = scalar_at(x, where(i));
    ASSERT_EQ(got.real(), want.real()) << i.str();
    ASSERT_EQ(got.imag(), want.imag()) << i.str();
  });
}
Tensor numbered(const Shape& s, DType d = int64) { return arange(s.numel()).reshape(s).to(d); }

TEST(View, TransposeSwapsAnyTwoDimensionsOfEveryDtype) {
  for (int d = 0; d < kDTypes; ++d) {
    const Tensor x = numbered({2, 3, 4}, DType(d));
    for (int a = -3; a < 3; ++a)
      for (int b = -3; b < 3; ++b) {
        const int i = (a + 3) % 3, j = (b + 3) % 3;
        Shape shape{2, 3, 4}, strides{12, 4, 1};
        std::swap(shape[i], shape[j]), std::swap(strides[i], strides[j]);
        const Tensor y = transpose(x, a, b);
        EXPECT_EQ(y.strides(), strides);
        expect_view(y, x, shape, [&](Shape at) { return std::swap(at[i], at[j]), at; });
      }
  }
  EXPECT_EQ(error_of<IndexError>([] {
              transpose(ones({2, 3}), 0, 2);
            }),
            "transpose: expected a dimension from -2 to 1, got 2");
  EXPECT_THROW(transpose(ones({2, 3}), -3, 0), IndexError);
}

TEST(View, AllPermutationsOfFourDimensions) {
  const Tensor x = numbered({2, 3, 4, 5});
  std::array<int, 4> p{0, 1, 2, 3};
  int seen = 0;
  do {
    const Dims dims{p[0], p[1], p[2], p[3]};
    Shape shape{0, 0, 0, 0};
    for (int i = 0; i < 4; ++i) shape[i] = x.size(p[std::size_t(i)]);
    expect_view(permute(x, dims), x, shape, [&](const Shape& at) {
      Shape from = at;
      for (int i = 0; i < 4; ++i) from[p[std::size_t(i)]] = at[i];
      return from;
    });
    ++seen;
  } while (std::next_permutation(p.begin(), p.end()));
  EXPECT_EQ(seen, 24);
  EXPECT_THROW(permute(x, {0, 0, 1, 2}), ShapeError);
  EXPECT_THROW(permute(x, {0, 1, 2}), ShapeError);
  EXPECT_THROW(permute(x, {0, 1, 2, 4}), IndexError);
}

TEST(View, SliceTakesAnyBoundsAndStep) {
  const Tensor x = numbered({7, 2});
  for (std::int64_t start = -9; start <= 9; ++start)
    for (std::int64_t end = -9; end <= 9; ++end)
      for (std::int64_t step = 1; step < 4; ++step) {
        const auto clamped = [](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + 7 : i, 0, 7); };
        const std::int64_t first = clamped(start), last = std::max(clamped(end), first);
        const Tensor y = slice(x, 0, start, end, step);
        EXPECT_EQ(y.strides()[0], 2 * step);
        if (y.numel()) EXPECT_EQ(y.storage_offset(), 2 * first);
        expect_view(y, x, {(last - first + step - 1) / step, 2}, [&](const Shape& at) {
          return Shape{first + at[0] * step, at[1]};
        });
      }
  EXPECT_EQ(error_of<ValueError>([&] { slice(x, 0, 0, 3, -1); }).find("slice: expected a step"), 0u);
  EXPECT_THROW(slice(x, 2, 0, 1), IndexError);
  EXPECT_THROW(narrow(x, 0, 5, 3), IndexError);
  EXPECT_THROW(narrow(x, 0, 0, -1), Error);
  EXPECT_THROW(select(x, 0, 7), IndexError);
  EXPECT_THROW(select(x, 0, -8), IndexError);
  expect_view(select(x, 0, -1), x, {2}, [](const Shape& at) { return Shape{6, at[0]}; });
}

TEST(View, FlattenOfEveryRangeOfFourDimensions) {
  const Tensor x = numbered({2, 3, 4, 5});
  for (int start = -4; start < 4; ++start)
    for (int end = -4; end < 4; ++end) {
      const int s = (start + 4) % 4, e = (end + 4) % 4;
      if (s > e) {
        EXPECT_THROW(flatten(x, start, end), ShapeError) << start << ' ' << end;
        continue;
      }
      Shape shape;
      for (int d = 0; d < 4; ++d)
        if (d <= s || d > e) shape.push_back(x.size(d));
        else shape.back() *= x.size(d);
      const Tensor y = flatten(x, start, end);
      ASSERT_EQ(y.shape(), shape);
      EXPECT_EQ(y.impl()->storage, x.impl()->storage);
      expect_same(y.reshape({120}), x.reshape({120}));
      if (s == e) continue;
      Shape sizes;
      for (int d = s; d <= e; ++d) sizes.push_back(x.size(d));
      expect_same(unflatten(y, s, sizes), x);  // the inverse
      sizes[0] = -1;
      expect_same(unflatten(y, s, sizes), x);
      sizes[0] = 7;
      EXPECT_THROW(unflatten(y, s, sizes), ShapeError);
    }
  EXPECT_THROW(flatten(x, 0, 4), IndexError);
  EXPECT_THROW(flatten(x, -5), IndexError);
  EXPECT_EQ(flatten(ones({})).shape(), (Shape{1}));
  EXPECT_NE(flatten(x.transpose(0, 3)).impl()->storage, x.impl()->storage);  // no strides show that order
}

TEST(View, UnsqueezeAndSqueezeAtEveryPlace) {
  const Tensor x = numbered({2, 1, 3});
  for (int d = -4; d <= 3; ++d) {
    Shape shape = x.shape();
    const int at = d < 0 ? d + 4 : d;
    shape.insert(at, 1);
    expect_view(unsqueeze(x, d), x, shape, [&](Shape i) { return i.erase(at), i; });
    expect_same(squeeze(unsqueeze(x, d), Dims(at)), x);
  }
  EXPECT_EQ(error_of<IndexError>([&] { unsqueeze(x, 4); }), "unsqueeze: expected a dimension from -4 to 3, got 4");
  EXPECT_THROW(unsqueeze(x, -5), IndexError);
  expect_view(squeeze(x), x, {2, 3}, [](const Shape& i) { return Shape{i[0], 0, i[1]}; });
  EXPECT_EQ(squeeze(x, 0).shape(), x.shape());  // not of size 1: stays
  EXPECT_EQ(squeeze(x, {0, 1, 2}).shape(), (Shape{2, 3}));
  EXPECT_EQ(squeeze(ones({1, 1})).shape(), Shape{});
  EXPECT_THROW(squeeze(x, 3), IndexError);
}

TEST(View, ExpandStretchesOnesAndAddsDimensions) {
  const Tensor x = numbered({2, 1, 3});
  const Tensor y = expand(x, {5, 2, 4, -1});
  EXPECT_EQ(y.strides(), (Shape{0, 3, 0, 1}));
  expect_view(y, x, {5, 2, 4, 3}, [](const Shape& i) { return Shape{i[1], 0, i[3]}; });
  EXPECT_EQ(expand(x, {2, 0, 3}).numel(), 0);
  for (const Shape& bad : {Shape{2, 3}, Shape{3, 1, 3}, Shape{2, 1, 1}, Shape{-1, 2, 1, 3}})
    EXPECT_THROW(expand(x, bad), ShapeError) << bad.str();
  Tensor w = ones({2, 1}, {.dtype = float64}).requires_grad_();
  expand(w, {3, 2, 4}).sum().backward();
  expect_close(w.grad(), {12, 12});
  expect_gradients([](const Tensor& t) { return expand(t * t, {2, 3, 4}); }, sample({3, 1}, float64));
}

TEST(View, ReshapeIsAViewWhereStridesAllowIt) {
  const Tensor x = numbered({2, 3, 4});
  for (const Shape& to : {Shape{24}, Shape{6, 4}, Shape{2, 12}, Shape{4, 6}, Shape{1, 24, 1}, Shape{2, 3, 2, 2}}) {
    const Tensor y = reshape(x, to);
    EXPECT_EQ(y.impl()->storage, x.impl()->storage);
    EXPECT_EQ(y.strides(), calculate_strides(to));
    expect_same(y.reshape({24}), x.reshape({24}));
    expect_same(view(x, to), y);
  }
  EXPECT_EQ(reshape(x, {-1, 4}).shape(), (Shape{6, 4}));
  const Tensor part = x.slice(2, 0, 2);  // strides [12, 4, 1]: the first two dimensions merge
  EXPECT_EQ(reshape(part, {6, 2}).impl()->storage, x.impl()->storage);
  EXPECT_EQ(view(part, {6, 2}).strides(), (Shape{4, 1}));
  const Tensor turned = x.transpose(0, 2);
  EXPECT_NE(reshape(turned, {24}).impl()->storage, x.impl()->storage);
  expect_same(reshape(turned, {24}), turned.contiguous().view({24}));
  const std::string said = error_of<ShapeError>([&] { view(turned, {24}); });
  EXPECT_NE(said.find("contiguous()"), said.npos) << said;
  EXPECT_NE(said.find("reshape"), said.npos) << said;
  EXPECT_THROW(reshape(turned, {24}, true), ShapeError);  // strict
  EXPECT_NO_THROW(reshape(x, {24}, true));
  for (const Shape& bad : {Shape{5}, Shape{-1, -1}, Shape{-1, 5}, Shape{-2, 12}, Shape{0, -1}})
    EXPECT_THROW(reshape(x, bad), ShapeError) << bad.str();
  EXPECT_EQ(reshape(zeros({0, 3}), {3, 0}).shape(), (Shape{3, 0}));
}

TEST(View, ContiguousKnowsSizesOfZeroAndOne) {
  EXPECT_TRUE(as_strided(ones({9}), {1, 3}, {7, 1}).is_contiguous());
  EXPECT_TRUE(as_strided(ones({9}), {3, 1}, {1, 5}).is_contiguous());
  EXPECT_TRUE(as_strided(ones({9}), {0, 3}, {1, 1}).is_contiguous());
  EXPECT_TRUE(ones({1, 1}).expand({1, 1}).is_contiguous());
  EXPECT_FALSE(ones({1}).expand({3}).is_contiguous());
  EXPECT_FALSE(ones({2, 3}).t().is_contiguous());
  EXPECT_FALSE(ones({4}).slice(0, 0, 4, 2).is_contiguous());
  const Tensor x = numbered({2, 3});
  EXPECT_TRUE(x.contiguous().is_same(x));
  for (const Tensor& t : {x.t(), x.slice(1, 1, 3), x.select(0, 1).expand({4, 3})}) {
    const Tensor c = t.contiguous();
    EXPECT_TRUE(c.is_contiguous() && c.impl()->storage != x.impl()->storage);
    expect_same(c, t);
  }
  expect_gradients([](const Tensor& t) { return contiguous((t * t).t()); }, sample({2, 3}, float64));
}

TEST(View, PartsCoverTheWhole) {
  const Tensor x = numbered({5, 3, 4});
  for (int dim = -3; dim < 3; ++dim) {
    const int d = (dim + 3) % 3;
    const auto expect_parts = [&](const std::vector<Tensor>& parts, const std::vector<std::int64_t>& sizes) {
      ASSERT_EQ(parts.size(), sizes.size());
      std::int64_t start = 0;
      for (std::size_t k = 0; k < parts.size(); ++k) {
        Shape shape = x.shape();
        shape[d] = sizes[k];
        expect_view(parts[k], x, shape, [&](Shape i) { return i[d] += start, i; });
        start += sizes[k];
      }
      EXPECT_EQ(start, x.size(d));
    };
    const std::vector<Tensor> single = unbind(x, dim);
    ASSERT_EQ(std::int64_t(single.size()), x.size(d));
    for (std::size_t k = 0; k < single.size(); ++k) expect_same(single[k], select(x, d, std::int64_t(k)));
    const std::int64_t n = x.size(d);
    for (std::int64_t size = 1; size <= n + 1; ++size) {
      std::vector<std::int64_t> sizes;
      for (std::int64_t left = n; left > 0; left -= size) sizes.push_back(std::min(left, size));
      expect_parts(split(x, size, dim), sizes);
      expect_parts(chunk(x, std::int64_t(sizes.size()), dim), [&] {
        std::vector<std::int64_t> equal;
        const std::int64_t each = (n + std::int64_t(sizes.size()) - 1) / std::int64_t(sizes.size());
        for (std::int64_t left = n; left > 0; left -= each) equal.push_back(std::min(left, each));
        return equal;
      }());
    }
    expect_parts(split(x, std::vector<std::int64_t>{1, 0, n - 1}, dim), {1, 0, n - 1});
    EXPECT_THROW(split(x, std::vector<std::int64_t>{1, n}, dim), ValueError);
  }
  EXPECT_THROW(split(x, -1), Error);
  EXPECT_THROW(chunk(x, 0), Error);
  EXPECT_THROW(unbind(ones({})), Error);
}

TEST(View, OutsideOfTheStorageIsRefused) {
  const Tensor x = numbered({6});
  EXPECT_EQ(as_strided(x, {2, 2}, {3, 1}, 1).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 2, 4, 5}));
  const std::string said = error_of<ValueError>([&] { as_strided(x, {2, 2}, {3, 2}, 1); });
  EXPECT_EQ(said.find("as_strided: expected "), 0u) << said;
  EXPECT_THROW(as_strided(x, {7}, {1}), ValueError);
  EXPECT_THROW(as_strided(x, {1}, {1}, 6), ValueError);
  EXPECT_THROW(as_strided(x, {2}, {-1}, 3), Error);
  EXPECT_THROW(as_strided(x, {2}, {1}, -1), Error);
  EXPECT_THROW(as_strided(x, {2, 2}, {1}), Error);
  EXPECT_THROW(as_strided(x, {std::int64_t{1} << 62, 4}, {4, 1}), Error);
  EXPECT_THROW(as_strided(x, {2}, {std::int64_t{1} << 62}), Error);
}

TEST(ViewOfDType, ShowsTheSameBytes) {
  const Tensor x = sample({2, 3});
  const Tensor bits = view(x, DType::int32), bytes = view(x, DType::uint8);
  EXPECT_EQ(bits.impl()->storage, x.impl()->storage);
  EXPECT_EQ(bytes.shape(), (Shape{2, 12}));
  EXPECT_TRUE(equal(view(bytes, DType::float32), x));
  EXPECT_TRUE(equal(view(transpose(x, 0, 1), DType::int32), transpose(bits, 0, 1)));
  EXPECT_EQ(view(sample({2, 4}), DType::float64).shape(), (Shape{2, 2}));
}

TEST(ViewOfDType, IsAViewWithoutADerivative) {
  Tensor x = sample({4}).requires_grad_(), y = x * 2;
  Tensor bits = view(y, DType::int32), wide = view(y, DType::float64);
  EXPECT_EQ(bits.impl()->base, y.impl());
  EXPECT_FALSE(bits.requires_grad() || wide.requires_grad());
  const std::int64_t before = bits.version();
  mul_(y, 3);
  EXPECT_EQ(bits.version(), before + 1);
  EXPECT_FALSE(bits.requires_grad() || wide.requires_grad()) << "after a write to the base";
  EXPECT_THROW(mul_(wide, 2), InplaceError);
  Tensor plain = ones({2});
  Tensor of_plain = view(plain, DType::int32);
  of_plain.zero_();
  EXPECT_EQ(sum(plain).item<double>(), 0);
}

TEST(ViewOfDType, RefusesWhatDoesNotFit) {
  EXPECT_EQ(error_of<ShapeError>([] {
              view(sample({2, 3}), DType::float64);
            }),
            "view: expected elements side by side in a last dimension that float64 divides, got float32 [2, 3] with "
            "strides [3, 1]; use to() for other values, or contiguous() first");
  EXPECT_EQ(error_of<ValueError>([] { view(full({2}, 2, {.dtype = DType::uint8}), DType::boolean); }),
            "view: expected bytes 0 and 1 for bool, got others; use to()");
}

}  // namespace
}  // namespace neura::test
