// A number of memory into another of any dtype. Included after cast.h and <type_traits>.
// cast<To>(x). A fraction that fits no integer becomes the nearest one, and NaN 0, on every processor and device: what
// C++ leaves open, x86 answers with the least integer, ARM and CUDA with the nearest.
template <class To, class From> NEURA_HD To converted(From x) {
  using V = decltype(wide(x));
  if constexpr (is_complex<V> && is_same<To, Bool>) {
    const V v = wide(x);
    return To(v.re != 0 || v.im != 0);
  } else if constexpr (is_complex<V> && !is_complex<To>) {
    return converted<To>(wide(x).re);
  } else if constexpr (BuiltIn<V> && !BuiltIn<decltype(wide(To()))> && !is_complex<To> && !is_same<To, Bool>) {
    constexpr bool is_signed = To(-1) < To(0);
    using Wide8 = std::conditional_t<is_signed, std::int64_t, std::uint64_t>;
    using Wide = std::conditional_t<sizeof(To) == 8, Wide8,
                                    std::conditional_t<sizeof(To) == 4 && !is_signed, std::int64_t, std::int32_t>>;
    constexpr To least = Int<To>::lowest(), most = To(~least);
    constexpr V low = V(least), end = V(most / 2 + 1) * 2;  // the first above; exact in float
    const V v = wide(x);
    const Wide near = v >= end ? Wide(most) : v < low ? Wide(least) : Wide(0);
    return To(v >= low && v < end ? Wide(v) : near);
  } else {
    return cast<To>(x);
  }
}
