// PyTorch's stored answers to linear algebra.
#include <gtest/gtest.h>

#include "neura/ops/linalg/linalg.h"
#include "neura/ops/linalg/matrix_functions.h"
#include "tests/ops/arguments.h"
#include "tests/support/lapack.h"

namespace neura::test {
namespace {

using namespace linalg;
using Results = std::vector<Tensor>;

template <Tensor (*f)(const Tensor&)> Results plain(const ConformanceCase& c) { return {f(c.input.data)}; }
bool flag(const ConformanceCase& c, int i, const char* name, bool otherwise) {
  return Arguments{c}.flag(i, name, otherwise);
}
Tensor other(const ConformanceCase& c) { return c.args[0].data; }

Results cholesky_case(const ConformanceCase& c) { return {cholesky(c.input.data, flag(c, 0, "upper", false))}; }
Results cholesky_ex_case(const ConformanceCase& c) {
  const auto r = cholesky_ex(c.input.data, flag(c, 0, "upper", false));
  return {r.L, r.info};
}
Results inv_ex_case(const ConformanceCase& c) {
  const auto r = inv_ex(c.input.data);
  return {r.inverse, r.info};
}
Results solve_ex_case(const ConformanceCase& c) {
  const auto r = solve_ex(c.input.data, other(c), flag(c, 1, "left", true));
  return {r.result, r.info};
}
Results lu_factor_ex_case(const ConformanceCase& c) {
  const auto r = lu_factor_ex(c.input.data);
  return {r.LU, r.pivots, r.info};
}
Results lu_factor_case(const ConformanceCase& c) {
  const auto r = lu_factor(c.input.data);
  return {r.LU, r.pivots};
}
Results slogdet_case(const ConformanceCase& c) {
  const auto r = slogdet(c.input.data);
  return {r.sign, r.logabsdet};
}
Results lu_unpack_case(const ConformanceCase& c) {
  const auto r = lu_unpack(c.input.data, other(c), flag(c, 1, "unpack_data", true), flag(c, 2, "unpack_pivots", true));
  return {r.P, r.L, r.U};
}
Results lstsq_case(const ConformanceCase& c) {
  const auto r = lstsq(c.input.data, other(c), {}, c.kwarg("driver").word);
  return {r.solution, r.residuals, r.rank, r.singular_values};
}
Results eigvalsh_case(const ConformanceCase& c) {
  const Value& side = c.argument(0, "UPLO");
  return {eigvalsh(c.input.data, side ? side.word[0] : 'L')};
}

TEST(LinalgConformance, StoredAnswers) {
  NEURA_NEEDS_LAPACK();
  expect_conformance(
      "linalg", {{"cholesky", cholesky_case},
                 {"linalg.cholesky", cholesky_case},
                 {"linalg.cholesky_ex", cholesky_ex_case},
                 {"cholesky_inverse",
                  [](const ConformanceCase& c) -> Results {
                    return {cholesky_inverse(c.input.data, flag(c, 0, "upper", false))};
                  }},
                 {"cholesky_solve",
                  [](const ConformanceCase& c) -> Results {
                    return {cholesky_solve(c.input.data, other(c), flag(c, 1, "upper", false))};
                  }},
                 {"linalg.inv", plain<inv>},
                 {"linalg.inv_ex", inv_ex_case},
                 {"linalg.solve", [](const ConformanceCase& c) -> Results { return {solve(c.input.data, other(c))}; }},
                 {"linalg.solve_ex", solve_ex_case},
                 {"linalg.solve_triangular",
                  [](const ConformanceCase& c) -> Results {
                    return {solve_triangular(c.input.data, other(c), flag(c, 1, "upper", false),
                                             flag(c, 2, "left", true), flag(c, 3, "unitriangular", false))};
                  }},
                 {"linalg.lu_factor", lu_factor_case},
                 {"linalg.lu_factor_ex", lu_factor_ex_case},
                 {"linalg.lu_solve",
                  [](const ConformanceCase& c) -> Results {
                    return {lu_solve(c.input.data, c.args[0].data, c.args[1].data, flag(c, 2, "left", true),
                                     flag(c, 3, "adjoint", false))};
                  }},
                 {"lu_unpack", lu_unpack_case},
                 {"linalg.det", plain<det>},
                 {"linalg.slogdet", slogdet_case},
                 {"logdet", plain<logdet>},
                 {"linalg.eigvals", plain<eigvals>},
                 {"linalg.eigvalsh", eigvalsh_case},
                 {"linalg.svdvals", plain<svdvals>},
                 {"linalg.lstsq", lstsq_case},
                 {"linalg.matrix_power",
                  [](const ConformanceCase& c) -> Results {
                    return {matrix_power(c.input.data, c.argument(0, "n").scalar.integer())};
                  }},
                 {"linalg.tensorinv",
                  [](const ConformanceCase& c) -> Results {
                    return {tensorinv(c.input.data, int(c.argument(0, "ind").scalar.integer()))};
                  }},
                 {"ormqr", [](const ConformanceCase& c) -> Results {
                    return {ormqr(c.input.data, c.args[0].data, c.args[1].data, flag(c, 2, "left", true),
                                  flag(c, 3, "transpose", false))};
                  }}});
}

}  // namespace
}  // namespace neura::test
