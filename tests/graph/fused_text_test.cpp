// The text of fused kernels: what it moves how, and that the run-time compiler takes every row in every dtype.
#include "neura/graph/fused_text.h"

#include <atomic>
#include <cstring>
#include <set>
#include <thread>

#include "neura/neura.h"
#include "neura/op/registry.h"
#include "tests/support/close.h"

namespace neura::test {
namespace {

using graph::Fused;
using graph::FusedCall;
using graph::FusedLayout;
using graph::FusedOperand;

FusedCall call_of(const Row& row, DType computed, DType result, std::vector<std::int64_t> in) {
  const Row& of = graph::formulas_of(row);
  const DType natural = of.types.result_type == ResultType::as_bool ? boolean : computed;
  const double* const attributes = of.attributes.fallback;
  return {
      graph::row_number(row), computed, natural, result, std::move(in), {attributes, attributes + of.attributes.count}};
}
Spec dense(DType d, const Shape& sizes) { return Spec::dense(d, sizes); }
Spec strided(const Shape& sizes, std::initializer_list<std::int64_t> strides, DType d = float32) {
  Spec s = dense(d, sizes);
  std::copy(strides.begin(), strides.end(), s.strides);
  return s.finish(), s;
}
std::shared_ptr<const cuda::CompiledKernel> compiled(const std::string& text) {
  setenv("NEURA_CACHE_DIR", "", 1);  // compiled now, not read from a file
  return cuda::compile_kernel(text, graph::kFusedName, {"-std=c++20"}, "sm_90", graph::fused_headers());
}

TEST(FusedText, OperandsAreReadAsTheyLie) {
  const Fused f{{600, 50, 80}, {}, {call_of(rows::add, float32, float32, {0, 1})}, {}};
  const auto laid = [&](const Spec& a, const Spec& b) {
    FusedLayout l;
    const Spec* const in[] = {&a, &b};
    EXPECT_TRUE(lay_out(f, in, l));
    return l;
  };
  const Spec whole = dense(float32, {600, 50, 80});
  FusedLayout l = laid(whole, whole);
  EXPECT_TRUE(l.rank == 1 && l.pack == 8 && !l.positions && l.shape[0] == 2400000);
  l = laid(whole, dense(float32, {1, 1, 1}));
  EXPECT_TRUE(l.rank == 1 && l.operands[1].access == FusedOperand::single && !l.positions);
  l = laid(whole, dense(float16, {80}));
  EXPECT_TRUE(l.rank == 2 && l.pack == 8 && l.operands[0].access == FusedOperand::flat);
  EXPECT_EQ(l.operands[1].access, FusedOperand::line);
  l = laid(whole, dense(float64, {600, 50, 1}));
  EXPECT_TRUE(l.rank == 2 && l.pack == 8 && l.operands[1].access == FusedOperand::same);
  l = laid(strided({600, 50, 80}, {1, 48000, 600}), whole);
  EXPECT_TRUE(l.rank == 2 && l.pack == 8 && l.operands[0].access == FusedOperand::apart);
  l = laid(strided({600, 50, 80}, {8000, 160, 2}), strided({600, 50, 80}, {4000, 0, 1}));
  EXPECT_TRUE(l.rank == 3 && l.pack == 8 && l.operands[0].access == FusedOperand::apart);
  EXPECT_EQ(l.operands[1].access, FusedOperand::line);
  FusedLayout odd;
  const Fused g{{600, 50, 81}, {}, f.calls, {}};
  const Spec a = dense(float32, {600, 50, 81}), b = dense(float32, {81});
  const Spec* const in[] = {&a, &b};
  EXPECT_TRUE(lay_out(g, in, odd));
  EXPECT_EQ(odd.pack, 1);
  FusedLayout few;
  const Spec small = dense(float32, {50, 80});
  const Spec* const least[] = {&small, &small};
  EXPECT_TRUE(lay_out(Fused{{50, 80}, {}, f.calls, {}}, least, few));
  EXPECT_EQ(few.pack, 1);
}

TEST(FusedText, NumbersOfOperationsComeFromTheirNames) {
  EXPECT_EQ(graph::row_number(rows::add), 8324307479866929962);  // in files
  std::set<std::int64_t> all;
  for (const Row* row : all_operations()) {
    EXPECT_EQ(graph::row_of_number(graph::row_number(*row)), row);
    EXPECT_TRUE(all.insert(graph::row_number(*row)).second) << row->name;
  }
  EXPECT_EQ(graph::row_of_number(0), nullptr);
}
TEST(FusedText, EveryRowIsCompiledInEveryDtype) {
  if (cuda::nvrtc_version().empty()) GTEST_SKIP() << "no NVRTC";
  const auto all = all_operations();
  int calls = 0;
  for (const DType d : {float32, float64, boolean, uint8, int64}) {
    const Spec in[] = {dense(d, {1000}), dense(boolean, {1000}), dense(bfloat16, {1000})};
    const Spec* const specs[] = {&in[0], &in[1], &in[2]};
    Fused f{{1000}, {}, {}, {}};
    const auto compile = [&] {
      FusedLayout l;
      ASSERT_TRUE(lay_out(f, specs, l));
      const auto made = compiled(text_of(f, l));
      EXPECT_EQ(made->code.substr(0, 4), "\177ELF");
      calls += int(f.calls.size());
      f.calls.clear();
    };
    for (const Row* row : all) {
      const bool slope = row->kind == Row::slope;
      if (row->kind != Row::pointwise && !slope) continue;
      const Row& of = graph::formulas_of(*row);
      if (of.own || !of.types.has_kernel(d)) continue;
      if (slope && (!differentiable(d) || !of.slopes[row->operand].exists || of.slopes[row->operand].passes)) continue;
      const DType result = row->types.result_type == ResultType::as_bool ? boolean : d == float32 ? bfloat16 : d;
      f.calls.push_back(call_of(*row, d, result, {slope ? -1 : 0, 2, 1, 0, -1}));
      f.calls.back().in.resize(row->inputs);
      if (f.calls.size() == 40) compile();
    }
    if (!f.calls.empty()) compile();
  }
  EXPECT_GT(calls, 600);
}

TEST(FusedText, ThreadsWaitForEqualKernelsAlone) {
  if (cuda::nvrtc_version().empty()) GTEST_SKIP() << "no NVRTC";
  const std::string text = "__global__ void f(float* x) { x[threadIdx.x] = 1; }\n";
  setenv("NEURA_CACHE_DIR", "", 1);
  const cuda::CompileCounts before = cuda::compile_counts();
  std::vector<std::thread> threads;
  std::atomic<int> failed = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      const std::string own = text + (i < 4 ? "" : std::string(std::size_t(i), '\n'));
      if (!cuda::compile_kernel(own, "f", {}, "sm_90")) ++failed;
    });
  for (std::thread& t : threads) t.join();
  const cuda::CompileCounts after = cuda::compile_counts();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(after.compiled - before.compiled, 5);
  EXPECT_EQ(after.remembered - before.remembered, 3);
  for (int i = 0; i < 2; ++i)  // what fails is not remembered
    EXPECT_THROW(cuda::compile_kernel("no code", "f", {}, "sm_90"), CudaError);
}

TEST(FusedText, EveryWayToReadIsCompiled) {
  if (cuda::nvrtc_version().empty()) GTEST_SKIP() << "no NVRTC";
  Fused f{{6, 5, 8}, {2.5, std::int64_t{3}}, {call_of(rows::add, float32, float16, {0, 1})}, {}};
  f.calls.push_back(call_of(rows::where, float32, float32, {2, 5, 3}));
  f.calls.push_back(call_of(rows::mul, float64, float64, {4, 6}));
  f.calls.push_back(call_of(rows::gt, float64, boolean, {9, 8}));
  const Spec in[] = {strided({6, 5, 8}, {40, 8, 1}, float16), strided({6, 5, 8}, {1, 48, 6}), strided({8}, {1}, uint8),
                     strided({6, 1, 1}, {1, 1, 1}), strided({}, {}, int64)};
  const Spec* specs[5];
  for (int i = 0; i < 5; ++i) specs[i] = &in[i];
  FusedLayout l;
  ASSERT_TRUE(lay_out(f, specs, l));
  EXPECT_NO_THROW(compiled(text_of(f, l)));
  l.pack = 8;
  EXPECT_NO_THROW(compiled(text_of(f, l)));
  EXPECT_NE(text_of(f, l).find("p.w[8]"), std::string::npos);
  const char* const data[6] = {};
  const auto words = words_of(f, l, data);
  float first = 0;
  std::memcpy(&first, &words[8], sizeof first);
  EXPECT_EQ(first, 2.5f);
  f.also = {0, 2};
  const auto more = words_of(f, l, data);
  EXPECT_EQ(more.size(), words.size() + 2);
  EXPECT_NO_THROW(compiled(text_of(f, l)));
  l.wide = true;
  EXPECT_NO_THROW(compiled(text_of(f, l)));
}

}  // namespace
}  // namespace neura::test
