// clang-format off
// Vectors of the transforms, and transposes of squares of complex numbers; included once per instruction
// set, inside its namespace.

template <class T> using Tag = hn::CappedTag<T, 64 / sizeof(T)>;
template <class T> using V = hn::Vec<Tag<T>>;

using Vector = hn::Vec<Tag<double>>;  // bytes alone: a lane is a complex float, or half of a complex double
template <class T> constexpr int kSquare = int(hn::MaxLanes(Tag<T>()) / 2);
template <class T> constexpr bool kSquares = hn::MaxLanes(Tag<T>()) >= 4;

// Exchanges, in a square of numbers, the blocks off the diagonal: of one number, of two, of four.
template <class T> HWY_INLINE void transpose(Vector* v) {
#if HWY_TARGET != HWY_SCALAR
  const Tag<double> d;
  constexpr int n = kSquare<T>;
  int distance = 1;
  if constexpr (sizeof(T) == 4) {
    HWY_UNROLL(4)
    for (int j = 0; j < n; j += 2) {
      const Vector a = v[j], b = v[j + 1];
      v[j] = hn::InterleaveLower(d, a, b), v[j + 1] = hn::InterleaveUpper(d, a, b);
    }
    distance = 2;
  }
  if constexpr (hn::MaxLanes(d) >= 4) {
    HWY_UNROLL(8)
    for (int j = 0; j < n; ++j) {
      if (j & distance) continue;
      const Vector a = v[j], b = v[j + distance];
      v[j] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
      v[j + distance] = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
    }
  }
  if constexpr (hn::MaxLanes(d) >= 8) {
    HWY_UNROLL(8)
    for (int j = 0; j < n / 2; ++j) {
      const Vector a = v[j], b = v[j + n / 2];
      v[j] = hn::ConcatLowerLower(d, b, a), v[j + n / 2] = hn::ConcatUpperUpper(d, b, a);
    }
  }
#endif
}
