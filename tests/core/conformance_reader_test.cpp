// The stored answers can be read: every file, with as many cases as PyTorch's databases gave.
#include <gtest/gtest.h>

#include "tests/support/conformance.h"
#include "tests/support/loop.h"

namespace neura::test {

TEST(ConformanceReader, ReadsEveryCaseOfEveryOperator) {
  int files = 0, cases = 0, gradients = 0, second = 0, raises = 0, unreadable = 0;
  for (const std::string& name : conformance_names()) {
    ++files;
    for (const ConformanceCase& c : read_conformance(name).cases) {
      ++cases, gradients += c.has_gradients, second += c.has_second, raises += c.raises,
          unreadable += !c.unreadable.empty();
      if (c.has_gradients && c.unreadable.empty()) EXPECT_EQ(c.leaves().size(), c.gradients.size()) << name << c.index;
    }
  }
  EXPECT_EQ(files, 659);
  EXPECT_EQ(cases, 7885);
  EXPECT_EQ(gradients, 2527);
  EXPECT_EQ(second, 1623);
  EXPECT_EQ(raises, 302);
  EXPECT_EQ(unreadable, 3);  // of a dtype or rank that Neura has not
}

TEST(ConformanceReader, UnderstandsArgumentsAndComplexNumbers) {
  const ConformanceFile f = read_conformance("sigmoid");
  EXPECT_EQ(f.op, "sigmoid");
  ASSERT_EQ(f.cases.size(), 11u);
  EXPECT_EQ(f.cases[8].input.data.dtype(), DType::complex128);
  EXPECT_TRUE(f.cases[8].input.grad);
  EXPECT_NEAR(at(f.cases[0].output.data, {0}), 1 / (1 + std::exp(-at(f.cases[0].input.data, {0}))), 1e-12);
}

}  // namespace neura::test
