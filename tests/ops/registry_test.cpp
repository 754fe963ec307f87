// The list of all operations: each is found by its name, and a program's own join it.
#include "neura/op/registry.h"

#include <set>
#include <thread>

#include "neura/core/print.h"
#include "neura/op/call_error.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/product/matmul_ops.h"
#include "tests/support/close.h"

namespace neura::test {
namespace {

template <int n> struct Custom {
  static constexpr Operation op = operation(n == 0 ? "custom_of_a_test" : n == 1 ? "tanh" : "");
  NEURA_FIELDS()
  void infer(const Spec& x, Spec& y) const { y = x; }
  void run(Context&, View, View) const {}
};

TEST(Registry, FindsEveryOperationByItsName) {
  ASSERT_GT(all_operations().size(), 300u);
  for (const Row* row : all_operations()) {
    const Row* found = find_operation(row->name);
    ASSERT_TRUE(found) << row->name;
    EXPECT_STREQ(found->name, row->name);
  }
}
TEST(Registry, HasEachOnceAndEachItsOwnName) {
  std::set<const Row*> rows;
  std::set<std::string> names;
  for (const Row* row : all_operations()) {
    EXPECT_TRUE(rows.insert(row).second) << row->name;
    EXPECT_TRUE(names.insert(row->name).second) << row->name;
    EXPECT_EQ(find_operation(row->name), row) << row->name;
  }
}
TEST(Registry, NodesWithNamesOfTheirOwnAreOperations) {
  const std::set<std::string_view> of_the_engine{"leaf", "copy_slices"};
  for (const std::string_view name : nodes_with_own_names())
    EXPECT_TRUE(find_operation(name) || of_the_engine.count(name)) << name;
  EXPECT_EQ(backward_name("fill_", 1), "FillBackward3");  // fill_ by a tensor
}
TEST(Registry, ErrorsCallOperandsByTheirNames) {
  const Row& norm = *find_operation("layer_norm");
  EXPECT_EQ(operand_name(norm, 1), "weight");
  EXPECT_EQ(result_name(norm, 2), "rstd");
  EXPECT_EQ(operand_name(*find_operation("mul"), 1), "operand 1");  // which names none
  const Row& step = *find_operation("adam_step");
  EXPECT_EQ(operand_name(step, 0), "steps");
  EXPECT_EQ(operand_name(step, 7), "grad 1");  // of the second parameter
  EXPECT_EQ(error_of<ValueError>([] {
              apply(LinearOp{}, ones({2, 3}), Tensor(), Operand());
            }),
            "linear: expected a tensor as weight, got an undefined one (float32 [2, 3], none, none)");
}
TEST(Registry, HasRowsSlopesStructsViewsAndLists) {
  for (const Row* row : all_rows()) EXPECT_EQ(find_operation(row->name), row) << row->name;
  EXPECT_EQ(find_operation("tanh_backward")->of, &rows::tanh);
  EXPECT_EQ(find_operation("atan2_backward_1")->operand, 1);
  EXPECT_FALSE(find_operation("eq_backward_0"));  // it has no derivative
  EXPECT_EQ(find_operation("softmax")->kind, Row::structured);
  EXPECT_EQ(find_operation("permute")->kind, Row::view);
  EXPECT_EQ(find_operation("lazy_clone")->kind, Row::lazy);
  EXPECT_EQ(find_operation("cat")->group, 1);
}
TEST(Registry, MakesEveryStructOperation) {
  for (const Row* row : all_operations()) {
    const bool fields = row->kind != Row::pointwise && row->kind != Row::slope;
    EXPECT_EQ(row->make && row->copy && row->visit, fields) << row->name;
  }
}
TEST(Registry, KnowsNoOther) {
  for (const char* name : {"", "Add", "add ", "ad", "__add__", "nothing"}) EXPECT_FALSE(find_operation(name)) << name;
}

TEST(Registry, TakesAProgramsOwn) {
  const std::size_t before = all_operations().size();
  register_operation(row_of<Custom<0>>);
  register_operation(row_of<Custom<0>>);
  EXPECT_EQ(all_operations().size(), before + 1);
  EXPECT_EQ(all_operations().back(), &row_of<Custom<0>>);
  EXPECT_EQ(find_operation("custom_of_a_test"), &row_of<Custom<0>>);
}
TEST(Registry, RefusesANameThatIsTaken) {
  const std::string said = "register_operation: expected a name that no operation has, got ";
  EXPECT_EQ(error_of<ValueError>([] { register_operation(row_of<Custom<1>>); }), said + "\"tanh\"");
  EXPECT_EQ(error_of<ValueError>([] { register_operation(row_of<Custom<2>>); }), said + "\"\"");
  EXPECT_EQ(find_operation("tanh"), &rows::tanh);
}
TEST(Registry, ThreadsRegisterAndFindAtOnce) {
  constexpr int kThreads = 4, kEach = 8;
  static std::string names[kThreads * kEach];
  static Row own[kThreads * kEach];
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([t] {
      for (int i = t * kEach; i < (t + 1) * kEach; ++i) {
        if (names[i].empty()) {
          names[i] = "of_thread_" + std::to_string(i);
          own[i] = row_of<Custom<0>>, own[i].name = names[i].c_str();
        }
        register_operation(own[i]);
        EXPECT_EQ(find_operation(names[i]), &own[i]);
        EXPECT_EQ(find_operation("tanh"), &rows::tanh);
      }
    });
  for (std::thread& t : threads) t.join();
  for (const Row& row : own) EXPECT_EQ(find_operation(row.name), &row);
}

}  // namespace
}  // namespace neura::test
