// clang-format off: macros
// Integers that stay in their type and wrap around, and bool whose + is or and * is and. Nothing here may trap: x / 0
// is 0 (apply has refused it before) and lowest / -1 wraps, since a SIGFPE would kill the process.
// Lists of macros change with every pass of the formatter.
// clang-format off
template <class T> struct Int {
  using U = decltype(sizeof(T) < 8 ? uint32_t() : uint64_t());  // wide enough that C++ does not promote it to int
  T v;
  Int() = default;
  NEURA_HD constexpr explicit Int(T x) : v(x) {}
  NEURA_HD constexpr Int(Constant c) : v(clamped(c.value)) {}

  static constexpr bool has_sign = T(-1) < T(1);
  NEURA_HD static constexpr T lowest() { return has_sign ? T(T(1) << (8 * sizeof(T) - 1)) : T(0); }
  NEURA_HD static constexpr T clamped(double x) {  // infinities of optional bounds become the ends of the range
    const double low = double(lowest()), high = double(T(~lowest()));
    return x <= low ? lowest() : x >= high ? T(~lowest()) : T(x);
  }
};
template <class T> inline constexpr bool meets_literals<Int<T>> = true;
#define WRAPS(op)                                                                \
  template <class T> NEURA_HD constexpr Int<T> operator op(Int<T> a, Int<T> b) { \
    using U = typename Int<T>::U;                                                \
    return Int<T>(T(U(a.v) op U(b.v)));                                          \
  }
#define COMPARES(op) \
  template <class T> NEURA_HD constexpr bool operator op(Int<T> a, Int<T> b) { return a.v op b.v; }
WRAPS(+) WRAPS(-) WRAPS(*) WRAPS(&) WRAPS(|) WRAPS(^)
COMPARES(<) COMPARES(>) COMPARES(<=) COMPARES(>=) COMPARES(==) COMPARES(!=)
template <class T> NEURA_HD constexpr Int<T> operator-(Int<T> a) { return Int<T>(T(typename Int<T>::U(0) - a.v)); }
template <class T> NEURA_HD constexpr Int<T> operator~(Int<T> a) { return Int<T>(T(~a.v)); }
template <class T> NEURA_HD constexpr Int<T> operator/(Int<T> a, Int<T> b) {
  if (b.v == T(0)) return Int<T>(T(0));
  if (Int<T>::has_sign && b.v == T(-1)) return -a;
  return Int<T>(T(a.v / b.v));
}
template <class T> NEURA_HD constexpr Int<T> fmod(Int<T> a, Int<T> b) { return a - a / b * b; }
template <class T> NEURA_HD constexpr Int<T> where(bool c, Int<T> a, Int<T> b) { return c ? a : b; }
template <class T> NEURA_HD constexpr Int<T> max(Int<T> a, Int<T> b) { return a.v > b.v ? a : b; }
template <class T> NEURA_HD constexpr Int<T> min(Int<T> a, Int<T> b) { return a.v < b.v ? a : b; }
template <class T> NEURA_HD constexpr bool negative(Int<T> x) {
  if constexpr (Int<T>::has_sign) return x.v < T(0);
  else return false;  // nvcc warns of a comparison with 0
}
template <class T> NEURA_HD constexpr Int<T> sgn(Int<T> x) { return Int<T>(T(negative(x) ? -1 : x.v != T(0))); }
template <class T> NEURA_HD constexpr Int<T> abs(Int<T> x) { return negative(x) ? -x : x; }
template <class T> NEURA_HD constexpr Int<T> round(Int<T> x) { return x; }
template <class T> NEURA_HD constexpr Int<T> trunc(Int<T> x) { return x; }
template <class T> NEURA_HD constexpr Int<T> ceil(Int<T> x) { return x; }
template <class T> NEURA_HD constexpr Int<T> floor(Int<T> x) { return x; }
template <class T> NEURA_HD constexpr Int<T> conj(Int<T> x) { return x; }
template <class T> NEURA_HD constexpr Int<T> real(Int<T> x) { return x; }
template <class T> NEURA_HD constexpr Int<T> imag(Int<T>) { return Int<T>(T(0)); }
template <class T> NEURA_HD constexpr bool finite(Int<T>) { return true; }
template <class T> NEURA_HD constexpr bool infinite(Int<T>) { return false; }
template <class T> NEURA_HD constexpr bool signbit(Int<T> x) { return negative(x); }
template <class T> NEURA_HD constexpr Int<T> remainder(Int<T> a, Int<T> b) {
  const Int<T> r = fmod(a, b);
  return r.v != T(0) && negative(r) != negative(b) ? r + b : r;
}
template <class T> NEURA_HD constexpr Int<T> floor_divide(Int<T> a, Int<T> b) {
  const Int<T> q = a / b, r = a - q * b;
  return r.v != T(0) && negative(r) != negative(b) ? q - Int<T>(T(1)) : q;
}
// A shift by the width or more, or by a negative count, is what shifting step by step would give: no bit is left but the sign.
template <class T> NEURA_HD constexpr Int<T> operator<<(Int<T> a, Int<T> b) {
  using U = typename Int<T>::U;
  return Int<T>(negative(b) || U(b.v) >= 8 * sizeof(T) ? T(0) : T(U(a.v) << U(b.v)));
}
template <class T> NEURA_HD constexpr Int<T> operator>>(Int<T> a, Int<T> b) {
  constexpr int top = 8 * sizeof(T) - 1;
  const int count = negative(b) || typename Int<T>::U(b.v) > top ? top : int(b.v);
  return Int<T>(T(!Int<T>::has_sign && count == top && b.v != T(top) ? T(0) : T(a.v >> count)));
}
template <class T> NEURA_HD constexpr Int<T> gcd(Int<T> a, Int<T> b) {
  while (b.v != T(0)) {
    const Int<T> r = fmod(a, b);
    a = b, b = r;
  }
  return abs(a);
}
template <class T> NEURA_HD constexpr Int<T> pow(Int<T> a, Int<T> b) {  // a negative exponent gives 1 / a, rounded to zero
  if (negative(b)) return a.v == T(1) ? a : a.v == T(-1) ? (b.v % 2 ? a : -a) : Int<T>(T(0));
  Int<T> r(T(1));
  for (uint64_t e = uint64_t(b.v); e; e >>= 1, a = a * a)
    if (e & 1) r = r * a;
  return r;
}

struct Bool {
  uint8_t v;  // 0 or 1; a bool read from foreign memory may hold anything, which is undefined
  Bool() = default;
  NEURA_HD constexpr explicit Bool(bool x) : v(x) {}
  NEURA_HD constexpr Bool(Constant c) : v(c.value != 0) {}
#define LOGIC(op, with) \
  NEURA_HD friend constexpr Bool operator op(Bool a, Bool b) { return Bool(bool(a.v with b.v)); }
#define COMPARES_BOOL(op) \
  NEURA_HD friend constexpr bool operator op(Bool a, Bool b) { return a.v op b.v; }
  LOGIC(+, |) LOGIC(*, &) LOGIC(&, &) LOGIC(|, |) LOGIC(^, ^)
  COMPARES_BOOL(<) COMPARES_BOOL(>) COMPARES_BOOL(<=) COMPARES_BOOL(>=) COMPARES_BOOL(==) COMPARES_BOOL(!=)
  NEURA_HD friend constexpr Bool where(bool c, Bool a, Bool b) { return c ? a : b; }
  NEURA_HD friend constexpr Bool operator~(Bool a) { return Bool(!a.v); }
  NEURA_HD friend constexpr Bool sgn(Bool a) { return a; }
  NEURA_HD friend constexpr Bool abs(Bool a) { return a; }
  NEURA_HD friend constexpr Bool conj(Bool a) { return a; }
  NEURA_HD friend constexpr Bool real(Bool a) { return a; }
  NEURA_HD friend constexpr Bool imag(Bool) { return Bool(false); }
  NEURA_HD friend constexpr bool finite(Bool) { return true; }
  NEURA_HD friend constexpr bool infinite(Bool) { return false; }
  NEURA_HD friend constexpr bool signbit(Bool) { return false; }
  NEURA_HD friend constexpr Bool max(Bool a, Bool b) { return a + b; }
  NEURA_HD friend constexpr Bool min(Bool a, Bool b) { return a * b; }
};
#undef WRAPS
#undef COMPARES
#undef LOGIC
#undef COMPARES_BOOL
