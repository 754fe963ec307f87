// Random shapes, layouts and dtypes, family by family, against plain loops: a thousand calls each. A failure prints its
// seed; NEURA_SEED=<n> replays it alone.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "neura/ops/copy.h"
#include "neura/ops/create.h"
#include "neura/ops/index.h"
#include "neura/ops/join.h"
#include "neura/ops/matmul.h"
#include "neura/ops/reduce.h"
#include "neura/ops/rows.h"
#include "neura/ops/sort.h"
#include "neura/ops/view.h"
#include "tests/contract/row_case.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

struct Random : Dice {
  explicit Random(std::uint64_t seed) : Dice{seed * 0x9E3779B97F4A7C15u} {}
  std::int64_t from(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  bool chance(double p) { return uniform() < p; }
  Shape shape(int least_rank, int most_rank, std::int64_t most = 5) {
    Shape s;
    for (std::int64_t r = from(least_rank, most_rank); r > 0; --r) s.push_back(chance(0.04) ? 0 : from(1, most));
    return s;
  }
  // The same elements in any order of dimensions in memory, with gaps, behind an offset.
  Tensor laid(const Tensor& t) {
    Shape strides = t.shape();
    std::int64_t step = from(1, 2);
    std::vector<int> order;
    for (int d = 0; d < t.dim(); ++d) order.insert(order.begin() + from(0, d), d);
    for (const int d : order) strides[d] = step, step *= std::max<std::int64_t>(t.size(d), 1) + (chance(0.2) ? 1 : 0);
    return with_strides(t, strides, from(0, 3));
  }
  Tensor tensor(const Shape& s, DType d, double low = -3, double high = 3) {
    return laid(sample(s, d, {.low = low, .high = high, .seed = bits()}));
  }
  Tensor indices(const Shape& s, std::int64_t bound) {
    return laid(from_loop(s, int64, [&](const Shape&) { return below(bound); }));
  }
};
template <class F> void thousand(F&& f) {
  const char* replay = std::getenv("NEURA_SEED");
  const std::uint64_t first = replay ? std::strtoull(replay, nullptr, 10) : 1, last = replay ? first : 1000;
  for (std::uint64_t seed = first; seed <= last && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("NEURA_SEED=" + std::to_string(seed));
    Random r(seed);
    f(r), count_case();
  }
}

TEST(RandomCalls, Rows) {
  thousand([](Random& r) {
    const RowCase& c = row_cases()[std::size_t(r.below(std::int64_t(row_cases().size())))];
    const DType d = c.row->cls.accepts(float64) ? float64 : c.row->cls.accepts(int64) ? int64 : complex128;
    if (!c.row->cls.accepts(d)) return;
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
  thousand([](Random& r) {
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
  thousand([](Random& r) {
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
  thousand([](Random& r) {
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
  thousand([](Random& r) {
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
