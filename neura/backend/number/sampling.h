// Images sampled at points (kernels/grid_sample.h), one coordinate at a time.
// What one coordinate of a point means along its dimension: elements (-1: outside), their weights, and the derivatives
// of these by the coordinate.
template <class T> struct Line {
  int count = 0;
  int64_t index[4];
  T weight[4], slope[4];
  NEURA_HD void add(T at, int64_t size, T w, T s) {
    const bool inside = at >= 0 && at <= T(size - 1);  // false for NaN
    index[count] = inside ? int64_t(at) : -1, weight[count] = w, slope[count] = s, ++count;
  }
};

template <class T> NEURA_HD T clipped(T p, int64_t size, T& factor) {
  if (!(p > 0)) return factor = 0, T(0);
  const T top = T(size - 1);
  return p >= top ? (factor = 0, top) : p;
}
// Mirrored at both ends until it lies between them: at the outer elements' centres, or at their edges.
template <class T> NEURA_HD T mirrored(T p, int64_t size, bool align_corners, T& factor) {
  const T low = align_corners ? T(0) : T(-0.5), span = T(align_corners ? size - 1 : size);
  if (span == 0) return factor = 0, T(0);
  if (p < low) factor = -factor;
  const T distance = std::abs(p - low), rest = std::fmod(distance, span);
  if (std::fmod(std::floor(distance / span), T(2)) == 0) return low + rest;
  factor = -factor;
  return low + (span - rest);
}
template <class T> NEURA_HD T padded(T p, int64_t size, const GridSampling& s, T& factor) {
  if (s.padding == SamplePadding::zeros) return p;
  if (s.padding == SamplePadding::reflection) p = mirrored(p, size, s.align_corners, factor);
  return clipped(p, size, factor);
}

// Keys's kernel with a = -0.75 at t + 1, t, 1 - t and 2 - t, and its derivatives by t.
template <class T> NEURA_HD void cubic(T t, T (&weight)[4], T (&slope)[4]) {
  constexpr T a = T(-0.75);
  const auto near = [](T x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](T x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  const auto near_slope = [](T x) { return (3 * (a + 2) * x - 2 * (a + 3)) * x; };
  const auto far_slope = [](T x) { return (3 * a * x - 10 * a) * x + 8 * a; };
  weight[0] = far(t + 1), weight[1] = near(t), weight[2] = near(1 - t), weight[3] = far(2 - t);
  slope[0] = far_slope(t + 1), slope[1] = near_slope(t), slope[2] = -near_slope(1 - t), slope[3] = -far_slope(2 - t);
}

template <class T> NEURA_HD void find(Line<T>& line, T coordinate, int64_t size, const GridSampling& s) {
  T factor = T(s.align_corners ? size - 1 : size) / 2;      // the derivative of p by the coordinate
  if (std::isnan(coordinate)) coordinate = -1, factor = 0;  // as torch documents it
  const T p = s.align_corners ? (coordinate + 1) / 2 * T(size - 1) : ((coordinate + 1) * T(size) - 1) / 2;
  if (s.mode == Sampling::cubic) {
    const T low = std::floor(p);
    T weight[4], slope[4];
    cubic(p - low, weight, slope);
    for (int k = 0; k < 4; ++k) {  // each element is padded by itself
      T unused = 1;
      line.add(std::nearbyint(padded(low + T(k - 1), size, s, unused)), size, weight[k], slope[k] * factor);
    }
    return;
  }
  const T q = padded(p, size, s, factor);
  if (s.mode == Sampling::nearest) return line.add(std::nearbyint(q), size, 1, 0);  // ties to even
  const T low = std::floor(q), part = q - low;
  line.add(low, size, 1 - part, -factor), line.add(low + 1, size, part, factor);
}
