// Who uses that library: values, layouts, derivatives and errors are those of an operation of Neura's own.
#include <cstdio>
#include <string>

#include "extension.h"

using namespace neura;

namespace {

bool said(bool holds, const char* what) {
  if (!holds) std::printf("FAILED: %s\n", what);
  return holds;
}

}  // namespace

int main() try {
  manual_seed(1);
  const Tensor x = randn({4, 5}, {.dtype = float64}).requires_grad_();
  const auto f = [](const std::vector<Tensor>& in) { return std::vector{squash(in[0])}; };
  bool ok = said(allclose(squash(x), x / (1 + abs(x))), "values");
  ok &= said(allclose(squash(x.t()), squash(x).t()), "another layout, for which the definition runs");
  ok &= said(bool(gradcheck(f, {x})), "the derivative");
  ok &= said(squash(empty({2, 3}, {.device = "meta"})).device() == Device("meta"), "a device without a kernel");
  try {
    squash(ones({2}, {.dtype = int64}));
    ok = said(false, "integers are refused");
  } catch (const DTypeError& e) {
    ok &= said(std::string(e.what()).find("squash: expected float32") == 0, e.what());
  }
  return ok ? 0 : 1;
} catch (const Error& e) {  // gradcheck says what differs
  std::printf("FAILED: %s\n", e.what());
  return 1;
}
