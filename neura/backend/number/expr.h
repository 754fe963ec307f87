// clang-format off: macros
// The number that writes: each operation adds a line of CUDA source, so that text grows with the formula and not with
// its repetitions. Literals stay 0.5_c: the run-time compiler reads the same number headers.
// Lists of macros change with every pass of the formatter.
// clang-format off
struct Expr {
  std::string text;
  Expr() = default;
  explicit Expr(std::string t) : text(std::move(t)) {}
  Expr(Constant c) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.17g_c", c.value < 0 ? -c.value : c.value);
    text = c.value - c.value != 0 ? "infinity" : digits;
    if (c.value < 0) text = "(-" + text + ")";
  }
};
struct Writing {  // where the lines go; one at a time per thread
  std::string lines;
  int names = 0;
  static inline thread_local Writing* current = nullptr;
};
inline Expr write(const std::string& value) {
  Writing& w = *Writing::current;
  const std::string name = "t" + std::to_string(w.names++);
  w.lines += "    const auto " + name + " = " + value + ";\n";
  return Expr(name);
}
#define WRITE(op) \
  inline Expr operator op(const Expr& a, const Expr& b) { return write(a.text + " " #op " " + b.text); }
WRITE(+) WRITE(-) WRITE(*) WRITE(/) WRITE(<) WRITE(>) WRITE(<=) WRITE(>=) WRITE(==) WRITE(!=) WRITE(&&) WRITE(||)
WRITE(&) WRITE(|) WRITE(^) WRITE(<<) WRITE(>>)
#undef WRITE
inline Expr operator-(const Expr& a) { return write("-" + a.text); }
inline Expr operator!(const Expr& a) { return write("!" + a.text); }
inline Expr operator~(const Expr& a) { return write("~" + a.text); }
inline Expr where(const Expr& c, const Expr& a, const Expr& b) {
  return write("where(" + c.text + ", " + a.text + ", " + b.text + ")");
}
#define FUNCTION1(name, ...) \
  inline Expr name(const Expr& x) { return write(#name "(" + x.text + ")"); }
#define FUNCTION2(name, ...) \
  inline Expr name(const Expr& a, const Expr& b) { return write(#name "(" + a.text + ", " + b.text + ")"); }
#define INSTRUCTION1 FUNCTION1
#define INSTRUCTION2 FUNCTION2
#define PRIMITIVE1 FUNCTION1
#define PRIMITIVE2 FUNCTION2
#include "neura/backend/number/every_function.h"
template <> struct Traits<Expr> {
  using mask = Expr;
  using real = Expr;
};
