// A Tensor that was given no value, and numbers that are none: refused, wherever they turn up.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <sstream>

#include "neura/neura.h"

namespace neura {
namespace {

struct Use {
  const char* what;
  std::function<void(Tensor u)> call;
};
#define USE(...)                                        \
  {                                                     \
#__VA_ARGS__, [](Tensor u) { (void)(__VA_ARGS__); } \
  }

void expect_refused(const std::vector<Use>& uses) {
  for (const Use& use : uses) {
    SCOPED_TRACE(use.what);
    try {
      use.call(Tensor());
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(": expected"), std::string::npos) << e.what();
    }
  }
}
Tensor x() { return ones({2, 2}); }

TEST(Undefined, AccessorsAndMembersRefuse) {
  expect_refused({
      USE(u.spec()),
      USE(u.shape()),
      USE(u.strides()),
      USE(u.dim()),
      USE(u.size(0)),
      USE(u.numel()),
      USE(u.dtype()),
      USE(u.device()),
      USE(u.storage_offset()),
      USE(u.is_contiguous()),
      USE(u.nbytes()),
      USE(u.version()),
      USE(u.data<float>()),
      USE(u.const_data<float>()),
      USE(u.raw_data()),
      USE(u.const_raw_data()),
      USE(u.item()),
      USE(u.item<float>()),
      USE(u.to_vector<float>()),
      USE(u.view({1})),
      USE(u.reshape({1})),
      USE(u.flatten()),
      USE(u.transpose(0, 1)),
      USE(u.t()),
      USE(u.permute({0})),
      USE(u.expand({2})),
      USE(u.unsqueeze(0)),
      USE(u.squeeze()),
      USE(u.select(0, 0)),
      USE(u.slice(0, 0)),
      USE(u.narrow(0, 0, 1)),
      USE(u[0]),
      USE(u.detach()),
      USE(u.clone()),
      USE(u.contiguous()),
      USE(u.to(DType::float64)),
      USE(u.to(Device())),
      USE(u.copy_(x())),
      USE(u.fill_(1)),
      USE(u.zero_()),
      USE(u.sum()),
      USE(u.mean()),
      USE(u.argmax()),
      USE(u.matmul(x())),
      USE(u.requires_grad()),
      USE(u.requires_grad_()),
      USE(u.is_leaf()),
      USE(u.grad()),
      USE(u.set_grad(x())),
      USE(u.set_grad({})),
      USE(u.grad_fn()),
      USE(u.retain_grad()),
      USE(u.backward()),
  });
}

TEST(Undefined, OperationsRefuseItAsAnyOperand) {
  expect_refused({
      USE(relu(u)),
      USE(relu_(u)),
      USE(exp(u)),
      USE(u + 1),
      USE(1 + u),
      USE(u + u),
      USE(x() + u),
      USE(u + x()),
      USE(add_(u, x())),
      USE(u += x()),
      USE(where(u, x(), x())),
      USE(where(x() > 0, u, x())),
      USE(clamp(u, {.min = 0})),
      USE(matmul(u, x())),
      USE(matmul(x(), u)),
      USE(addmm(x(), x(), u)),
      USE(linear(u, x())),
      USE(linear(x(), u)),
      USE(cat({x(), u})),
      USE(stack({u, x()})),
      USE(softmax(u, 0)),
      USE(layer_norm(u, {2})),
      USE(sum(u)),
      USE(prod(u)),
      USE(max(u, 0)),
      USE(sort(u, 0)),
      USE(gather(x(), 0, u)),
      USE(index_select(u, 0, x())),
      USE(embedding(u, x())),
      USE(cross_entropy(u, x())),
      USE(cross_entropy(x(), u)),
      USE(mse_loss(x(), u)),
      USE(cumsum(u, 0)),
      USE(dropout(u)),
      USE(copy_(u, x())),
      USE(fill_(u, 1)),
      USE(einsum("ij,jk->ik", {x(), u})),
      USE(pad(u, {1, 1})),
      USE(flip(u, {0})),
      USE(real(u)),
      USE(uniform_(u)),
      USE(bernoulli(u)),
      USE(scaled_dot_product_attention(x(), u, x())),
  });
}

TEST(Undefined, DestinationsAndGradientsRefuse) {
  expect_refused({
      USE(exp_out(u, x())),
      USE(add_out(u, x(), x())),
      USE(sum_out(u, x())),
      USE(zero_(u)),
      USE(grad(u, x())),
      USE(grad(x().requires_grad_().sum(), u)),
      USE(register_hook(u, [](const Tensor& g) { return g; })),
  });
  const Tensor leaf = x().requires_grad_(), y = leaf.sum();
  const Tensor inputs[] = {leaf, Tensor()};
  EXPECT_THROW(grad({&y, 1}, inputs), ValueError);
}

TEST(Undefined, ItPrintsAndComparesWithoutAnError) {
  std::ostringstream text;
  text << Tensor() << Tensor().debug_str();
  EXPECT_NE(text.str().find("undefined"), std::string::npos);
  EXPECT_FALSE(Tensor().defined());
  EXPECT_TRUE(Tensor().is_same(Tensor()));
}

template <class A, class B>
concept Added = requires(A a, B b) {
  a + b;
};
template <class T>
concept Filled = requires(T v) {
  full({2}, v);
};
static_assert(Added<Tensor, int> && Added<Tensor, bool> && Added<float, Tensor> && Added<Tensor, std::complex<double>>);
static_assert(!Added<Tensor, const char*> && !Added<const char*, Tensor> && !Added<Tensor, int*>);
static_assert(Filled<double> && !Filled<const char*> && !Filled<Tensor*>);

}  // namespace
}  // namespace neura
