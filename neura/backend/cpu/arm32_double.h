// Two doubles as a vector for NEON of 32-bit ARM, which has none: what tiles of products and convolutions call of
// Highway. There a file is compiled for one instruction set alone, so that a guard does no harm.
#pragma once
#if defined(__arm__) && HWY_TARGET == HWY_NEON
namespace hwy {
namespace HWY_NAMESPACE {
namespace detail {

struct TwoDoubles {
  double lane[2];
};
template <> struct Raw128<double, 2> { using type = TwoDoubles; };

}  // namespace detail

using Pair = Vec128<double, 2>;
using PairTag = Simd<double, 2, 0>;
HWY_API Pair pair_of(double low, double high) { return Pair(detail::TwoDoubles{{low, high}}); }
HWY_API Pair Set(PairTag, double x) { return pair_of(x, x); }
HWY_API Pair Zero(PairTag) { return pair_of(0, 0); }
HWY_API Pair LoadU(PairTag, const double* p) { return pair_of(p[0], p[1]); }
HWY_API Pair Load(PairTag, const double* p) { return pair_of(p[0], p[1]); }
HWY_API void StoreU(Pair v, PairTag, double* p) { p[0] = v.raw.lane[0], p[1] = v.raw.lane[1]; }
HWY_API void Store(Pair v, PairTag d, double* p) { StoreU(v, d, p); }
HWY_API Pair Add(Pair a, Pair b) { return pair_of(a.raw.lane[0] + b.raw.lane[0], a.raw.lane[1] + b.raw.lane[1]); }
HWY_API Pair Mul(Pair a, Pair b) { return pair_of(a.raw.lane[0] * b.raw.lane[0], a.raw.lane[1] * b.raw.lane[1]); }
HWY_API Pair MulAdd(Pair a, Pair b, Pair c) {
  return pair_of(__builtin_fma(a.raw.lane[0], b.raw.lane[0], c.raw.lane[0]),
                 __builtin_fma(a.raw.lane[1], b.raw.lane[1], c.raw.lane[1]));
}
HWY_API Pair InterleaveLower(PairTag, Pair a, Pair b) { return pair_of(a.raw.lane[0], b.raw.lane[0]); }
HWY_API Pair InterleaveUpper(PairTag, Pair a, Pair b) { return pair_of(a.raw.lane[1], b.raw.lane[1]); }
HWY_API Pair SumOfLanes(PairTag d, Pair a) { return Set(d, a.raw.lane[0] + a.raw.lane[1]); }
HWY_API double GetLane(Pair a) { return a.raw.lane[0]; }

}  // namespace HWY_NAMESPACE
}  // namespace hwy
#endif
