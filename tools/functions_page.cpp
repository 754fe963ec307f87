// Prints docs/functions.md: every public function that is no pointwise row, from the list in neura/surface.
// tools/docs.sh writes the page, or checks it.
#include <cstdio>

#include "neura/surface/page.h"

int main() {
  std::printf(
      "# Public functions\n\n"
      "Made from `neura/surface` by `make docs`: do not edit. Besides these, every row of "
      "[operations.md](operations.md) "
      "is a function, a\n"
      "method, an in-place method and takes `out=`. A function that is also a method takes the tensor as `input`; \"in "
      "place\" is the\n"
      "method with a trailing underscore, `x.name_(...)`. Several signatures are tried in this order.\n%s",
      neura::surface::page(neura::surface::functions()).c_str());
  return 0;
}
