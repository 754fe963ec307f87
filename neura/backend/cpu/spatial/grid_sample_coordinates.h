// Coordinates of sampled points in registers. No guard: included inside a target's namespace, which has Highway as hn,
// the numbers of lanes.h and grid_sample.h; not for the scalar target.
// `at` reflected at both ends until it is between them; the result's signs are those of the derivative by `at` before.
template <class D> HWY_INLINE hn::Vec<D> mirror(hn::Vec<D>& at, std::int64_t size, const GridSampling& s) {
  using E = hn::TFromD<D>;
  const D d;
  const auto one = hn::Set(d, 1), low = hn::Set(d, s.align_corners ? E(0) : E(-0.5));
  if (size == s.align_corners) return at = hn::Zero(d), one;
  const auto span = hn::Set(d, E(size - s.align_corners)), distance = hn::Abs(hn::Sub(at, low));
  auto sign = hn::IfThenElse(hn::Lt(at, low), hn::Neg(one), one);
  at = hn::Add(low, distance);
  if (hn::AllTrue(d, hn::Lt(distance, span))) return sign;
  const auto times = hn::Floor(hn::Div(distance, span)), half = hn::Set(d, E(0.5));
  const auto rest = hn::Min(hn::Max(hn::NegMulAdd(times, span, distance), hn::Zero(d)), span);
  const auto back = hn::Ne(hn::Floor(hn::Mul(times, half)), hn::Mul(times, half));
  at = hn::Add(low, hn::IfThenElse(back, hn::Sub(span, rest), rest));
  return hn::IfThenElse(back, hn::Neg(sign), sign);
}
// One coordinate of as many points as there are lanes: where it is among the elements, and the derivative of that.
template <class E> struct SamplePoint {
  using D = Tag<E>;
  hn::Vec<D> at, factor;
  // Written out, since g++ for ARM does not apply the pragma that selects instructions to an implicit constructor.
  SamplePoint() {}  // NOLINT(modernize-use-equals-default)
  // moved: (coordinate + 1) size, or at itself if corners are aligned. false: one is too far away.
  HWY_INLINE bool find(hn::Vec<D> moved, std::int64_t size, const GridSampling& s) {
    const D d;
    const auto half = hn::Set(d, E(0.5)), top = hn::Set(d, E(size - 1)), zero = hn::Zero(d);
    at = s.align_corners ? moved : hn::Mul(hn::Sub(moved, hn::Set(d, 1)), half);
    factor = hn::Set(d, E(s.align_corners ? size - 1 : size) / 2);
    if (!hn::AllTrue(d, hn::Lt(hn::Abs(at), hn::Set(d, E(1 << 22))))) return false;
    if (s.padding == SamplePadding::zeros || s.mode == Sampling::cubic) return true;
    if (s.padding == SamplePadding::reflection) factor = hn::Mul(factor, mirror<D>(at, size, s));
    factor = hn::IfThenElseZero(hn::And(hn::Gt(at, zero), hn::Lt(at, top)), factor);
    at = hn::Min(hn::Max(at, zero), top);
    return true;
  }
};
// The elements next to it along its dimension, as Line has them of one point.
template <class E> struct Steps {
  using N = Batch<E>;
  using L = Lanes<N>;
  int count;
  N place[4], weight[4], slope[4];
  HWY_INLINE Steps(const SamplePoint<E>& spot, std::int64_t size, const GridSampling& s)
      : count(s.mode == Sampling::cubic ? 4 : 2) {
    const N at = spot.at, factor = spot.factor, low = hn::Floor(spot.at), part = at - low, one = L::all(1);
    if (count == 2) {
      place[0] = low, place[1] = low + one, weight[0] = one - part, weight[1] = part;
      slope[0] = -factor, slope[1] = factor;
      return;
    }
    cubic(part, weight, slope, [](double x) { return L::all(E(x)); });
    for (int k = 0; k < 4; ++k) {
      place[k] = low + L::all(E(k - 1)), slope[k] = slope[k] * factor;
      if (s.padding == SamplePadding::reflection) mirror<Tag<E>>(place[k].raw, size, s), place[k] = round(place[k]);
      if (s.padding != SamplePadding::zeros) place[k] = below(above(place[k], L::all(0)), L::all(E(size - 1)));
    }
  }
};
// Coordinates of a block of points, down and right, as SamplePoint takes them; those beyond the points up to a whole
// register are of some place of the image.
template <class E> HWY_INLINE void move_block(const E* grid, int points, const std::int64_t* size,
                                              const GridSampling& s, E (&moved)[2][kSamplePoints]) {
  constexpr int lanes = Batch<E>::lanes;
  const Tag<E> d;
  const auto move = [&](int k, auto x) HWY_ATTR {
    const auto one = hn::Set(d, 1), length = hn::Set(d, E(size[k] - s.align_corners));
    return hn::Mul(s.align_corners ? hn::Mul(hn::Add(x, one), hn::Set(d, E(0.5))) : hn::Add(x, one), length);
  };
  alignas(64) E last[2 * lanes] = {};
  for (int i = 0; i < points; i += lanes) {
    const E* from = grid + 2 * i;
    if (i + lanes > points) std::copy(from, grid + 2 * points, last), from = last;
    hn::Vec<Tag<E>> x, y;
    hn::LoadInterleaved2(d, from, x, y);
    hn::Store(move(0, y), d, moved[0] + i), hn::Store(move(1, x), d, moved[1] + i);
  }
  asm volatile("" : "+m"(moved));  // products are rounded before anything is added to them
}
