// Pointwise rows and conversions on raw memory. What each row computes is tested in tests/ops/rows_kernels_test.cpp;
// here, that the walk over strides, broadcast operands, dtypes and threads gives its kernel the right lines.
#include "neura/ops/pointwise/composed.h"

#include <cmath>

#include "neura/core/scalar.h"
#include "neura/op/row.h"
#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

// Memory of any dtype.
class Raw {
 public:
  Raw(DType d, const Shape& sizes, bool spread, std::uint64_t seed) : spec_(Spec::dense(d, sizes)) {
    const Array<float> numbers = eighths(sizes, seed);
    std::int64_t step = 1;
    for (int i = 0; i < spec_.rank && spread; ++i) spec_.strides[i] = 2 * step, step *= spec_.shape[i];
    spec_.finish();
    memory_.assign(std::size_t((2 * spec_.numel + 1) * size_of(d)), 77);
    for (std::int64_t i = 0; i < spec_.numel; ++i)
      (is_integral(d) ? Scalar(std::int64_t(numbers.at(i)) + 5) : Scalar(double(numbers.at(i)))).store(d, place(i));
  }
  View view() { return {memory_.data(), &spec_}; }
  std::string bytes() {  // of the elements, in logical order
    std::string all;
    for (std::int64_t i = 0; i < spec_.numel; ++i) all.append(place(i), std::size_t(size_of(spec_.dtype)));
    return all;
  }
  const std::vector<char>& memory() const { return memory_; }
  char* place(std::int64_t flat) {
    std::int64_t at = 0;
    for (int d = spec_.rank - 1; d >= 0; --d) at += flat % spec_.shape[d] * spec_.strides[d], flat /= spec_.shape[d];
    return memory_.data() + at * size_of(spec_.dtype);
  }

 private:
  Spec spec_;
  std::vector<char> memory_;
};

struct How {
  Shape size;
  bool spread_in = false, spread_out = false, broadcast = false;
};
// The result's elements: the row's kernel over operands of its computing dtype.
std::string computed(const Row& row, DType d, const How& how) {
  std::vector<Raw> operands;
  std::vector<View> views;
  std::vector<DType> wanted;
  for (int i = 0; i < row.inputs; ++i) {
    Shape size = how.size;
    const DType dtype = row.types.mask_first && i == 0 ? DType::boolean : d;
    operands.emplace_back(dtype, size, how.spread_in, std::uint64_t(i) + 1);
    wanted.push_back(dtype);
  }
  // A broadcast last operand: the same row of numbers for every row of the result.
  const std::int64_t width = how.size.back(), bytes = size_of(wanted.back());
  Raw row_of_it(wanted.back(), {width}, false, 5);
  Raw repeated(wanted.back(), how.size, false, 5);
  for (std::int64_t i = 0; i < how.size.numel(); ++i) std::copy_n(row_of_it.place(i % width), bytes, repeated.place(i));
  for (Raw& o : operands) views.push_back(o.view());
  if (how.size.numel() && row.inputs > 1) views.back() = how.broadcast ? row_of_it.view() : repeated.view();

  Raw out(row.types.result(d), how.size, how.spread_out, 9);
  const std::vector<char> before = out.memory();
  double attributes[4];
  for (int i = 0; i < row.attributes.count; ++i) attributes[i] = row.attributes.fallback[i];
  execute(make_plan(out.view(), row.types.result(d), views.data(), wanted.data(), row.inputs),
          row.kernel(cpu_backend()).value[int(d)], attributes, row.cost);
  if (how.spread_out)
    for (std::size_t i = 0, size = std::size_t(size_of(row.types.result(d))); i < before.size(); ++i)
      if (i / size % 2) EXPECT_EQ(out.memory()[i], before[i]) << row.name << " writes between its elements";
  return out.bytes();
}
// f(row, dtype) for every kernel there is.
template <class F> void kernels(F f) {
  for (const Row* row : all_rows())
    for (int d = 0; d < kDTypes; ++d)
      if (!row->own && row->kernel(cpu_backend()).value[d] && row->types.accepts(DType(d))) f(*row, DType(d));
}

TEST(RowsKernels, StridedAndBroadcastOperandsAreLikeContiguousOnes) {
  int count = 0;
  kernels([&](const Row& row, DType d) {
    for (const Shape& size : {Shape{5, 37}, Shape{300, 3}}) {  // long lines, and lines shorter than a vector
      const std::string want = computed(row, d, {size});
      EXPECT_TRUE(computed(row, d, {size, true}) == want) << row.name << ' ' << name(d) << ": strided operands";
      EXPECT_TRUE(computed(row, d, {size, true, true}) == want) << row.name << ' ' << name(d) << ": strided result";
      EXPECT_TRUE(computed(row, d, {size, false, false, true}) == want) << row.name << ' ' << name(d) << ": broadcast";
    }
    ++count;
  });
  EXPECT_GT(count, 500);
}
TEST(RowsKernels, EveryFamilyHasRows) {
  std::set<Family> seen;
  kernels([&](const Row& row, DType) { seen.insert(row.family); });
  EXPECT_EQ(seen.size(), std::size_t(Family::count));
}
TEST(RowsKernels, OfNothing) {
  kernels([](const Row& row, DType d) { EXPECT_EQ(computed(row, d, {{3, 0}}), "") << row.name; });
}
TEST(RowsKernels, SameOnAnyNumberOfThreads) {
  for (const Row* row : all_rows())
    if (!row->own && row->kernel(cpu_backend()).value[int(DType::float32)] && row->types.accepts(DType::float32))
      for (const bool spread : {false, true}) {
        const std::int64_t rows = std::max(3, 400 / row->cost);  // enough for the row to be shared
        expect_same_on_any_threads([&] { return computed(*row, DType::float32, {{rows, 101}, spread, spread}); });
      }
}

// Numbers that every dtype has, as far as it has them.
Scalar small(DType d, std::int64_t i) { return d == DType::boolean ? Scalar(i % 2 == 1) : Scalar(i % 7); }
TEST(ConvertKernels, FromAnyDTypeAndStrideToAnyOther) {
  constexpr std::int64_t n = 37;
  for (int f = 0; f < kDTypes; ++f)
    for (int t = 0; t < kDTypes; ++t)
      for (const std::int64_t from_step : {1, 3, -1, 0})
        for (const std::int64_t to_step : {1, 2, -1}) {
          const DType from = DType(f), to = DType(t);
          const std::int64_t fs = size_of(from), ts = size_of(to), first = from_step < 0 ? n - 1 : 0;
          std::vector<char> in(std::size_t(3 * n * fs)), out(std::size_t(2 * n * ts), 77);
          const auto source = [&](std::int64_t i) { return in.data() + (first + i * from_step) * fs; };
          const auto target = [&](std::int64_t i) {
            return out.data() + ((to_step < 0 ? n - 1 : 0) + i * to_step) * ts;
          };
          for (std::int64_t i = 0; i < n; ++i) small(from, from_step ? i : 3).store(from, source(i));
          cpu_backend().convert->pair[f][t](source(0), from_step * fs, target(0), to_step * ts, std::size_t(n));
          for (std::int64_t i = 0; i < n; ++i) {
            const double had = Scalar::load(from, source(i)).real(), got = Scalar::load(to, target(i)).real();
            ASSERT_EQ(got, to == DType::boolean ? had != 0 : had) << name(from) << " to " << name(to) << " at " << i;
          }
          if (to_step == 2)
            for (std::int64_t i = 0; i + 1 < n; ++i) ASSERT_EQ(target(i)[ts], 77) << "between the elements";
        }
}
TEST(ConvertKernels, AssignmentsBroadcastAndConvert) {
  for (const DType from : {DType::float32, DType::int64, DType::bfloat16}) {
    Raw row(from, {5}, false, 1), to(DType::float32, {4, 5}, true, 2);
    assign_on_cpu(to.view(), row.view());
    for (std::int64_t i = 0; i < 20; ++i)
      EXPECT_EQ(Scalar::load(DType::float32, to.place(i)).real(), Scalar::load(from, row.place(i % 5)).real());
  }
}
TEST(ConvertKernels, OfNothing) {
  char byte = 5;
  for (int f = 0; f < kDTypes; ++f)
    for (int t = 0; t < kDTypes; ++t) cpu_backend().convert->pair[f][t](&byte, 1, &byte, 1, 0);
  EXPECT_EQ(byte, 5);
  Raw from(DType::float32, {0, 3}, false, 1), same(DType::float64, {0, 3}, false, 1);
  assign_on_cpu(same.view(), from.view());
  assign_on_cpu(from.view(), from.view());
}
TEST(ConvertKernels, SameOnAnyNumberOfThreads) {
  for (const DType from : {DType::float32, DType::float64, DType::uint8})
    for (const bool spread : {false, true}) {
      Raw x(from, {300, 501}, spread, 1);
      expect_same_on_any_threads([&] {
        Raw y(DType::float32, {300, 501}, false, 2);
        assign_on_cpu(y.view(), x.view());
        return y.bytes();
      });
    }
}

}  // namespace
}  // namespace neura::test
