// Operands that broadcast, step, turn around and differ in dtype, with lines shorter than a vector of the processor:
// the same as contiguous copies of them give.
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/shape/shape.h"
#include "tests/support/close.h"
#include "tests/support/engine.h"

namespace neura {
namespace {

class Draw {
 public:
  int below(int n) {
    seed_ = seed_ * 6364136223846793005u + 1442695040888963407u;
    return int((seed_ >> 33) % std::uint64_t(n));
  }
  bool once_in(int n) { return below(n) == 0; }

 private:
  std::uint64_t seed_ = 11;
};

// Broadcasts to `full`: sizes of 1, steps of 2, two dimensions exchanged.
Tensor operand(Draw& draw, const Shape& full, DType d) {
  Shape part = full, room;
  for (std::int64_t& n : part) n = draw.once_in(3) ? 1 : n;
  for (std::int64_t n : part) room.push_back(draw.once_in(4) ? 2 * n : n);
  Tensor t = reshape(to(remainder(arange(room.numel()), 5), d), room);
  for (int i = 0; i < part.size(); ++i)
    if (room[i] != part[i]) t = slice(t, i, 0, INT64_MAX, 2);
  const int a = draw.below(full.size()), b = draw.below(full.size());
  return draw.once_in(3) && full[a] == full[b] ? transpose(t, a, b) : t;
}

TEST(ShortLines, EqualContiguousCopiesForEveryPairOfDtypes) {
  const DType dtypes[] = {float32, float64, float16, bfloat16, int64,     int32,
                          int16,   int8,    uint8,   boolean,  complex64, complex128};
  Draw draw;
  for (int n = 0; n < 3000; ++n) {
    Shape full;
    for (int i = draw.below(5); i >= 0; --i) full.push_back(1 + draw.below(i ? 7 : 40));
    const DType first = dtypes[draw.below(12)];
    const Tensor a = operand(draw, full, first),
                 b = operand(draw, full, draw.once_in(2) ? first : dtypes[draw.below(12)]);
    const Shape shape = broadcast_shapes("test", a.shape(), b.shape());
    const Tensor x = flatten(contiguous(expand(a, shape))), y = flatten(contiguous(expand(b, shape)));
    SCOPED_TRACE(a.debug_str() + "\n" + b.debug_str());
    test::expect_same(flatten(add(a, b)), add(x, y));
    test::expect_same(flatten(ne(a, b)), ne(x, y));
    Tensor into = to(zeros(shape), promote(a.dtype(), b.dtype()));  // written where it stands
    if (into.dim() > 1) into = transpose(contiguous(transpose(into, 0, -1)), 0, -1);
    add_(copy_(into, a), b);
    test::expect_same(flatten(into), add(x, y));
  }
}

}  // namespace
}  // namespace neura
