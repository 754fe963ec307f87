// clang-format off: macros
// 0.5_c takes the type of the number it meets. Number classes convert from Constant; float and double, which have no
// constructors to give, get operators here.
// Lists of macros change with every pass of the formatter.
// clang-format off
struct Constant {
  double value;
  NEURA_HD constexpr operator float() const { return float(value); }
  NEURA_HD constexpr operator double() const { return value; }
  NEURA_HD constexpr Constant operator-() const { return {-value}; }
};
NEURA_HD constexpr Constant operator""_c(long double v) { return {double(v)}; }
NEURA_HD constexpr Constant operator""_c(unsigned long long v) { return {double(v)}; }
#define CONSTANT(op) \
  NEURA_HD constexpr Constant operator op(Constant a, Constant b) { return {a.value op b.value}; }
CONSTANT(+) CONSTANT(-) CONSTANT(*) CONSTANT(/)
#undef CONSTANT
inline constexpr Constant infinity{__builtin_bit_cast(double, 0x7ff0000000000000ull)};

template <class A, class B> inline constexpr bool is_same = false;
template <class A> inline constexpr bool is_same<A, A> = true;
template <class N> concept BuiltIn = is_same<N, float> || is_same<N, double>;

// Built-in numbers and class templates cannot convert a Constant by themselves. (Hidden friends could, but GCC 12 compiles
// a friend defined in a class template without the target of the surrounding #pragma: Batch would not compile.)
template <class N> inline constexpr bool meets_literals = BuiltIn<N>;
template <class N> concept Meets = meets_literals<N>;
#define MEETS(op)                                                                              \
  template <Meets N> NEURA_HD constexpr auto operator op(Constant c, N x) { return N(c) op x; } \
  template <Meets N> NEURA_HD constexpr auto operator op(N x, Constant c) { return x op N(c); }
MEETS(+) MEETS(-) MEETS(*) MEETS(/) MEETS(<) MEETS(>) MEETS(<=) MEETS(>=) MEETS(==) MEETS(!=) MEETS(&) MEETS(|) MEETS(^)
#undef MEETS
template <class N> concept MeetsInCalls = Meets<N> && !BuiltIn<N>;  // float's own functions convert a Constant
template <MeetsInCalls N> NEURA_HD constexpr N max(N x, Constant c) { return max(x, N(c)); }
template <MeetsInCalls N> NEURA_HD constexpr N min(N x, Constant c) { return min(x, N(c)); }
template <MeetsInCalls N> NEURA_HD constexpr N copysign(Constant c, N x) { return copysign(N(c), x); }
template <MeetsInCalls N> NEURA_HD constexpr N max(Constant c, N x) { return max(N(c), x); }
template <MeetsInCalls N> NEURA_HD constexpr N min(Constant c, N x) { return min(N(c), x); }
template <class C, MeetsInCalls N> NEURA_HD constexpr N where(C c, N a, Constant b) { return where(c, a, N(b)); }
template <class C, MeetsInCalls N> NEURA_HD constexpr N where(C c, Constant a, N b) { return where(c, N(a), b); }

// What belongs to a number: the type of its comparisons, and of its absolute value. Class numbers specialise it.
template <class N> struct Traits {
  using mask = bool;
  using real = N;
};
template <class N> using mask_of = typename Traits<N>::mask;
template <class N> using real_of = typename Traits<N>::real;
