// No family of kernels without a suite that calls it directly, on strided operands, on nothing, on several threads.
#include <cctype>

#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

const testing::TestSuite* suite_of(const std::string& table) {  // grid_sample: GridSampleKernels
  std::string family;
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i] != '_')
      family += char(!i || table[i - 1] == '_' ? std::toupper(static_cast<unsigned char>(table[i])) : table[i]);
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i)
    if (all.GetTestSuite(i)->name() == family + "Kernels") return all.GetTestSuite(i);
  return nullptr;
}
bool has_test(const testing::TestSuite& suite, const std::string& name) {
  for (int i = 0; i < suite.total_test_count(); ++i)
    if (suite.GetTestInfo(i)->name() == name) return true;
  return false;
}

TEST(Families, EachHasASuiteThatCallsItsKernelsDirectly) {
  const char* families[] = {
#define KERNELS(name) #name,
#include "neura/backend/kernels.def"
#undef KERNELS
      "rows", "convert"};
  for (const char* family : families) {
    const testing::TestSuite* suite = suite_of(family);
    ASSERT_TRUE(suite) << "tests/backend has no suite for the kernels of " << family;
    for (const char* test : {"OfNothing", "SameOnAnyNumberOfThreads"})
      EXPECT_TRUE(has_test(*suite, test)) << suite->name() << " has no test " << test;
  }
}

}  // namespace
}  // namespace neura::test
