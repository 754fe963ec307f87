// Both forms of gelu in float32 on a GPU: few enough instructions for its memory's speed. Part of slopes.h.
#include "neura/tables/coefficients.h"
// By instructions that flush to 0 what is no normal number, which their users do not need.
__device__ inline float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline float fast_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline float polynomial(float, float last) { return last; }
template <class... F> __device__ float polynomial(float t, float first, F... rest) {
  return fmaf(polynomial(t, rest...), t, first);
}
// exp(-x^2 / 2) is 2^s, and what rounding took from s and from the square is put right; the tail is that times a
// quotient of coefficients.h's polynomials. To 7e-7 of the true values down to -13; below -13.2 all is 0.
__device__ inline Normal<float> normal_at(float x) {
  constexpr float k = -0.72134752f;
  const float a = fabsf(x), c = a > 14.f ? 14.f : a, square = c * c, s = k * square, power = fast_exp2(s);
  const float lost = fmaf(k, fmaf(c, c, -square), fmaf(k, square, -s)), e = fmaf(0.69314718f * power, lost, power);
  const float under = fast_reciprocal(polynomial(c, NEURA_NORMAL_TAIL_UNDER(f)));
  const float tail = __fmul_rn(polynomial(c, NEURA_NORMAL_TAIL_OVER(f)) * under, e);  // also where it is subtracted
  return {x < 0.f ? tail : 1.f - tail, 0.3989422804f * e};
}
// gelu_tanh_gate with e = exp(-2 |u|), log2(e) in its factors; near and far are the gate and what it lacks for x > 0.
struct TanhGate {
  float near, far, square;
  __device__ explicit TanhGate(float x) : square(x * x) {
    const float e = fast_exp2(-fabsf(x * fmaf(0.10294324f, square, 2.3022082f)));
    near = fast_reciprocal(1.f + e), far = e * near;
  }
  __device__ float at(float x) const { return x < 0.f ? far : near; }
};
__device__ inline float gelu_tanh_of(float x) { return x * TanhGate(x).at(x); }
__device__ inline float gelu_tanh_slope(float g, float x) {
  const TanhGate t(x);
  return g * fmaf(x * (t.near * t.far), fmaf(0.21406445f, t.square, 1.5957691f), t.at(x));
}
