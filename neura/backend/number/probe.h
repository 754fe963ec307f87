// clang-format off: macros
// The number that watches: what does a slope read, and is it g itself? It meets no other literal than _c, so it is also
// the first to refuse a formula with a bare 0.5.
// Lists of macros change with every pass of the formatter.
// clang-format off
template <class T> concept BareNumber = is_same<T, int> || BuiltIn<T> || is_same<T, unsigned>;
template <class T> inline constexpr bool never = false;

struct Probe {
  unsigned bits = 0;   // 0: g, 1 to 3: the operands, 4: the result, 31: a literal that is no whole number
  bool is_g = false;   // g, untouched: no kernel and no copy is needed
  bool none = false;   // not differentiable
  int cost = 0;        // of the functions called on the way to it, against an addition
  constexpr Probe() = default;
  NEURA_HD constexpr Probe(Constant c) {
    if (c.value > -1e15 && c.value < 1e15 && c.value != double((long long)c.value)) bits = 1u << 31;
  }
  NEURA_HD constexpr Probe(unsigned b, bool g, int c = 0) : bits(b), is_g(g), cost(c) {}
  NEURA_HD constexpr unsigned reads() const { return bits & 31; }
  NEURA_HD constexpr bool fraction() const { return bits >> 31; }
  NEURA_HD static constexpr Probe g() { return Probe(1u, true); }
  NEURA_HD static constexpr Probe operand(int i) { return Probe(2u << i, false); }
  NEURA_HD static constexpr Probe result() { return Probe(16u, false); }
  NEURA_HD constexpr Probe with(int more) const { return Probe(bits, false, cost + more); }
  NEURA_HD constexpr Probe with(Probe b, int more = 0) const { return Probe(bits | b.bits, false, cost + b.cost + more); }
};
NEURA_HD constexpr Probe operator-(Probe a) { return a.with(0); }
NEURA_HD constexpr Probe operator!(Probe a) { return a.with(0); }
NEURA_HD constexpr Probe operator~(Probe a) { return a.with(0); }
template <class T> NEURA_HD constexpr Probe bare_number_in_a_formula() {
  static_assert(never<T>, "a formula keeps its number type: write 0.5_c, not 0.5");
  return {};
}
#define WATCH(op)                                                                                                        \
  NEURA_HD constexpr Probe operator op(Probe a, Probe b) { return a.with(b); }                            \
  template <BareNumber T> NEURA_HD constexpr Probe operator op(T, Probe) { return bare_number_in_a_formula<T>(); }       \
  template <BareNumber T> NEURA_HD constexpr Probe operator op(Probe, T) { return bare_number_in_a_formula<T>(); }
WATCH(+) WATCH(-) WATCH(*) WATCH(/) WATCH(<) WATCH(>) WATCH(<=) WATCH(>=) WATCH(==) WATCH(!=) WATCH(&&) WATCH(||)
WATCH(&) WATCH(|) WATCH(^) WATCH(<<) WATCH(>>)
#undef WATCH
#define PROBE1(name, cost) NEURA_HD constexpr Probe name(Probe x) { return x.with(cost); }
#define PROBE2(name, cost) NEURA_HD constexpr Probe name(Probe a, Probe b) { return a.with(b, cost); }
#define INSTRUCTION1(name, ...) PROBE1(name, 0)
#define INSTRUCTION2(name, ...) PROBE2(name, 0)
#define FUNCTION1(name, ...) PROBE1(name, 12)
#define FUNCTION2(name, ...) PROBE2(name, 24)
#define PRIMITIVE1(name) PROBE1(name, 60)
#define PRIMITIVE2(name) PROBE2(name, 60)
#include "neura/backend/number/every_function.h"
#undef PROBE1
#undef PROBE2
NEURA_HD constexpr Probe where(Probe c, Probe a, Probe b) { return c.with(a).with(b); }
template <> struct Traits<Probe> {
  using mask = Probe;
  using real = Probe;
};
