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
// Reflected at both ends until it is between them: at the outer elements' centres, or at their edges.
template <class T> NEURA_HD T mirrored(T p, int64_t size, bool align_corners, T& factor) {
  const T low = align_corners ? T(0) : T(-0.5), span = T(align_corners ? size - 1 : size);
  if (span == 0) return factor = 0, T(0);
  if (p < low) factor = -factor;
  const T distance = std::abs(p - low);
  if (distance < span) return low + distance;
  const T rest = std::fmod(distance, span);
  if (std::fmod(std::floor(distance / span), T(2)) == 0) return low + rest;
  factor = -factor;
  return low + (span - rest);
}
template <class T> NEURA_HD T padded(T p, int64_t size, const GridSampling& s, T& factor) {
  if (s.padding == SamplePadding::zeros) return p;
  if (s.padding == SamplePadding::reflection) p = mirrored(p, size, s.align_corners, factor);
  return clipped(p, size, factor);
}

// Keys's kernel with a = -0.75 at t + 1, t, 1 - t and 2 - t, and its derivatives by t; c makes a number of a constant.
template <class N, class C> NEURA_HD void cubic(N t, N (&weight)[4], N (&slope)[4], C c) {
  const N a = c(-0.75), one = c(1), two = c(2), three = c(3);
  const auto near = [&](N x) { return ((a + two) * x - (a + three)) * x * x + one; };
  const auto far = [&](N x) { return ((a * x - c(5) * a) * x + c(8) * a) * x - c(4) * a; };
  const auto near_slope = [&](N x) { return (three * (a + two) * x - two * (a + three)) * x; };
  const auto far_slope = [&](N x) { return (three * a * x - c(10) * a) * x + c(8) * a; };
  weight[0] = far(t + one), weight[1] = near(t), weight[2] = near(one - t), weight[3] = far(two - t);
  slope[0] = far_slope(t + one), slope[1] = near_slope(t);
  slope[2] = c(0) - near_slope(one - t), slope[3] = c(0) - far_slope(two - t);
}

// The position of a normalised coordinate among the elements of its dimension.
template <class T> NEURA_HD T position(T coordinate, int64_t size, bool align_corners) {
  return align_corners ? (coordinate + 1) / 2 * T(size - 1) : ((coordinate + 1) * T(size) - 1) / 2;
}

template <class T> NEURA_HD void find(Line<T>& line, T coordinate, int64_t size, const GridSampling& s) {
  T factor = T(s.align_corners ? size - 1 : size) / 2;      // the derivative of p by the coordinate
  if (std::isnan(coordinate)) coordinate = -1, factor = 0;  // as torch documents it
  const T p = position(coordinate, size, s.align_corners);
  if (s.mode == Sampling::cubic) {
    const T low = std::floor(p);
    T weight[4], slope[4];
    cubic(p - low, weight, slope, [](double x) { return T(x); });
    for (int k = 0; k < 4; ++k) {  // each element is padded by itself
      T unused = 1;
      const T at = padded(low + T(k - 1), size, s, unused);
      line.add(s.padding == SamplePadding::reflection ? std::nearbyint(at) : at, size, weight[k], slope[k] * factor);
    }
    return;
  }
  const T q = padded(p, size, s, factor);
  if (s.mode == Sampling::nearest) return line.add(std::nearbyint(q), size, 1, 0);  // ties to even
  const T low = std::floor(q), part = q - low;
  line.add(low, size, 1 - part, -factor), line.add(low + 1, size, part, factor);
}
