// Tensors with sizes in their types, and the same with a mistake that the compiler must find: REFUSED says which.
#include "examples/shaped.h"

using shaped::kAny;
using shaped::Shaped;

void call(const Shaped<float, kAny, 8>& x, const Shaped<float, 4, 8>& w, const Shaped<float, 4>& b) {
#if REFUSED == 0
  const Shaped<float, kAny, 4> product = matmul(x, transpose(w));
  const Shaped<float, kAny, 4> layer = linear(x, w, b);
  const Shaped<float, 4> total = shaped::sum<0>(product + layer);
  const Shaped<float, 2, 16> other = shaped::reshape<2, 16>(w);
#elif REFUSED == 1
  const auto y = matmul(x, w);
#elif REFUSED == 2
  const auto y = w + transpose(w);
#elif REFUSED == 3
  const auto y = w + b;
#elif REFUSED == 4
  const auto y = shaped::reshape<3, 8>(w);
#elif REFUSED == 5
  const auto y = linear(x, transpose(w), b);
#elif REFUSED == 6
  const auto y = shaped::sum<2>(w);
#elif REFUSED == 7  // a layer of 4 features is none of 5
  const Shaped<float, kAny, 5> y = linear(x, w, b);
#endif
}
