// Nothing waits for the device but what asks for a value: forward and backward of every operation, layer, loss and
// optimizer.
#include <map>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/segment.h"
#include "neura/ops/nn/embedding_bag.h"
#include "neura/ops/quant/quantize.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/statistics.h"
#include "neura/ops/sort/sort.h"
#include "neura/sparse/sparse.h"
#include "tests/contract/row_case.h"
#include "tests/contract/structs.h"
#include "tests/device/device.h"
#include "tests/nn/every_layer.h"
#include "tests/optim/kinds.h"

namespace neura::test {
namespace {

// Copies that the host waits for, by the operation after which they came.
struct Waits : Interceptor {
  std::int64_t before = host_device().from_device;
  std::string last = "the beginning", where;
  std::int64_t found() {
    const std::int64_t all = host_device().from_device - before;
    if (all) where += "after " + last + "; ";
    return all;
  }
  void call(Call& c) override {
    const std::int64_t seen = host_device().from_device;
    apply(c);
    if (host_device().from_device != seen) where += std::string("within ") + c.row->name + "; ";
    last = c.row->name;
  }
};

void differentiate(const std::vector<Tensor>& results, const std::vector<Tensor>& in, int orders) {
  std::vector<Tensor> roots = differentiable_of(results);
  for (int order = 0; order < orders && !roots.empty(); ++order) {
    std::vector<Tensor> seeds;
    for (const Tensor& t : roots) seeds.push_back(ones_like(t));
    roots = differentiable_of(grad(roots, in, seeds, {.create_graph = order + 1 < orders, .allow_unused = true}));
  }
}
// What asks for a value by its definition, and how: all else waits for nothing.
const std::map<std::string, const char*> kAsk = {
    {"AdaptiveLogSoftmaxWithLoss", "how many samples each cluster gets: the sizes of its products"},
    {"linalg_cholesky", "LinAlgError for what is not positive definite"},
    {"linalg_cholesky_upper", "LinAlgError"},
    {"linalg_inv", "LinAlgError for a singular matrix"},
    {"linalg_inv_complex", "LinAlgError"},
    {"linalg_lu_solve", "LinAlgError, of lu_factor"},
    {"linalg_lu_solve_adjoint", "LinAlgError, of lu_factor"},
    {"linalg_solve", "LinAlgError"},
    {"linalg_solve_right", "LinAlgError"},
    {"linalg_solve_vector", "LinAlgError"},
    {"linalg_tensorinv", "LinAlgError"},
    {"linalg_tensorsolve", "LinAlgError"},
    {"linalg_lstsq_by_values", "the ranks: whether there are residuals"},
    {"matrix_exp", "the norm: how many products are made"},
    {"repeat_interleave_tensor", "the size of the result"},
};
template <class F> void expect_no_wait(const std::string& name, F&& f) {
  Waits waits;
  f();
  const std::int64_t found = waits.found();
  if (!kAsk.count(name)) EXPECT_EQ(found, 0) << waits.where;
  else EXPECT_GT(found, 0) << waits.where << "for " << kAsk.at(name);
  count_case();
}

struct WaitsOfStructs : ::testing::TestWithParam<StructCase> {
  void TearDown() override { constants_on = Device(); }
};
TEST_P(WaitsOfStructs, None) {
  const StructCase& c = GetParam();
  constants_on = kDevice;
  Inputs in;
  for (const Tensor& t : c.inputs) in.push_back(t.to(kDevice).clone().requires_grad_());
  expect_no_wait(c.name, [&] { differentiate(c.f(in), in, 2); });
}

struct WaitsOfRows : RowTest {};
TEST_P(WaitsOfRows, None) {
  for_accepted([&](DType d) {
    if (row.own) return;
    const std::vector<Tensor> in = moved(operands(c, d, equal_shapes(c, {3}), 3));
    expect_no_wait(c.name, [&] { call(c, in); });
  });
}

struct WaitsOfLayers : ::testing::TestWithParam<LayerCase> {};
TEST_P(WaitsOfLayers, None) {
  const LayerCase& c = GetParam();
  const Ref<nn::Module> layer = c.make();
  layer->to(kDevice);
  std::vector<Tensor> in, wanted = layer->parameters();
  for (const Tensor& t : c.batch(3)) {
    in.push_back(t.to(kDevice));
    if (is_floating(t.dtype())) wanted.push_back(in.back().requires_grad_());
  }
  expect_no_wait(c.name, [&] { differentiate(results_of(*layer, in), wanted, 1); });
  layer->eval();
  expect_no_wait(c.name, [&] { results_of(*layer, in); });
}

struct WaitsOfOptimizers : ::testing::TestWithParam<optim::Kind> {};
TEST_P(WaitsOfOptimizers, None) {
  Tensor p = sample({5}).to(kDevice).requires_grad_();
  p.set_grad(sample({5}, float32, {.seed = 2}).to(kDevice));
  const auto optimizer = GetParam().make({optim::ParamGroup({p})});
  for (int step = 0; step < 3; ++step) expect_no_wait(GetParam().name, [&] { optimizer->step(); });
}

TEST(WaitsOfMatrixOptimizers, None) {
  Tensor p = sample({5, 3}).to(kDevice).requires_grad_();
  p.set_grad(sample({5, 3}, float32, {.seed = 2}).to(kDevice));
  optim::Adafactor adafactor({p}, {.weight_decay = 0.1});
  optim::Muon muon({p});
  for (int step = 0; step < 3; ++step) {
    expect_no_wait("Adafactor", [&] { adafactor.step(); });
    expect_no_wait("Muon", [&] { muon.step(); });
  }
}

TEST(WaitsOfSparse, CompressedTensorsKnowHowManyTheyStore) {
  for (const Layout l : {Layout::csr, Layout::csc}) {
    const Tensor t = sparse::to_layout(sample({3, 4}), l).to(kDevice);
    expect_no_wait("to_dense", [&] { sparse::to_dense(t); });
  }
}

// Rules of values are looked at by the device; this one answers at once, a real one at the next call that waits.
TEST(DeviceRules, AreToldInTheirWords) {
  const auto there = [](const Tensor& t) { return t.to(kDevice); };
  const Tensor half = there(full({3}, 0.5)), far = there(full({3}, -0.5));
  const std::pair<const char*, std::function<void()>> cases[] = {
      {"division: expected integers other than 0 to divide by, got 0",
       [&] {
         floor_divide(there(tensor({1, 2})), there(tensor({1, 0})));
       }},
      {"binary_cross_entropy: expected an input between 0 and 1, got other elements; for any numbers use "
       "binary_cross_entropy_with_logits",
       [&] { binary_cross_entropy(far, half); }},
      {"gaussian_nll_loss: expected a var of at least 0, got a negative element",
       [&] { gaussian_nll_loss(half, half, far); }},
      {"bernoulli: expected values of at least 0 and at most 1, got others", [&] { bernoulli(far); }},
      {"poisson: expected values of at least 0, got others", [&] { poisson(far); }},
      {"quantize: expected zero_point within quant_min and quant_max, got another",
       [&] { quantize_affine(half, there(ones({1})), there(tensor<std::int32_t>({128}))); }},
      {"normal: expected std of at least 0, got a negative element", [&] { normal(half, far); }},
      {"multinomial: expected finite weights of at least 0, got others", [&] { multinomial(far, 1); }},
      {"multinomial: expected a weight above 0 in every row, got none in one", [&] { multinomial(half * 0, 1); }},
      {"quantile: expected q between 0 and 1", [&] { quantile(half, far); }},
      {"cov: expected fweights and aweights that are not negative", [&] { cov(half, 1, {}, far); }},
      {"cov: expected weights that do not sum to 0", [&] { cov(half, 1, {}, half * 0); }},
      {"embedding_bag: expected offsets that begin with 0, never fall and stay within the numbers, got others",
       [&] {
         embedding_bag(there(tensor({0, 1})), there(ones({2, 2})), there(tensor({1})));
       }},
      {"segment_reduce: expected pieces within the elements of the axis, one after the other, which lengths fill up if "
       "unsafe is not set",
       [&] {
         segment_reduce(half, "sum", {.lengths = there(tensor({1, 1}))});
       }},
  };
  for (const auto& [said, f] : cases) EXPECT_EQ(error_of<ValueError>(f).substr(0, std::string(said).size()), said);
  EXPECT_THROW(multilabel_margin_loss(half, there(tensor({0, 3, -1}))), IndexError);
  nn::AdaptiveLogSoftmaxWithLoss layer(2, 4, {2});
  layer.to(kDevice);
  EXPECT_THROW(layer(there(ones({1, 2})), there(tensor({4}))), IndexError);
}

const auto name_of = [](const auto& i) { return i.param.name; };
INSTANTIATE_TEST_SUITE_P(Operations, WaitsOfStructs, ::testing::ValuesIn(struct_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Rows, WaitsOfRows, ::testing::ValuesIn(row_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Layers, WaitsOfLayers, ::testing::ValuesIn(layer_cases()),
                         [](const auto& i) { return i.param.name + "_" + std::to_string(i.index); });
INSTANTIATE_TEST_SUITE_P(Optimizers, WaitsOfOptimizers, ::testing::ValuesIn(optim::kKinds), name_of);

}  // namespace
}  // namespace neura::test
