// The normal distribution in registers of floats: one exponential and one quotient. Included after tables/slopes.h.
// exp(-x^2 / 2) is 2^s; what rounding took from s and from the square is added to the fraction of s. The tail is that
// times a quotient of coefficients.h's polynomials: to 7e-7 down to -13, and 0 from -16 on.
HWY_INLINE Normal<Batch<float>> normal_at(Batch<float> x) {
  using N = Batch<float>;
  const N k = -0.7213475204444817_c, a = below(N(16_c), abs(x)), square = a * a, s = k * square, n = round(s);
  const N lost = fma(fma(a, a, -square), k, fma(square, k, -s));
  const N e = times_power_of_two(horner((s - n) + lost, 1_c, 6.931472029e-1_c, 2.402264791e-1_c, 5.550332471e-2_c,
                                        9.618437359e-3_c, 1.339887459e-3_c, 1.535336206e-4_c),
                                 n);
  const N tail = horner(a, NEURA_NORMAL_TAIL_OVER(_c)) / horner(a, NEURA_NORMAL_TAIL_UNDER(_c)) * e;
  return {where(x < 0_c, tail, 1_c - tail), 0.3989422804_c * e};
}
