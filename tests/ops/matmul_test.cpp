// Products: against plain loops in every layout and dtype, PyTorch's stored answers, gradients, errors.
#include "neura/ops/product/matmul.h"

#include <gtest/gtest.h>

#include <set>

#include "neura/core/memory.h"
#include "neura/core/parallel.h"
#include "neura/op/apply.h"
#include "neura/ops/create/create.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"
#include "tests/support/conformance.h"
#include "tests/support/gradients.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using Results = std::vector<Tensor>;

// The oracle: [.., m, k] x [.., k, n] by loops, summed in double (integers exactly).
Tensor looped(const Tensor& a, const Tensor& b) {
  Shape batch = broadcast_shapes("test", Shape(a.shape().data(), std::size_t(a.dim() - 2)),
                                 Shape(b.shape().data(), std::size_t(b.dim() - 2)));
  batch.push_back(a.size(-2)), batch.push_back(b.size(-1));
  return from_loop(batch, a.dtype(), [&](const Shape& i) -> Scalar {
    std::complex<double> sum = 0;
    std::int64_t whole = 0;
    for (std::int64_t k = 0; k < a.size(-1); ++k) {
      Shape at = i, other = i;
      at.back() = k, other[other.size() - 2] = k;
      const Scalar x = scalar_at(a, at), y = scalar_at(b, other);
      sum += std::complex<double>(x.real(), x.imag()) * std::complex<double>(y.real(), y.imag());
      whole += is_integral(a.dtype()) ? x.integer() * y.integer() : 0;
    }
    if (is_integral(a.dtype())) return Scalar(whole);
    return is_complex(a.dtype()) ? Scalar(sum) : Scalar(sum.real());
  });
}
Tolerance for_sums(DType d) { return tolerance(d).times(10); }

TEST(Matmul, SizesAroundTheTile) {
  for (const DType d : {DType::float32, DType::float64})
    for (const std::int64_t m : {1, 7, 13, 14, 15, 31, 33})
      for (const std::int64_t n : {1, 8, 9, 16, 31, 32, 33, 65})
        for (const std::int64_t k : {1, 9, 33}) {
          const Tensor a = sample({m, k}, d), b = sample({k, n}, d, {.seed = 1});
          expect_close(matmul(a, b), looped(a, b), for_sums(d));
        }
}
TEST(Matmul, DeepSumsAndManyRows) {  // several blocks of depth and of rows
  const Tensor a = sample({300, 600}, DType::float64), b = sample({600, 70}, DType::float64, {.seed = 1});
  expect_close(matmul(a, b), looped(a, b), {1e-10, 1e-10});
}
TEST(Matmul, EveryLayoutGivesTheSame) {
  const Tensor a = sample({2, 17, 20}, DType::float64), b = sample({2, 20, 35}, DType::float64, {.seed = 1});
  const Tensor want = looped(a, b);
  for (const Tensor& x : layouts(a))
    for (const Tensor& y : layouts(b)) expect_close(matmul(x, y), want);
  const Tensor square = sample({40, 40}, DType::float32);
  expect_close(matmul(square.t(), square), looped(square.t(), square), for_sums(DType::float32));
}
TEST(Matmul, EveryDtype) {
  for (const DType d : {DType::uint8, DType::int8, DType::int16, DType::int32, DType::int64, DType::float16,
                        DType::bfloat16, DType::complex64, DType::complex128}) {
    const Tensor a = sample({3, 5, 9}, d), b = sample({9, 7}, d, {.seed = 1});
    expect_close(matmul(a, b), looped(a, b), for_sums(d));
  }
}
// Where the processor multiplies pairs of bfloat16: a last k alone, rows that begin at odd elements, every layout.
TEST(Matmul, Bfloat16OfEverySize) {
  for (const Shape& s : {Shape{16, 16, 16}, Shape{17, 33, 19}, Shape{100, 257, 65}, Shape{30, 1500, 33}}) {
    const Tensor a = sample({s[0], s[1]}, DType::bfloat16), b = sample({s[1], s[2]}, DType::bfloat16, {.seed = 1});
    const Tensor c = sample({s[2]}, DType::bfloat16, {.seed = 2});
    const auto wide = [](const Tensor& x) { return x.to(DType::float64); };
    const Tensor want = matmul(wide(a), wide(b)).to(DType::bfloat16);
    const Tensor sums = addmm(wide(c), wide(a), wide(b), {.beta = 0.5, .alpha = 2}).to(DType::bfloat16);
    for (const Tensor& x : layouts(a))
      for (const Tensor& y : layouts(b)) {
        expect_close(matmul(x, y), want, for_sums(DType::bfloat16));
        expect_close(addmm(c, x, y, {.beta = 0.5, .alpha = 2}), sums, for_sums(DType::bfloat16));
      }
  }
}
TEST(Matmul, RanksAndBatches) {
  const Tensor a = sample({3, 1, 4, 5}, DType::float64), b = sample({2, 5, 6}, DType::float64, {.seed = 1});
  expect_close(matmul(a, b), looped(a, b));
  const Tensor v = sample({5}, DType::float64, {.seed = 2});
  expect_close(matmul(a, v), looped(a, v.unsqueeze(1)).squeeze(-1));
  expect_close(matmul(v, b), looped(v.unsqueeze(0), b).squeeze(-2));
  EXPECT_EQ(matmul(v, v).shape(), Shape({}));
  expect_close(matmul(a.transpose(0, 2), b[0]), looped(a.transpose(0, 2), b[0]));
}
TEST(Matmul, NothingToSumGivesZeros) {
  const Tensor a = sample({4, 0}), b = sample({0, 3});
  expect_close(matmul(a, b), std::vector<double>(12, 0));
  EXPECT_EQ(matmul(sample({0, 4}), sample({4, 3})).shape(), Shape({0, 3}));
  expect_close(addmm(sample({3}).fill_(2), a, b), std::vector<double>(12, 2));
}
TEST(Matmul, ThreadsDoNotChangeBits) {
  const int before = get_num_threads();
  for (const Shape& s : {Shape{300, 300, 300}, Shape{64, 3000, 200}, Shape{2000, 3, 400}, Shape{1, 5000, 700}}) {
    const Tensor a = sample({s[0], s[1]}), b = sample({s[1], s[2]}, DType::float32, {.seed = 1});
    set_num_threads(1);
    const Tensor one = matmul(a, b);
    set_num_threads(4);
    expect_same(matmul(a, b), one);
  }
  // Few rows: each thread takes columns. One row and many rows at once are other ways to the same sums.
  for (const std::int64_t m : {15, 75}) {
    const Tensor a = sample({m, 1100}), b = sample({900, 1100}, DType::float32, {.seed = 1}), c = sample({900});
    for (const int threads : {1, 2, 4}) {
      set_num_threads(threads);
      const Tensor y = addmm(c, a, b.t()), all = addmm(c, cat(std::vector<Tensor>(std::size_t(300 / m), a), 0), b.t());
      expect_same(y, addmm(c, a, b.t().contiguous()));
      expect_same(y, all.narrow(0, 0, m));
    }
  }
  const Tensor half = sample({300, 301}, DType::bfloat16);
  set_num_threads(1);
  const Tensor square = matmul(half.t(), half);
  set_num_threads(4);
  expect_same(matmul(half.t(), half), square);
  const Tensor a = sample({20, 30, 40}), b = sample({20, 40, 50}, DType::float32, {.seed = 1});
  const Tensor four = matmul(a, b);
  set_num_threads(1);
  expect_same(matmul(a, b), four);
  set_num_threads(before);
}
TEST(Matmul, IntoADestinationOfAnyLayout) {
  const Tensor a = sample({5, 6}), b = sample({6, 7}, DType::float32, {.seed = 1}), want = looped(a, b);
  Tensor turned = Tensor::empty(Spec::dense(DType::float32, Shape{7, 5})).t();
  expect_close(matmul_out(turned, a, b), want);
  Tensor gaps = Tensor::empty(Spec::dense(DType::float32, Shape{5, 14})).slice(1, 0, 14, 2);
  expect_close(matmul_out(gaps, a, b), want);
  Tensor square = sample({6, 6});
  const Tensor squared = looped(square, square);
  expect_close(matmul_out(square, square, square), squared);  // its own operand
}
TEST(Addmm, BetaZeroDoesNotReadWhatIsAdded) {
  const Tensor nan = Tensor::empty(Spec::dense(DType::float32, Shape{2, 2})).fill_(NAN), x = sample({2, 2});
  expect_close(addmm(nan, x, x, {.beta = 0}), looped(x, x));
}
TEST(Linear, EqualsTheProductWithTheTransposedWeight) {
  for (const Shape& shape : {Shape{9}, Shape{33, 9}, Shape{2, 3, 9}}) {
    const Tensor x = sample(shape, DType::float64), w = sample({10, 9}, DType::float64, {.seed = 1});
    const Tensor b = sample({10}, DType::float64, {.seed = 2});
    const Tensor want = matmul(x, w.t());
    expect_close(linear(x, w), want);
    const Tensor y = linear(x, w, b);
    for_each_index(y.shape(), [&](const Shape& i) { EXPECT_NEAR(at(y, i), at(want, i) + at(b, {i.back()}), 1e-12); });
  }
}
// Rows of memory, columns of it, every second one, a window, a broadcast batch: read where they lie.
TEST(Products, CopyNoOperandOfAnyLayout) {
  struct Names : Interceptor {
    std::set<std::string> all;
    void call(Call& c) override {
      if (c.row->kind != Row::view) all.insert(c.row->name);
      apply(c);
    }
  };
  const std::int64_t n = 40000;  // an operand is 5 MB and more, the result 4 kB
  const Tensor wide = sample({32, n}), tall = sample({n, 32}, float32, {.seed = 2}), large = sample({64, 2 * n});
  const Tensor batch = sample({3, 32, n});
  const std::vector<std::pair<const char*, std::pair<Tensor, Tensor>>> cases = {
      {"plain", {wide, tall}},
      {"transposed", {tall.t(), wide.t()}},
      {"a window", {large.slice(0, 3, 35).slice(1, 11, 11 + n), tall}},
      {"every second row", {large.slice(0, 0, 64, 2).slice(1, 0, n), tall}},
      {"every second column", {large.slice(0, 0, 32).slice(1, 0, 2 * n, 2), tall}},
      {"a transposed window", {wide, large.slice(0, 5, 37).slice(1, 7, 7 + n).t()}},
      {"batches", {batch, tall.expand({3, n, 32})}},
      {"transposed batches", {tall.t(), batch.transpose(1, 2)}},
      {"selected", {batch.select(0, 1), batch.select(0, 2).t()}},
  };
  for (const auto& [name, operands] : cases) {
    SCOPED_TRACE(name);
    const auto& [a, b] = operands;
    const Tensor want = matmul(a.contiguous().to(float64), b.contiguous().to(float64)).to(float32);
    Names calls;
    reset_peak_memory_stats();
    const std::size_t before = max_memory_allocated();
    const Tensor got = matmul(a, b);
    EXPECT_LT(max_memory_allocated() - before, std::size_t(4) * 32 * n) << "bytes, as many as an operand has";
    EXPECT_EQ(calls.all, (std::set<std::string>{"matmul"}));
    expect_close(got, want, {2e-2, 1e-3});
  }
}

TEST(Products, Gradients) {
  for (const DType d : {DType::float64, DType::complex128}) {
    const Tensor a = sample({2, 3, 4}, d), b = sample({4, 5}, d, {.seed = 1}), c = sample({2, 4, 3}, d, {.seed = 2});
    expect_gradients([](const Tensor& x, const Tensor& y) { return matmul(x, y); }, a, b);
    expect_gradients([](const Tensor& x, const Tensor& y) { return matmul(x, y); }, a, c);
    expect_gradients([](const Tensor& x, const Tensor& y) { return vdot(x, y); }, sample({4}, d),
                     sample({4}, d, {.seed = 3}));
    expect_gradients([](const std::vector<Tensor>& t) -> Results { return {linear(t[0], t[1], t[2])}; },
                     {a, sample({5, 4}, d, {.seed = 1}), sample({5}, d, {.seed = 4})});
    expect_gradients(
        [](const std::vector<Tensor>& t) -> Results { return {addmm(t[0], t[1], t[2], {.beta = 0.5, .alpha = 2})}; },
        {sample({5}, d), sample({3, 4}, d, {.seed = 1}), b});
  }
}
TEST(Products, IntegersThatBroadcastInTensordotKeepTheirDtype) {
  const Tensor one = full({1, 1}, 1, {.dtype = uint8}), many = full({2, 3}, 200, {.dtype = uint8});
  const Tensor y = tensordot(one, many, {1}, {0});
  EXPECT_EQ(y.dtype(), uint8);
  EXPECT_EQ(y.to_vector<std::uint8_t>(), std::vector<std::uint8_t>(3, 144));  // 400, which wraps around
}

TEST(Products, Errors) {
  const Tensor a = sample({2, 3}), b = sample({4, 5}), mask = sample({3, 3}, DType::boolean);
  EXPECT_EQ(error_of<ShapeError>([&] { matmul(a, b); }),
            "matmul: expected the second operand's dimension -2 to have size 3, as the first's last has, got 4 "
            "(float32 [2, 3] and float32 [4, 5])");
  EXPECT_EQ(error_of<ShapeError>([&] { mm(a, a[0]); }),
            "mm: expected a matrix and a matrix, got float32 [2, 3] and float32 [3]");
  EXPECT_EQ(error_of<DTypeError>([&] { matmul(mask, mask); }),
            "matmul: expected numbers, got bool [3, 3]; convert it with .to()");
  EXPECT_EQ(error_of<DTypeError>([&] { mm(a, b.to(DType::float64)); }),
            "mm: expected operands of one dtype, got float32 [2, 3] and float64 [4, 5]; convert one with .to()");
}

const Tensor& x(const ConformanceCase& c) { return c.input.data; }
const Tensor& arg(const ConformanceCase& c, int i) { return c.args[std::size_t(i)].data; }
template <Tensor (*f)(const Tensor&, const Tensor&)> Results two(const ConformanceCase& c) {
  return {f(x(c), arg(c, 0))};
}
template <Tensor (*f)(const Tensor&, const Tensor&, const Tensor&, const AddProductOptions&)>
Results three(const ConformanceCase& c) {
  AddProductOptions o;
  if (const Value& v = c.kwarg("beta")) o.beta = v.scalar;
  if (const Value& v = c.kwarg("alpha")) o.alpha = v.scalar;
  return {f(x(c), arg(c, 0), arg(c, 1), o)};
}
Dims dims_of(const Value& v) {
  Dims d;
  for (const Value& item : v.items) d.push_back(item.scalar.integer());
  return d;
}
TEST(Products, AnswersArePyTorchs) {
  expect_conformance("products",
                     {{"matmul", &two<matmul>},
                      {"__rmatmul__", [](const ConformanceCase& c) -> Results { return {matmul(arg(c, 0), x(c))}; }},
                      {"mm", &two<mm>},
                      {"bmm", &two<bmm>},
                      {"mv", &two<mv>},
                      {"dot", &two<dot>},
                      {"vdot", &two<vdot>},
                      {"inner", &two<inner>},
                      {"outer", &two<outer>},
                      {"addmm", &three<addmm>},
                      {"addmm#decomposed", &three<addmm>},
                      {"addmv", &three<addmv>},
                      {"addbmm", &three<addbmm>},
                      {"baddbmm", &three<baddbmm>},
                      {"addr", &three<addr>},
                      {"nn.functional.linear",
                       [](const ConformanceCase& c) -> Results {
                         return {linear(x(c), arg(c, 0), c.args.size() > 1 ? arg(c, 1) : Tensor())};
                       }},
                      {"tensordot",
                       [](const ConformanceCase& c) -> Results {
                         const Value& dims = c.kwarg("dims");
                         if (dims.kind == Value::integer) return {tensordot(x(c), arg(c, 0), dims.scalar.integer())};
                         return {tensordot(x(c), arg(c, 0), dims_of(dims.items[0]), dims_of(dims.items[1]))};
                       }},
                      {"linalg.multi_dot", [](const ConformanceCase& c) -> Results {
                         std::vector<Tensor> m;
                         for (const Value& v : c.input.items) m.push_back(v.data);
                         return {multi_dot(m)};
                       }}});
}

}  // namespace
}  // namespace neura::test
