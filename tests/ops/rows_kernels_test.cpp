// Every kernel of every row on every instruction set this machine has, values and slopes, against the plain loops of
// the same dtype; with infinities, NaN, zeros and denormal numbers among the operands.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "neura/backend/cpu/instruction_sets.h"
#include "neura/op/row.h"
#include "neura/ops/pointwise/composed.h"
#include "tests/support/sample.h"

namespace neura {
#define FAMILY(name) const void* cpu_rows_##name();
#include "neura/tables/without_formulas.h"

namespace test {
namespace {

constexpr std::size_t kSize = 1024;

const RowKernel& kernel_now(const Row& row) {
  const void* tables[] = {
#define FAMILY(name) cpu_rows_##name(),
#include "neura/tables/without_formulas.h"
  };
  return *static_cast<const RowKernel* const*>(tables[int(row.family)])[row.slot];
}

struct Buffer {
  alignas(64) char bytes[kSize * 16];
};
void fill(Buffer& b, DType d, int operand, bool special) {
  Dice dice{std::uint64_t(operand) * 77 + 5};
  const double specials[] = {0.,       -0.,       1.,  -1.,   0.5,    -0.5, 2.,    3.,   -3.,   6.,
                             INFINITY, -INFINITY, NAN, 1e-42, -1e-42, 1e30, -1e30, 100., -100., 1e-5};
  for (std::size_t i = 0; i < kSize; ++i) {
    const double wide = dice.below(3) == 0 ? 20 : 2;
    double re = (dice.uniform() * 2 - 1) * wide, im = (dice.uniform() * 2 - 1) * wide;
    if (special && dice.below(4) == 0) re = specials[dice.below(20)];
    if (d == DType::boolean) re = dice.below(2);
    if (is_integral(d) && d != DType::boolean) re = double(dice.below(100)) - (d == DType::uint8 ? 0 : 50);
    (is_complex(d)    ? Scalar(std::complex<double>(re, im))
     : is_integral(d) ? Scalar(std::int64_t(re))
                      : Scalar(re))
        .store(d, b.bytes + i * std::size_t(size_of(d)));
  }
}
bool near(double a, double b, double eps, double scale) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  return a == b || std::fabs(a - b) <= eps * (std::fabs(b) + scale);
}

void compare(const Row& row, DType d, int slope, const char* target, LineFn* fast, LineFn* slow, bool special) {
  static Buffer in[5], got, want;
  const DType made = row.types.result(d), out = slope < 0 ? made : d;
  double attributes[4];
  for (int i = 0; i < row.attributes.count; ++i) attributes[i] = row.attributes.fallback[i];
  Line line{got.bytes, {}, kSize, attributes};
  int n = 0;
  const auto operand = [&](DType dtype) { fill(in[n], dtype, n, special), line.in[n] = in[n].bytes, ++n; };
  if (slope >= 0) operand(made);
  for (int i = 0; i < row.inputs; ++i) operand(row.types.mask_first && i == 0 ? DType::boolean : d);
  if (slope >= 0) operand(made);
  fast(line);
  line.out = want.bytes;
  slow(line);
  const bool single = to_real(out) == DType::float32;
  // A slope may be ill-conditioned as 1 / (1 - x²) near 1, and the plain loops fuse no multiplications.
  const double eps = (single ? 4e-6 : 1e-13) * (slope >= 0 ? 50 : 1), least = slope >= 0 ? 1 : 0.2;
  int shown = 0;
  for (std::size_t i = 0; i < kSize && shown < 3; ++i) {
    const Scalar g = Scalar::load(out, got.bytes + i * std::size_t(size_of(out))),
                 w = Scalar::load(out, want.bytes + i * std::size_t(size_of(out)));
    const double size = is_complex(out) && std::isfinite(w.real()) ? 300 * std::hypot(w.real(), w.imag()) : 0;
    const bool same = is_integral(out)
                          ? g.integer() == w.integer()
                          : near(g.real(), w.real(), eps, size + least) && near(g.imag(), w.imag(), eps, size + least);
    if (same) continue;
    std::string operands;
    for (int k = 0; k < n; ++k) {
      const DType of = (slope >= 0 && (k == 0 || k == n - 1))      ? made
                       : row.types.mask_first && k == (slope >= 0) ? DType::boolean
                                                                   : d;
      operands += " " + Scalar::load(of, in[k].bytes + i * std::size_t(size_of(of))).str();
    }
    ADD_FAILURE() << row.name << " " << name(d) << " slope " << slope << " on " << target << ": " << g.str()
                  << " instead of " << w.str() << " of" << operands;
    ++shown;
  }
}

TEST(Rows, KernelsOfAllInstructionSetsAgree) {
  const int targets = cpu_targets();
  if (targets < 2) GTEST_SKIP() << "this machine has one instruction set: there is nothing to compare";
  for (const Row* row : all_rows())
    for (int d = 0; d < kDTypes; ++d) {
      use_cpu_target(targets - 1);
      const RowKernel slow = kernel_now(*row);
      for (int t = 0; t + 1 < targets; ++t) {
        const char* target = use_cpu_target(t);
        const RowKernel fast = kernel_now(*row);
        if (fast.value[d]) compare(*row, DType(d), -1, target, fast.value[d], slow.value[d], true);
        for (int k = 0; k < 3; ++k)
          if (fast.slope[k][d]) compare(*row, DType(d), k, target, fast.slope[k][d], slow.slope[k][d], false);
      }
    }
  use_cpu_target(-1);
}

TEST(Rows, EveryAcceptedDTypeHasAKernel) {
  for (const Row* row : all_rows())
    for (int d = 0; d < kDTypes; ++d)
      if (row->types.accepts(DType(d)))
        for (DType fallback : {DType::float32, DType::float64})
          EXPECT_TRUE(row->kernel(cpu_backend()).value[int(row->types.computed_in(DType(d), fallback))])
              << row->name << ' ' << name(DType(d));
}

}  // namespace
}  // namespace test
}  // namespace neura
