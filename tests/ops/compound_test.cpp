// += -= *= /= are add_, sub_, mul_ and div_: what they write, what they record, and what they refuse.
#include <gtest/gtest.h>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

struct Compound {
  const char* name;
  Tensor& (*sign)(Tensor&, const Operand&);
  Tensor& (*named)(Tensor&, const Operand&);
  Tensor (*fresh)(const Tensor&, const Tensor&);
};
const Compound kCompounds[] = {
    {"add_", [](Tensor& a, const Operand& b) -> Tensor& { return a += b; },
     [](Tensor& a, const Operand& b) -> Tensor& { return add_(a, b); },
     [](const Tensor& a, const Tensor& b) { return a + b; }},
    {"sub_", [](Tensor& a, const Operand& b) -> Tensor& { return a -= b; },
     [](Tensor& a, const Operand& b) -> Tensor& { return sub_(a, b); },
     [](const Tensor& a, const Tensor& b) { return a - b; }},
    {"mul_", [](Tensor& a, const Operand& b) -> Tensor& { return a *= b; },
     [](Tensor& a, const Operand& b) -> Tensor& { return mul_(a, b); },
     [](const Tensor& a, const Tensor& b) { return a * b; }},
    {"div_", [](Tensor& a, const Operand& b) -> Tensor& { return a /= b; },
     [](Tensor& a, const Operand& b) -> Tensor& { return div_(a, b); },
     [](const Tensor& a, const Tensor& b) { return a / b; }},
};
class Compounds : public testing::TestWithParam<Compound> {};
INSTANTIATE_TEST_SUITE_P(Operators, Compounds, testing::ValuesIn(kCompounds),
                         [](const auto& i) { return std::string(i.param.name, 3); });

TEST_P(Compounds, WriteWhatTheFreshFormGives) {
  const Compound& c = GetParam();
  for (const DType d : {float32, float64, bfloat16, complex64}) {
    const Tensor x = sample({3, 4}, d), other = sample({4}, d, {.low = 0.5, .high = 2, .seed = 2}),
                 want = c.fresh(x, other);
    for (const bool strided : {false, true}) {
      Tensor a = strided ? zeros({4, 6}, {.dtype = d}).t().slice(0, 0, 3) : zeros({3, 4}, {.dtype = d});
      a.copy_(x);
      const std::uint32_t version = a.version();
      EXPECT_TRUE(c.sign(a, other).is_same(a));
      EXPECT_NE(a.version(), version);
      expect_same(a, want);
    }
    Tensor a = x.clone(), b = x.clone();
    c.sign(a, Operand(2)), c.named(b, Operand(2));
    expect_same(a, b);
    expect_same(a, c.fresh(x, full({}, 2, {.dtype = d})));
  }
}

TEST_P(Compounds, RecordWhatTheNamedFormRecords) {
  const Compound& c = GetParam();
  Tensor x = sample({3, 4}, float64).requires_grad_(), y = sample({4}, float64, {.low = 1, .high = 2}).requires_grad_();
  Tensor gradients[3][2];
  for (int form = 0; form < 3; ++form) {
    Tensor a = sin(x);
    if (form == 0) c.sign(a, y);
    else if (form == 1) c.named(a, y);
    else a = c.fresh(a, y);
    sum(a * a).backward();
    gradients[form][0] = x.grad(), gradients[form][1] = y.grad();
    x.set_grad({}), y.set_grad({});
  }
  for (int k = 0; k < 2; ++k) {
    expect_same(gradients[0][k], gradients[1][k]);
    expect_close(gradients[0][k], gradients[2][k]);
  }
}

// The sentence of the error, and its type.
std::string refused(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return std::string(typeid(e).name()) + ": " + e.what();
  }
  return "nothing";
}
TEST_P(Compounds, RefuseWhatTheNamedFormRefuses) {
  const Compound& c = GetParam();
  struct Case {
    const char* what;
    Tensor self;
    Operand other;
  };
  const Tensor row = ones({3}), two = ones({2, 3}), four = ones({4}), none, fraction = full({3}, 1.5);
  Tensor saved = sample({3}).requires_grad_();
  const Case cases[] = {
      {"a result that would be larger", row, two},
      {"sizes that do not fit", row, four},
      {"integers that would become floats", ones({3}, {.dtype = int64}), fraction},
      {"integers and a fraction", ones({3}, {.dtype = int64}), Operand(1.5)},
      {"floats that would become complex", row, Operand(std::complex<double>(0, 1))},
      {"a leaf while recording", saved, row},
      {"an expanded destination", ones({1}).expand({3}), row},
      {"nothing to read", row, none},
      {"nothing to write", none, row},
  };
  for (const Case& k : cases) {
    SCOPED_TRACE(k.what);
    Tensor a = k.self, b = k.self;
    const Tensor before = a ? a.detach().clone() : a;
    const std::string want = refused([&] { c.named(b, k.other); }), got = refused([&] { c.sign(a, k.other); });
    EXPECT_EQ(got, want);
    EXPECT_NE(got, "nothing");
    if (before) expect_same(a.detach(), before);
  }
}

TEST_P(Compounds, SpoilASavedValueAsTheNamedFormDoes) {
  const Compound& c = GetParam();
  std::string said[2];
  for (const bool sign : {false, true}) {
    Tensor x = sample({3}).requires_grad_(), h = x * 2, y = sum(h * h);
    (sign ? c.sign : c.named)(h, Operand(3));
    said[sign] = error_of<InplaceError>([&] { y.backward(); });
  }
  EXPECT_EQ(said[0], said[1]);
  EXPECT_NE(said[0].find("saved"), std::string::npos) << said[0];
}

}  // namespace
}  // namespace neura::test
