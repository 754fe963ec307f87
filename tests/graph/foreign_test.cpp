// Untrusted programs: what the library's own functions call is taken, what was changed is refused or runs.
#include "neura/graph/foreign.h"

#include "neura/backend/layout.h"

#include <gtest/gtest.h>

#include <set>

#include "neura/graph/trace.h"
#include "neura/neura.h"
#include "neura/op/registry.h"
#include "neura/op/struct_operations.h"
#include "tests/contract/structs.h"
#include "tests/io/mutate.h"

namespace neura::test {
namespace {

using graph::check_foreign;
using graph::Program;

// The case's program, without gradients; none where it reads values.
std::optional<Program> forward(const StructCase& c) {
  Inputs in;
  for (const Tensor& t : c.inputs) in.push_back(t.detach());
  const NoGrad off;
  const auto f = [&](std::span<const Tensor> x) {
    Inputs results;
    for (const Tensor& y : c.f(Inputs(x.begin(), x.end())))
      if (y) results.push_back(y);
    return results;
  };
  try {
    return graph::trace(f, in);
  } catch (const Error&) {
    return {};
  }
}
bool is_taken(const Program& p) {
  try {
    return check_foreign(p), true;
  } catch (const NotImplementedError&) {
    return false;
  }
}

class Foreign : public testing::TestWithParam<StructCase> {};
INSTANTIATE_TEST_SUITE_P(EveryOperation, Foreign, testing::ValuesIn(struct_cases()));

// ValueError would say that a rule is stricter than the functions are.
TEST_P(Foreign, TakesWhatFunctionsCallOrDoesNotKnowIt) {
  SCOPED_TRACE(GetParam().text);
  const auto p = forward(GetParam());
  if (!p) return;
  EXPECT_NO_THROW(is_taken(*p)) << str(*p);
}

TEST_P(Foreign, ChangedIsRefusedOrRuns) {
  const StructCase& c = GetParam();
  const auto p = forward(c);
  if (!p || !is_taken(*p)) return;
  const std::string text = str(*p, true);
  Dice dice(7);
  for (int i = 0; i < 150; ++i) {
    const std::string changed = mutate(text, dice);
    try {
      const Program q = graph::parse(changed, check_foreign);
      std::int64_t bytes = 0;
      for (const Spec& s : q.values) bytes = std::max(bytes, std::int64_t(s.bytes()));
      if (bytes < 1 << 24) run(q, c.inputs);
    } catch (const Error&) {
    }
  }
}

// One call with operands of a size, and whether it is taken.
std::string refusal(const std::string& operands, const std::string& call) {
  std::string text = "program\n";
  int n = 0;
  for (std::size_t at = 0; at < operands.size();) {
    const std::size_t end = std::min(operands.find(';', at), operands.size());
    text += "%" + std::to_string(n++) + " = input : " + operands.substr(at, end - at) + "\n";
    at = end + 1;
  }
  text += "%" + std::to_string(n) + " = " + call + "\nreturn %" + std::to_string(n) + "\n";
  try {
    graph::parse(text, check_foreign);
  } catch (const NotImplementedError&) {
    return "unknown";
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}
TEST(ForeignCall, WithAttributesThatDoNotFitIsRefused) {
  EXPECT_EQ(refusal("float32 [2, 3]", "softmax(%0) {dim=1} : float32 [2, 3]"), "");
  EXPECT_NE(refusal("float32 [2, 3]", "softmax(%0) {dim=2} : float32 [2, 3]"), "");
  EXPECT_NE(refusal("float32 [2, 3]", "softmax(%0) {dim=-1} : float32 [2, 3]"), "");
  EXPECT_EQ(refusal("float32 [2, 3]", "permute(%0) {dims=[1, 0]} : float32 [3, 2] strides [1, 3]"), "");
  EXPECT_NE(refusal("float32 [2, 3]", "permute(%0) {dims=[1, 1]} : float32 [3, 3] strides [1, 1]"), "");
  EXPECT_NE(refusal("float32 [2, 3]", "permute(%0) {dims=[1000000, 0]} : float32 [3, 2] strides [1, 3]"), "");
  EXPECT_NE(refusal("float32 [2, 3]", "select(%0) {dim=7, index=0} : float32 [2]"), "");
  EXPECT_NE(refusal("float32 [4]", "slice(%0) {dim=0, start=0, end=4, step=0} : float32 [4]"), "");
  EXPECT_NE(refusal("float32 [4]", "slice(%0) {dim=0, start=-9, end=4, step=1} : float32 [13]"), "");
  EXPECT_NE(refusal("float32 [4];float32 [9]", "layer_norm(%0, %1, none) {first=0, eps=1.0} : float32 [4]"), "");
  EXPECT_EQ(refusal("float32 [4]", "as_strided(%0) {base=[], view=[]} : float32 [4]").substr(0, 8), "as_strid");
}
void expect_refused(const std::string& text, const char* part) {
  try {
    graph::parse(text, check_foreign);
    ADD_FAILURE() << text;
  } catch (const ValueError& e) {
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}
TEST(ForeignCall, OfValuesThatDoNotFitIntoMemoryIsRefused) {
  const auto refuse = [](const std::string& spec, const char* part) {
    expect_refused("program\n%0 = constant <00000000> : float32 " + spec + "\nreturn %0\n", part);
  };
  refuse("[1] strides [1] offset 4", "dense");
  refuse("[1, 1] strides [-1, 1]", "fit into memory");
  refuse("[2] strides [4611686018427387904]", "fit into memory");
  refuse("[9223372036854775807, 9223372036854775807]", "fits into memory");
}
TEST(ForeignCall, MayNotWriteInputs) {
  expect_refused("program\n%0 = input : float32 [1]\n%1 = mul(%0, 2.0) in %0 : float32 [1]\nupdate %0 = %1\nreturn\n",
                 "captured memory");
}

// A program's own operation may be called as well, where it has an is_safe().
struct Head {
  static constexpr Operation op = operation("first_rows_of_a_test");
  std::int64_t rows = 0;
  NEURA_FIELDS(rows)
  bool is_safe(const Spec& x) const { return x.rank && 0 <= rows && rows <= x.shape[0]; }
  void infer(const Spec& x, Spec& y) const { y = x, y.shape[0] = rows; }
};

TEST(Foreign, ALibraryThatOnlyRunsProgramsHasAllThatTheyMayCall) {
  const std::set<const Row*> listed{
#define PROGRAM_OPERATION(identifier, ...) &operations::identifier(),
#include "neura/tables/program_ops.def"
  };
  for (const Row* row : all_operations()) {
    const bool is_listed = row->kind == Row::pointwise || listed.contains(row) || row == &row_of<Head>;
    EXPECT_EQ(graph::is_checked(*row), is_listed) << row->name;
  }
}

struct fold_kernels {
#define REDUCE(name, ...) char name;
#include "neura/tables/reduction.def"
};
// Each entry of a table; a name that no table has does not compile.
[[maybe_unused]] constexpr std::size_t kCalled[] = {
#define CALLS(table, entry) sizeof(&table##_kernels::entry),
#define PROGRAM_OPERATION(operation, ...) __VA_ARGS__
#define TRUSTED_OPERATION PROGRAM_OPERATION
#include "neura/tables/program_ops.def"
};

TEST(Foreign, AProgramsOwnOperationIsCalledIfItIsSafe) {
  register_operation(row_of<Head>);
  EXPECT_TRUE(graph::is_checked(row_of<Head>));
  EXPECT_EQ(refusal("float32 [4]", "first_rows_of_a_test(%0) {rows=2} : float32 [2]"), "");
  EXPECT_NE(refusal("float32 [4]", "first_rows_of_a_test(%0) {rows=5} : float32 [5]"), "");
  EXPECT_NE(refusal("float32 [4]", "first_rows_of_a_test(%0, %0) {rows=2} : float32 [2]"), "");
  EXPECT_NE(refusal("float32 [4]", "first_rows_of_a_test(none) {rows=2} : float32 [2]"), "");
}

}  // namespace
}  // namespace neura::test
