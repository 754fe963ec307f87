// No operation escapes: every one of the registry is reached by a case, forward or in a derivative, or stands here.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "neura/autograd/autograd.h"
#include "neura/op/apply.h"
#include "neura/op/registry.h"
#include "tests/contract/row_case.h"
#include "tests/contract/structs.h"
#include "tests/support/lapack.h"

namespace neura::test {
namespace {

struct Seen : Interceptor {
  std::set<std::string> names;
  void call(Call& c) override { names.insert(c.row->name), apply(c); }
};

// What has no derivative, draws or writes; and where it is tested.
const std::map<std::string, std::vector<const char*>> kElsewhere = {
    {"tests/contract/in_place*_test.cpp", {"fill_", "zero", "masked_fill_", "put_", "masked_scatter_", "index_put_"}},
    {"tests/contract/random_test.cpp, tests/ops/random_test.cpp",
     {"dropout", "uniform", "normal", "log_normal", "cauchy", "exponential", "geometric", "bernoulli", "poisson",
      "random", "randperm", "multinomial"}},
    {"tests/optim/conformance_test.cpp",
     {
#define OPTIMIZER_STEP(kernel, ...) #kernel "_step",
#include "neura/tables/optimizers.def"
     }},
    {"tests/optim/grad_scaler_test.cpp", {"unscale_"}},
    {"tests/graph/random_test.cpp", {"fused"}},
    {"tests/cuda/fused_test.cpp", {"fused_2", "fused_3", "fused_4"}},
    {"tests/nn/clip_test.cpp", {"get_total_norm", "clip_grad_norm_"}},
    {"tests/ops/linalg_test.cpp", {"geqrf", "householder_product", "ldl_factor", "ldl_solve"}},
    {"tests/ops/create_test.cpp", {"logspace", "tril_indices"}},
    {"tests/ops/embedding_test.cpp", {"embedding_renorm"}},
    {"tests/ops/pool_test.cpp", {"max_pool_gather"}},
    {"tests/ops/quantize_test.cpp",
     {"fake_quantize_backward", "quantize_affine", "requantize_affine", "dequantize_affine", "integer_matmul",
      "integer_pack"}},
    {"tests/ops/reduce_test.cpp", {"argmax", "argmin"}},
    {"tests/ops/sort_test.cpp", {"unique"}},
    {"tests/ops/view_test.cpp", {"view_dtype"}},
    {"tests/device/memory_test.cpp", {"to_device"}},
};

std::set<std::string> reached() {
  Seen seen;
  for (const StructCase& c : struct_cases())
    for (const int order : {0, 1, 2}) {  // derivatives of the first order alone are kernels of their own
      const NoGrad plain(order == 0);
      Inputs in;
      for (const Tensor& t : c.inputs) in.push_back(t.clone().requires_grad_());
      derived(c.f(in), in, order);
    }
  return seen.names;
}

TEST(Contract, ReachesEveryOperation) {
  if (!lapack::library()) GTEST_SKIP() << "no LAPACK: no cases of linear algebra";
  const std::set<std::string> seen = reached();
  std::set<std::string> elsewhere;
  for (const auto& [where, names] : kElsewhere) elsewhere.insert(names.begin(), names.end());
  int found = 0;
  for (const Row* row : all_operations()) {
    if (row->kind == Row::pointwise || row->kind == Row::slope) continue;  // row_cases() has every one of them
    const bool named = elsewhere.erase(row->name);
    EXPECT_TRUE(seen.count(row->name) || named) << row->name << " is in no case of structs_*.cpp";
    EXPECT_FALSE(seen.count(row->name) && named) << row->name << " is in a case; take it out of the list";
    ++found;
  }
  EXPECT_GT(found, 150);
  EXPECT_TRUE(elsewhere.empty()) << *elsewhere.begin() << " is no operation";
}

}  // namespace
}  // namespace neura::test
