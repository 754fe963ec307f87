// Reductions, scans, order, and products.
#include <limits>

#include "neura/ops/index/segment.h"
#include "neura/ops/linalg/matrix_functions.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/einsum.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/product/sparse_product.h"
#include "neura/ops/quant/quantize.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/reduce/scan.h"
#include "neura/ops/reduce/statistics.h"
#include "neura/ops/sort/sort.h"
#include "tests/contract/structs.h"

namespace neura::test {

std::vector<StructCase> reduction_cases() {
  return {
      CASE("sum", sum(x[0]), any({2, 3})),
      CASE("sum_dims", sum(x[0], {0, 2}, true), any({2, 3, 2})),
      CASE("sum_complex", sum(x[0], 1), complex_any({2, 3})),
      CASE("nansum", nansum(x[0], 1), any({2, 3})),
      CASE("mean", mean(x[0], 0), any({2, 3})),
      CASE("nanmean", nanmean(x[0], 0), any({2, 3})),
      CASE("prod", prod(x[0]), off_zero({4})),
      CASE("prod_dim", prod(x[0], 1), off_zero({2, 3})),
      CASE("prod_complex", prod(x[0], 1), complex_any({2, 3})),
      CASE("trace", trace(x[0]), any({3, 3})),
      CASE("segment_reduce", segment_reduce(x[0], "mean", {.lengths = whole({2, 1}, {2})}), any({3, 2})),
      CASE("segment_reduce_max", segment_reduce(x[0], "max", {.offsets = whole({0, 2, 3}, {3})}), distinct({3, 2})),
      CASE("amax", amax(x[0], 1), distinct({2, 3})),
      CASE("amin", amin(x[0], {0, 1}), distinct({2, 3})),
      CASE("aminmax", aminmax(x[0], 1), distinct({2, 3})),
      CASE("max", max(x[0]), distinct({2, 3})),
      CASE("max_dim", max(x[0], 0), distinct({2, 3})),
      CASE("min_dim", min(x[0], 1, true), distinct({2, 3})),
      CASE("var", var(x[0], 1), any({2, 4})),
      CASE("var_complex", var(x[0], 1), complex_any({2, 3})),
      CASE("std", std(x[0], {}, 0), any({2, 3})),
      CASE("var_mean", var_mean(x[0], 0), any({3, 2})),
      CASE("std_mean", std_mean(x[0], 0), any({3, 2})),
      CASE("logsumexp", logsumexp(x[0], 1), any({2, 3})),
      CASE("norm", norm(x[0]), any({2, 3})),
      CASE("norm_1", norm(x[0], 1, 1), off_zero({2, 3})),
      CASE("norm_3", norm(x[0], 3, 0), off_zero({2, 3})),
      CASE("norm_inf", norm(x[0], INFINITY, 1), distinct({2, 3}, 5)),
      CASE("norm_complex", norm(x[0], 2, 1), complex_any({2, 3})),
      CASE("vector_norm_half", vector_norm(x[0], 0.5, 1), off_zero({2, 3})),
      CASE("dist", dist(x[0], x[1], 3), any({3}), any({3}, 9)),
      CASE("cov", cov(x[0]), any({3, 4})),
      CASE("corrcoef", corrcoef(x[0]), any({3, 4})),
      CASE("cdist", cdist(x[0], x[1], 3), any({3, 2}), any({4, 2}, 9)),
      CASE("cross", cross(x[0], x[1], 1), any({2, 3}), any({2, 3}, 9)),
      CASE("vecdot", vecdot(x[0], x[1]), any({2, 3}), any({2, 3}, 9)),
      CASE("vander", vander(x[0], 3), any({3})),
      CASE("gradient", gradient(x[0], {1.0}), any({4, 3})),
      CASE("complex", complex(x[0], x[1]), any({3}), any({3}, 9)),
      CASE("polar", polar(x[0], x[1]), off_zero({3}), any({3}, 9)),
      CASE("renorm", renorm(x[0], 2, 0, 1.0), off_zero({2, 3})),
      CASE("sum_to_size", sum_to_size(x[0], {1, 3}), any({2, 3})),
      CASE("cumsum", cumsum(x[0], 1), any({2, 3})),
      CASE("cumprod", cumprod(x[0], 1), off_zero({2, 3})),
      CASE("cumprod_complex", cumprod(x[0], 0), complex_any({3})),
      CASE("cummax", cummax(x[0], 1), distinct({2, 4})),
      CASE("cummin", cummin(x[0], 0), distinct({4, 2})),
      CASE("logcumsumexp", logcumsumexp(x[0], 1), any({2, 3})),
      CASE("diff", diff(x[0], 2), any({2, 4})),
      CASE("diff_prepend", diff(x[0], 1, -1, x[1]), any({2, 3}), any({2, 1}, 2)),
      CASE("trapezoid", trapezoid(x[0], 0.5), any({2, 4})),
      CASE("trapezoid_at", trapezoid(x[0], x[1]), any({4}), any({4}, 2)),
      CASE("cumulative_trapezoid", cumulative_trapezoid(x[0], x[1]), any({4}), any({4}, 2)),
      CASE("sort", sort(x[0]), distinct({2, 4})),
      CASE("sort_descending", sort(x[0], 0, true), distinct({4, 2})),
      CASE("msort", msort(x[0]), distinct({4, 2})),
      CASE("topk", topk(x[0], 2, 1), distinct({2, 4})),
      CASE("kthvalue", kthvalue(x[0], 2), distinct({2, 4})),
      CASE("median", median(x[0]), distinct({5})),
      CASE("median_dim", median(x[0], 1), distinct({2, 4})),
      CASE("nanmedian", nanmedian(x[0], 1), distinct({2, 4})),
      CASE("mode", mode(x[0], 1), distinct({2, 3})),
      CASE("quantile", quantile(x[0], 0.3, 1), distinct({2, 4})),
      CASE("quantiles", quantile(x[0], x[1]), distinct({5}), fraction({2})),
      CASE("nanquantile", nanquantile(x[0], 0.6, 0), distinct({4, 2})),
  };
}

std::vector<StructCase> product_cases() {
  return {
      CASE("matmul", matmul(x[0], x[1]), any({2, 3}), any({3, 2}, 2)),
      CASE("matmul_batches", matmul(x[0], x[1]), any({2, 1, 2, 3}), any({2, 3, 2}, 2)),
      CASE("matmul_vector", matmul(x[0], x[1]), any({2, 2, 3}), any({3}, 2)),
      CASE("matmul_row", matmul(x[0], x[1]), any({3}), any({2, 3, 2}, 2)),
      CASE("matmul_complex", matmul(x[0], x[1]), complex_any({2, 2}), complex_any({2, 2}, 2)),
      CASE("mm", mm(x[0], x[1]), any({2, 3}), any({3, 2}, 2)),
      CASE("bmm", bmm(x[0], x[1]), any({2, 2, 3}), any({2, 3, 2}, 2)),
      CASE("mv", mv(x[0], x[1]), any({2, 3}), any({3}, 2)),
      CASE("dot", dot(x[0], x[1]), any({3}), any({3}, 2)),
      CASE("vdot", vdot(x[0], x[1]), complex_any({3}), complex_any({3}, 2)),
      CASE("inner", inner(x[0], x[1]), any({2, 3}), any({2, 3}, 2)),
      CASE("outer", outer(x[0], x[1]), any({2}), any({3}, 2)),
      CASE("matrix_power", matrix_power(x[0], 3), any({2, 2})),
      CASE("matrix_exp", matrix_exp(x[0]), any({2, 2})),
      CASE("matrix_norm", matrix_norm(x[0]), any({2, 3})),
      CASE("matrix_norm_rows", matrix_norm(x[0], {.ord = std::numeric_limits<double>::infinity()}), off_zero({2, 3})),
      CASE("sparse_product", sparse_product(whole({0, 2, 2, 3}, {4}), whole({3, 1, 0}, {3}), x[0], x[1]), any({3}),
           any({4, 2}, 2)),
      CASE("sparse_sample", sparse_sample(whole({0, 2, 2, 3}, {4}), whole({3, 1, 0}, {3}), x[0], x[1]), any({3, 2}),
           any({4, 2}, 2)),
      CASE("fake_quantize", fake_quantize_per_tensor_affine(x[0], 0x1p-40, 0, -(1LL << 43), 1LL << 43), any({2, 3})),
      CASE("addmm", addmm(x[0], x[1], x[2], {2, 0.5}), any({2}), any({2, 3}, 2), any({3, 2}, 3)),
      CASE("addmv", addmv(x[0], x[1], x[2], {2, 0.5}), any({2}), any({2, 3}, 2), any({3}, 3)),
      CASE("addr", addr(x[0], x[1], x[2], {2, 0.5}), any({2, 3}), any({2}, 2), any({3}, 3)),
      CASE("addbmm", addbmm(x[0], x[1], x[2]), any({2, 2}), any({2, 2, 3}, 2), any({2, 3, 2}, 3)),
      CASE("baddbmm", baddbmm(x[0], x[1], x[2]), any({2, 2}), any({2, 2, 3}, 2), any({2, 3, 2}, 3)),
      CASE("linear", linear(x[0], x[1], x[2]), any({2, 3}), any({2, 3}, 2), any({2}, 3)),
      CASE("linear_no_bias", linear(x[0], x[1]), any({2, 2, 3}), any({2, 3}, 2)),
      CASE("tensordot", tensordot(x[0], x[1], 2), any({2, 2, 3}), any({2, 3, 2}, 2)),
      CASE("tensordot_dims", tensordot(x[0], x[1], {0, 1}, {1, 0}), any({2, 3}), any({3, 2}, 2)),
      CASE("multi_dot", multi_dot(x), any({2, 3}), any({3, 2}, 2), any({2, 2}, 3)),
      CASE("chain_matmul", chain_matmul(x), any({2, 3}), any({3, 2}, 2), any({2, 2}, 3)),
      CASE("einsum", einsum("ij,jk->ik", {x[0], x[1]}), any({2, 3}), any({3, 2}, 2)),
      CASE("einsum_diagonal", einsum("ii->i", {x[0]}), any({3, 3})),
      CASE("einsum_three", einsum("bi,bij,bj->b", {x[0], x[1], x[2]}), any({2, 2}), any({2, 2, 3}, 2), any({2, 3}, 3)),
      CASE("einsum_ellipsis", einsum("...i,i->...", {x[0], x[1]}), any({2, 2, 3}), any({3}, 2)),
      CASE("einsum_complex", einsum("ij,kj->ik", {x[0], x[1]}), complex_any({2, 2}), complex_any({2, 2}, 2)),
      CASE("prelu", prelu(x[0], x[1]), off_zero({2, 3}), positive({3}, 2)),
  };
}

}  // namespace neura::test
