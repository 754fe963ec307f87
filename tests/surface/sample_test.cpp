// One entry, put on a list at run time, has every form and its line of the page; nothing else is to be edited.
#include <gtest/gtest.h>

#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/random/random.h"
#include "neura/surface/list.h"
#include "neura/surface/options.h"
#include "neura/surface/page.h"
#include "tests/surface/given.h"

namespace neura {
namespace {

using surface::Function;
using surface::List;
namespace forms = surface;

std::deque<Function> sample() {
  std::deque<Function> all;
  const List s(all, "linalg");
  s.add(
       "scaled(input, factor=2, *, offset=None)",
       [](const Tensor& x, double factor, std::optional<double> offset) {
         return add(x * factor, Operand(offset.value_or(0)));
       },
       forms::both | forms::in_place | forms::out | forms::direct, "input * factor + offset | more.\n\nDetails.")
      .also("special")
      .writes([](Tensor& x, double factor, std::optional<double>) { mul_(x, factor); })
      .alias("stretched", "scaled");
  s.add(
      "scaled_new(*size, **options)", [](const Shape& size, const surface::Options& o) { return ones(size, o); },
      forms::function, "Ones.");
  return all;
}
Tensor call(const Function& f, std::vector<std::any> values) {
  surface::Value result;
  Given given(std::move(values));
  EXPECT_TRUE(f.call(f, given, result)) << f.name;
  return std::get<Tensor>(result);
}

TEST(Sample, ReadsItsArgumentsAndKnowsItsDefaults) {
  const std::deque<Function> all = sample();
  const Function& f = all.front();
  EXPECT_STREQ(f.result, "neura.Tensor");
  EXPECT_EQ(f.place_of("offset"), 2);
  EXPECT_TRUE(f.parameters[2].by_name_alone && f.parameters[2].may_be_none);
  const Tensor x = tensor({1., 2.});
  EXPECT_EQ(call(f, {x}).to_vector<float>(), (std::vector<float>{2, 4}));
  EXPECT_EQ(call(f, {x, 3., 1.}).to_vector<float>(), (std::vector<float>{4, 7}));
  surface::Value result;
  Given wrong({std::string("x")});
  EXPECT_FALSE(f.call(f, wrong, result));
  EXPECT_EQ(wrong.place, 0);
}

TEST(Sample, HasAliasesAndAMethodThatWrites) {
  const std::deque<Function> all = sample();
  std::vector<std::string> names;
  for (const Function& f : all) names.push_back(f.name);
  EXPECT_EQ(names, (std::vector<std::string>{"scaled", "scaled_", "stretched", "stretched_", "scaled_new"}));
  EXPECT_EQ(all[0].also, "special");
  EXPECT_EQ(all[2].also, "");
  EXPECT_EQ(all[2].own_name, "scaled");
  const Tensor x = tensor({1., 2.});
  surface::Value result;
  Given given({x, 3.});
  ASSERT_TRUE(all[1].call(all[1], given, result));
  EXPECT_TRUE(std::holds_alternative<surface::Self>(result));
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{3, 6}));
}

TEST(Sample, AGroupOfArgumentsExpandsInTheSignature) {
  const std::deque<Function> all = sample();
  const Function& f = all.back();
  EXPECT_EQ(surface::signature_of(f),
            "scaled_new(*size, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False)");
  const Tensor x = call(f, {Shape{2}, DType::float64, {}, {}, {}, true});
  EXPECT_EQ(x.dtype(), DType::float64);
  EXPECT_TRUE(x.requires_grad());
  EXPECT_FALSE(call(f, {Shape{2}}).requires_grad());
}

TEST(Sample, HasItsLineOfThePage) {
  EXPECT_EQ(surface::page(sample()),
            "\n## neura.linalg\n\n| function | forms | |\n|---|---|---|\n"
            "| `scaled(input, factor=2, *, offset=None, out=None)`<br>also in neura.special | function, method, in "
            "place, out= | input * factor + offset \\| more. |\n"
            "| `stretched(input, factor=2, *, offset=None, out=None)` | function, method, in place, out= | input * "
            "factor + offset \\| more. |\n"
            "| `scaled_new(*size, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False)` | "
            "function | Ones. |\n");
}

// A signature that does not fit its function, or a default of another type, is refused when the list is made.
TEST(Sample, RefusesWhatDoesNotFit) {
  std::deque<Function> all;
  const List s(all, "");
  const auto f = [](const Tensor& x, std::int64_t) { return x; };
  EXPECT_THROW(s.add("f(input)", f, forms::both, "."), ValueError);
  EXPECT_THROW(s.add("f(input, n=half)", f, forms::both, "."), ValueError);
  EXPECT_THROW(s.add("f", f, forms::both, "."), ValueError);
  EXPECT_THROW(s.alias("g", "h"), ValueError);
}

}  // namespace
}  // namespace neura
