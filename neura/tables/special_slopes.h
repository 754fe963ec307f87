// Formulas and slopes of the rare functions, as in slopes.h.
template <class N> NEURA_HD constexpr N entr_of(N x) {
  return where(x > 0_c, -x * log(x), where(x == 0_c, N(0_c), where(x < 0_c, -N(infinity), x)));
}
template <class N> NEURA_HD constexpr N gamma_density(N a, N x) { return exp((a - 1_c) * log(x) - x - lgamma(a)); }
template <class N> NEURA_HD constexpr N i1_slope(N x, N y) {                 // at 0 the formula is 0 / 0
  return where(x == 0_c, N(0.5_c), i0(x) - y / where(x == 0_c, N(1_c), x));  // no NaN in its own derivative either
}
template <class N> NEURA_HD constexpr N i1e_slope(N x, N y) {
  return where(x == 0_c, N(0.5_c), i0e(x) - y * (sgn(x) + 1_c / where(x == 0_c, N(1_c), x)));
}
template <class N> NEURA_HD constexpr N polygamma(Constant n, N x) { return polygamma(N(n), x); }
