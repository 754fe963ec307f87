// The list of public functions is whole and true: texts, signatures, defaults, forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/random/random.h"
#include "neura/surface/rows.h"
#include "tests/surface/given.h"

namespace neura {
namespace {

using surface::Function;

TEST(Surface, EveryFunctionIsDescribed) {
  std::set<std::string> described;
  for (const Function& f : surface::functions()) {
    const std::string name = std::string(f.space) + "." + (f.in_place ? f.name.substr(0, f.name.size() - 1) : f.name);
    if (*f.text) described.insert(name);
    EXPECT_TRUE(described.count(name)) << name << " has no text, and is no overload of one that has";
    EXPECT_TRUE(f.forms & (surface::both | surface::in_place)) << name;
    EXPECT_NE(f.call, nullptr) << name;
  }
  EXPECT_GT(described.size(), 350u);
}

TEST(Surface, ArgumentsHaveNamesAndTypesAndComeInOrder) {
  for (const Function& f : surface::functions()) {
    std::set<std::string> names;
    bool optional = false, by_name = false;
    for (const auto& p : f.parameters) {
      EXPECT_TRUE(names.insert(p.name).second) << f.name << ": two arguments " << p.name;
      EXPECT_STRNE(p.type, "") << f.name;
      EXPECT_TRUE(!by_name || p.by_name_alone) << f.name << ": " << p.name << " stands behind one given by name alone";
      EXPECT_TRUE(!optional || !p.fallback.empty() || p.by_name_alone || p.may_be_none)
          << f.name << ": " << p.name << " is required behind an optional argument";
      optional |= !p.fallback.empty(), by_name |= p.by_name_alone;
    }
  }
}

TEST(Surface, OverloadsStandTogether) {
  std::map<std::string, std::size_t> last;
  std::size_t at = 0;
  for (const Function& f : surface::functions()) {
    const std::string name = std::string(f.space) + "." + f.name;
    if (const auto before = last.find(name); before != last.end())
      EXPECT_LE(at - before->second, 2u) << name << " has overloads in two places";
    last[name] = at++;
  }
}

const Function& function(const char* name) {
  for (const Function& f : surface::functions())
    if (f.space.empty() && f.name == name) return f;
  throw ValueError(std::string("no function ") + name);
}

// Of special.def, too, each row says so itself: SPECIAL, or SPECIAL_ALIAS where torch.special has another name for it.
TEST(Surface, RareFunctionsAreInSpecial) {
  int rare = 0;
  for (const surface::RowFunction& f : surface::row_functions()) {
    if (f.row->family != Family::special) continue;
    ++rare;
    bool there = f.special;
    for (const surface::Alias& a : surface::row_aliases()) there |= a.special && a.of == std::string_view(f.row->name);
    EXPECT_TRUE(there) << f.row->name;
  }
  EXPECT_GT(rare, 30);
}

// activations.def says of a layer whether it can write into its input: so can its function, and no other.
TEST(Surface, FunctionsOfActivationsWriteInPlaceWhereTheirLayersDo) {
  const struct {
    const char* function;
    bool in_place;
  } activations[] = {
#define ACTIVATION(Name, function) {#function, false},
#define ACTIVATION_WITH(Name, function, fields) {#function, false},
#define ACTIVATION_INPLACE(Name, function) {#function, true},
#define ACTIVATION_INPLACE_WITH(Name, function, fields) {#function, true},
#include "neura/nn/activations.def"
#undef ACTIVATION
#undef ACTIVATION_WITH
#undef ACTIVATION_INPLACE
#undef ACTIVATION_INPLACE_WITH
  };
  int rows = 0, functions = 0;
  for (const auto& a : activations) {
    if (const surface::RowFunction* row = surface::find_row_function(a.function)) {
      EXPECT_EQ(row->takes_inplace, a.in_place) << a.function;
      EXPECT_TRUE(row->functional) << a.function;
      ++rows;
      continue;
    }
    for (const Function& f : surface::functions()) {
      if (f.space != "functional" || f.name != a.function) continue;
      EXPECT_EQ(f.place_of("inplace") >= 0, a.in_place) << a.function;
      ++functions;
    }
  }
  EXPECT_GT(rows, 10);
  EXPECT_EQ(rows + functions, int(std::size(activations)));
}

struct Counter : Interceptor {
  std::vector<std::string> seen;
  void call(Call& c) override {
    seen.push_back(c.row->name);
    apply(c);
  }
};

// Direct: with a destination, the operation writes there, and nothing is copied.
TEST(Surface, DirectFunctionsWriteIntoTheirDestination) {
  int checked = 0;
  for (const Function& f : surface::functions()) {
    if (!(f.forms & surface::direct)) continue;
    const Tensor x = rand({3, 3}), y = rand({3, 3});
    std::vector<std::any> values;
    for (const auto& p : f.parameters) {
      std::any v;
      if (p.fallback.empty() && values.size() < 2) {
        const Tensor& t = values.empty() ? x : y;
        if (p.type == std::string("neura.Tensor")) v = t;
        else if (p.type == std::string("neura.Tensor | number")) v = Operand(t);
        else if (p.type == std::string("int")) v = std::int64_t(0);
        else if (p.type == std::string("int | tuple[int, ...]")) v = Dims(0);
      }
      values.push_back(v);
    }
    surface::Value expected, got;
    {
      Given given(values);
      ASSERT_TRUE(f.call(f, given, expected)) << f.name;
    }
    const Tensor fresh = std::get<Tensor>(expected);
    const Tensor out = empty(fresh.shape(), {.dtype = fresh.dtype()});
    const void* bytes = out.raw_data();
    Counter counter;
    {
      const surface::WriteInto scope(f, out);
      Given given(values);
      ASSERT_TRUE(f.call(f, given, got)) << f.name;
    }
    EXPECT_TRUE(std::get<Tensor>(got).is_same(out)) << f.name << ": its result is not the destination";
    EXPECT_EQ(out.raw_data(), bytes) << f.name;
    EXPECT_EQ(std::count(counter.seen.begin(), counter.seen.end(), f.own_name), 1) << f.name;
    EXPECT_EQ(counter.seen.back(), f.own_name) << f.name << " calls more after it has its result";
    EXPECT_TRUE(equal(out, fresh)) << f.name;
    ++checked;
  }
  EXPECT_GE(checked, 5);
}

TEST(Surface, AWrongTypeIsNoCall) {
  surface::Value result;
  Given text({std::string("rows")});
  EXPECT_FALSE(function("sum").call(function("sum"), text, result));
  Given nothing({});
  EXPECT_FALSE(function("sum").call(function("sum"), nothing, result));
}

TEST(Surface, DefaultsAreThoseOfTheSignature) {
  surface::Value result;
  const Tensor x = arange(6).to(DType::float32).reshape({2, 3});
  Given given({x});
  ASSERT_TRUE(function("flatten").call(function("flatten"), given, result));
  EXPECT_EQ(std::get<Tensor>(result).shape(), Shape{6});
  Given turned({x});
  ASSERT_TRUE(function("rot90").call(function("rot90"), turned, result));
  EXPECT_EQ(std::get<Tensor>(result).shape(), (Shape{3, 2}));
}

TEST(Surface, EveryPublicRowIsAFunction) {
  EXPECT_EQ(surface::find_row_function("celu"), nullptr);  // celu checks its alpha first
  const surface::RowFunction* pow = surface::find_row_function("pow");
  ASSERT_NE(pow, nullptr);
  EXPECT_STREQ(pow->operands[1], "exponent");
  for (const auto& a : surface::row_aliases()) EXPECT_NE(surface::find_row_function(a.of), nullptr) << a.name;
}

}  // namespace
}  // namespace neura
