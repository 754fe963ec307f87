// clang-format off
// Tensor as a number of formulas: a tensor or a literal, so that literals stay weak scalars and take the dtype they meet.
// Included inside namespace neura::plain.

struct Variable {
  Tensor tensor;  // undefined: the constant
  double constant = 0;
  Variable() = default;
  Variable(Constant c) : constant(c.value) {}
  explicit Variable(Tensor t) : tensor(std::move(t)) {}
  Operand operand() const { return tensor ? Operand(tensor) : Operand(constant); }
  bool is_complex() const { return tensor && neura::is_complex(tensor.dtype()); }
};
template <> struct Traits<Variable> {
  using mask = Variable;
  using real = Variable;
};

#define VARIABLE_OPERATOR(sign, name)                                                            \
  inline Variable operator sign(const Variable& a, const Variable& b) {                          \
    if (!a.tensor && !b.tensor) return Constant{double(a.constant sign b.constant)};             \
    return Variable(neura::name(a.operand(), b.operand()));                                      \
  }
VARIABLE_OPERATOR(+, add) VARIABLE_OPERATOR(-, sub) VARIABLE_OPERATOR(*, mul) VARIABLE_OPERATOR(/, div)
VARIABLE_OPERATOR(<, lt) VARIABLE_OPERATOR(>, gt) VARIABLE_OPERATOR(<=, le) VARIABLE_OPERATOR(>=, ge)
VARIABLE_OPERATOR(==, eq) VARIABLE_OPERATOR(!=, ne) VARIABLE_OPERATOR(&&, logical_and) VARIABLE_OPERATOR(||, logical_or)
#undef VARIABLE_OPERATOR
inline Variable operator-(const Variable& a) { return a.tensor ? Variable(neura::neg(a.tensor)) : Constant{-a.constant}; }
inline Variable operator!(const Variable& a) {
  return a.tensor ? Variable(neura::logical_not(a.tensor)) : Constant{double(!a.constant)};
}

// A function of a literal is a literal where the plain numbers have it (all but the rare functions).
template <class F, class G> Variable call(F of_tensor, G of_double, const Variable& x) {
  if (x.tensor) return Variable(of_tensor(x.tensor));
  return Constant{double(of_double(x.constant))};
}
template <class F, class G> Variable call(F of_tensors, G of_double, const Variable& a, const Variable& b) {
  if (a.tensor || b.tensor) return Variable(of_tensors(a.operand(), b.operand()));
  return Constant{double(of_double(a.constant, b.constant))};
}
#define VARIABLE1(name, operation)                                      \
  inline Variable name(const Variable& x) {                             \
    return call([](const Tensor& t) { return neura::operation(t); }, [](double v) { return name(v); }, x); \
  }
#define VARIABLE2(name, operation)                                      \
  inline Variable name(const Variable& a, const Variable& b) {          \
    return call([](const Operand& s, const Operand& t) { return neura::operation(s, t); },                 \
                [](double v, double w) { return name(v, w); }, a, b);   \
  }
#define INSTRUCTION1(name, ...) VARIABLE1(name, name)
#define INSTRUCTION2(name, ...) VARIABLE2(name, name)
#define FUNCTION1(name, ...) VARIABLE1(name, name)
#define FUNCTION2(name, ...) VARIABLE2(name, name)
#define PRIMITIVE1(name) VARIABLE1(name, name)
#define PRIMITIVE2(name) VARIABLE2(name, name)
#include "neura/backend/number/functions.def"
#undef PRIMITIVE1
#undef PRIMITIVE2
#define PRIMITIVE1(name) \
  inline Variable name(const Variable& x) { return Variable(neura::name(x.tensor)); }
#define PRIMITIVE2(name) \
  inline Variable name(const Variable& a, const Variable& b) { return Variable(neura::name(a.operand(), b.operand())); }
#include "neura/backend/number/special.def"
#include "neura/backend/number/end_functions.h"
VARIABLE1(sgn, sgn) VARIABLE1(conj, conj_physical) VARIABLE1(finite, isfinite) VARIABLE1(infinite, isinf)
VARIABLE1(signbit, signbit) VARIABLE1(angle, angle) VARIABLE2(max, maximum) VARIABLE2(min, minimum)
VARIABLE2(floor_divide, div_floor) VARIABLE2(remainder, remainder)
#undef VARIABLE1
#undef VARIABLE2
inline Variable polygamma(const Variable& n, const Variable& x) {
  return Variable(neura::_polygamma(x.tensor, _polygamma_options{n.constant}));
}
inline Variable real(const Variable& x) { return x.is_complex() ? Variable(neura::_real_part(x.tensor)) : x; }
inline Variable where(const Variable&, const Variable&, const Variable&);
inline Variable magnitude(const Variable& x) { return where(x < Constant{0}, -x, x); }
inline Variable where(const Variable& c, const Variable& a, const Variable& b) {
  if (!c.tensor) return c.constant ? a : b;
  return Variable(neura::where(c.tensor, a.operand(), b.operand()));
}
