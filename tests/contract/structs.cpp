#include "tests/contract/structs.h"

namespace neura::test {

const std::vector<StructCase>& struct_cases() {
  static const std::vector<StructCase> all = [] {
    std::vector<StructCase> cases;
    for (const auto& part : {shape_cases(), index_cases(), reduction_cases(), product_cases(), network_cases(),
                             loss_cases(), fourier_cases(), linalg_cases()})
      cases.insert(cases.end(), part.begin(), part.end());
    return cases;
  }();
  return all;
}

}  // namespace neura::test
