// A number of memory into another, as C++ and PyTorch convert. Included inside a target's namespace after numbers.h.
template <class To, class From> NEURA_HD To cast(From x) {
  const auto v = wide(x);
  using V = decltype(wide(x));
  if constexpr (is_same<To, From>) return x;
  else if constexpr (is_complex<V> && is_complex<To>) return To(cast<real_of<To>>(v.re), cast<real_of<To>>(v.im));
  else if constexpr (is_complex<V>) return cast<To>(v.re);
  else if constexpr (is_complex<To>) return To(cast<real_of<To>>(v));
  else if constexpr (is_same<To, Bool>) return To(v != V(0));
  else if constexpr (is_same<V, Bool>) return cast<To>(uint8_t(v.v != 0));
  else if constexpr (is_same<To, Half> || is_same<To, BFloat16> || is_float8<To>) return To(float(v));
  else if constexpr (sizeof(To) <= 2 && BuiltIn<V>) return To(int32_t(v));  // wraps; straight to 8 bits is undefined
  else return To(v);
}

template <DType> struct Element;  // the type a dtype is stored as
#define ELEMENT(d, t) \
  template <> struct Element<DType::d> { using type = t; };
// clang-format off
ELEMENT(boolean, Bool) ELEMENT(uint8, uint8_t) ELEMENT(int8, int8_t) ELEMENT(int16, int16_t) ELEMENT(int32, int32_t)
ELEMENT(int64, int64_t) ELEMENT(float16, Half) ELEMENT(bfloat16, BFloat16) ELEMENT(float32, float)
ELEMENT(float64, double) ELEMENT(complex64, complex<float>) ELEMENT(complex128, complex<double>)
ELEMENT(float8_e4m3, Float8E4M3) ELEMENT(float8_e5m2, Float8E5M2) ELEMENT(uint16, uint16_t) ELEMENT(uint32, uint32_t)
ELEMENT(uint64, uint64_t)
// clang-format on
#undef ELEMENT
