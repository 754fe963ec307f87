// clang-format off
// Transposes a square of vectors: within the blocks of 128 bits, then the blocks. No guard: included inside a
// target's namespace, which has Highway as hn.
#if HWY_TARGET != HWY_SCALAR
template <class D> HWY_INLINE void transpose_square(D d, hn::Vec<D>* v) {
  using T = hn::TFromD<D>;
  constexpr int kL = int(hn::MaxLanes(D())), kBlock = int(16 / sizeof(T)), kBlocks = kL / kBlock;
#if HWY_HAVE_FLOAT64
  const hn::Repartition<double, D> d64;
#else
  const hn::Repartition<std::uint64_t, D> d64;
#endif
  HWY_UNROLL(8)
  for (int r = 0; r < kL; r += kBlock)
    if constexpr (kBlock == 2) {
      const auto a = v[r], b = v[r + 1];
      v[r] = hn::InterleaveLower(d, a, b), v[r + 1] = hn::InterleaveUpper(d, a, b);
    } else {
      const auto a = hn::BitCast(d64, hn::InterleaveLower(d, v[r], v[r + 1]));
      const auto b = hn::BitCast(d64, hn::InterleaveUpper(d, v[r], v[r + 1]));
      const auto p = hn::BitCast(d64, hn::InterleaveLower(d, v[r + 2], v[r + 3]));
      const auto q = hn::BitCast(d64, hn::InterleaveUpper(d, v[r + 2], v[r + 3]));
      v[r] = hn::BitCast(d, hn::InterleaveLower(d64, a, p)), v[r + 1] = hn::BitCast(d, hn::InterleaveUpper(d64, a, p));
      v[r + 2] = hn::BitCast(d, hn::InterleaveLower(d64, b, q)),
            v[r + 3] = hn::BitCast(d, hn::InterleaveUpper(d64, b, q));
    }
  // Now block b of v[r * kBlock + t] is part r of column b * kBlock + t.
  if constexpr (kBlocks == 2) {
    HWY_UNROLL(4)
    for (int t = 0; t < kBlock; ++t) {
      const auto a = v[t], b = v[kBlock + t];
      v[t] = hn::ConcatLowerLower(d, b, a), v[kBlock + t] = hn::ConcatUpperUpper(d, b, a);
    }
  } else if constexpr (kBlocks == 4) {
    HWY_UNROLL(4)
    for (int t = 0; t < kBlock; ++t) {
      auto *v0 = v + t, *v1 = v0 + kBlock, *v2 = v1 + kBlock, *v3 = v2 + kBlock;
      const auto a = hn::ConcatLowerLower(d, *v2, *v0), b = hn::ConcatLowerLower(d, *v3, *v1);
      const auto p = hn::ConcatUpperUpper(d, *v2, *v0), q = hn::ConcatUpperUpper(d, *v3, *v1);
      *v0 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a), *v1 = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
      *v2 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(q), p), *v3 = hn::OddEvenBlocks(q, hn::SwapAdjacentBlocks(p));
    }
  }
}
#endif
