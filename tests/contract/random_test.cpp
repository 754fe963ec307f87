// Random shapes, layouts and dtypes, family by family, against plain loops: thousands of calls each (see random.h).
#include <gtest/gtest.h>

#include <cmath>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/sort/sort.h"
#include "tests/contract/random.h"

namespace neura::test {
namespace {

TEST(RandomCalls, Rows) {
  thousands([](Random& r) {
    const RowCase& c = row_cases()[std::size_t(r.below(std::int64_t(row_cases().size())))];
    const DType d = c.row->types.accepts(float64) ? float64 : c.row->types.accepts(int64) ? int64 : complex128;
    if (!c.row->types.accepts(d)) return;
    const Shape whole = r.shape(0, 5);
    std::vector<Shape> shapes;
    for (int i = 0; i < c.row->inputs; ++i) {
      Shape s = whole;
      for (std::int64_t& n : s)
        if (r.chance(0.2) && n) n = 1;
      while (!s.empty() && r.chance(0.15)) s.erase(0);
      shapes.push_back(s);
    }
    const std::vector<Tensor> in = operands(c, d, shapes, r.bits() % 1000);
    std::vector<Tensor> laid;
    for (const Tensor& t : in) laid.push_back(r.laid(t));
    const Tensor got = call(c, laid);
    expect_close(got, converted(oracle(c, in), got.dtype()), tolerance(got.dtype()).times(4));
  });
}

TEST(RandomCalls, Reductions) {
  thousands([](Random& r) {
    const DType d = r.chance(0.5) ? float64 : int64;
    const Tensor x = r.tensor(r.shape(1, 5), d);
    Dims dims;
    for (int i = 0; i < x.dim(); ++i)
      if (r.chance(0.5)) dims.push_back(r.chance(0.5) ? i : i - x.dim());
    const bool keepdim = r.chance(0.5);
    const Tensor total = sum(x, dims, keepdim);
    Shape kept = x.shape();
    for (int i = 0; i < x.dim(); ++i)
      if (dims.empty() || dims.contains(i) || dims.contains(i - x.dim())) kept[i] = 1;
    Tensor want = from_loop(kept, total.dtype(), [](const Shape&) { return 0; });
    for_each_index(x.shape(), [&](const Shape& i) {
      Shape to = i;
      for (int k = 0; k < x.dim(); ++k) to[k] = kept[k] == 1 ? 0 : i[k];
      store_at(want, to, Scalar(at(want, to) + at(x, i)));
    });
    expect_close(total.reshape(kept), want);
    if (!x.numel()) return;
    const int dim = int(r.below(x.dim()));
    const auto most = max(x, dim, true);
    expect_same(gather(x, dim, most.indices), most.values);
    expect_same(amax(x, Dims(dim), true), most.values);
    EXPECT_FALSE(any(gt(x, most.values)).item<bool>());
  });
}

TEST(RandomCalls, Indexing) {
  thousands([](Random& r) {
    Shape s = r.shape(1, 4);
    for (std::int64_t& n : s) n = std::max<std::int64_t>(n, 1);
    const int dim = int(r.below(s.size()));
    const Tensor x = r.tensor(s, float64);
    Shape picked = s;
    picked[dim] = r.from(0, 7);
    const Tensor line = r.indices({picked[dim]}, s[dim]);
    const Tensor selected = index_select(x, dim, line);
    ASSERT_EQ(selected.shape(), picked);
    for_each_index(picked, [&](const Shape& i) {
      Shape from = i;
      from[dim] = scalar_at(line, {i[dim]}).integer();
      ASSERT_EQ(at(selected, i), at(x, from));
    });
    const Tensor grid = r.indices(picked, s[dim]), source = r.tensor(picked, float64);
    expect_same(take_along_dim(x, grid, dim), gather(x, dim, grid));
    Tensor want = converted(x, float64);
    for_each_index(picked, [&](const Shape& i) {
      Shape to = i;
      to[dim] = scalar_at(grid, i).integer();
      store_at(want, to, Scalar(at(want, to) + at(source, i)));
    });
    expect_close(scatter_add(x, dim, grid, source), want);
    Tensor added = converted(x, float64);
    for_each_index(picked, [&](const Shape& i) {
      Shape to = i;
      to[dim] = scalar_at(line, {i[dim]}).integer();
      store_at(added, to, Scalar(at(added, to) + 2 * at(source, i)));
    });
    expect_close(index_add(x, dim, line, source, 2), added);
  });
}

TEST(RandomCalls, Products) {
  thousands([](Random& r) {
    const std::int64_t m = r.from(0, 9), k = r.from(0, 9), n = r.from(1, 9);
    Shape batch = r.shape(0, 2, 3), left = batch, right = batch;
    for (std::int64_t& b : left)
      if (r.chance(0.3) && b) b = 1;
    while (!right.empty() && r.chance(0.3)) right.erase(0);
    const Shape both = broadcast_shapes("test", left, right);
    Shape a_shape = left, b_shape = right, y_shape = both;
    a_shape.push_back(m), a_shape.push_back(k), b_shape.push_back(k), b_shape.push_back(n);
    y_shape.push_back(m), y_shape.push_back(n);
    const DType d = r.chance(0.3) ? int64 : r.chance(0.5) ? float64 : float32;
    const Tensor a = r.tensor(a_shape, d), b = r.tensor(b_shape, d);
    const Tensor want = from_loop(y_shape, d, [&](const Shape& i) {
      double s = 0;
      Shape p = i, q = i;
      for (std::int64_t j = 0; j < k; ++j) {
        p[p.size() - 1] = j, q[q.size() - 2] = j;
        s += at(a, p) * at(b, q);
      }
      return s;
    });
    expect_close(matmul(a, b), want, tolerance(d).times(8));
  });
}

TEST(RandomCalls, JoinsAndSorts) {
  thousands([](Random& r) {
    Shape s = r.shape(1, 4);
    const int dim = int(r.below(s.size()));
    std::vector<Tensor> parts;
    std::vector<std::int64_t> sizes;
    for (std::int64_t k = r.from(1, 5); k > 0; --k) {
      s[dim] = r.from(0, 4), sizes.push_back(s[dim]);
      parts.push_back(r.tensor(s, r.chance(0.5) ? float64 : float32));
    }
    const Tensor whole = cat(parts, dim);
    const std::vector<Tensor> back = split(whole, sizes, dim);
    for (std::size_t i = 0; i < parts.size(); ++i) expect_same(back[i], parts[i].to(whole.dtype()));
    const auto sorted = sort(whole, dim, r.chance(0.5));
    expect_same(gather(whole, dim, sorted.indices), sorted.values);
    expect_same(sort(sorted.indices, dim).values, arange(whole.size(dim))
                                                      .reshape([&] {
                                                        Shape line = Shape::filled(whole.dim(), 1);
                                                        return line[dim] = whole.size(dim), line;
                                                      }())
                                                      .expand(whole.shape()));
  });
}

}  // namespace
}  // namespace neura::test
