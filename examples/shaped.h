// Tensors whose sizes are part of their type: a prototype over neura::Tensor, of which the library knows nothing. A
// wrong product does not compile. A size that comes from data is `kAny`; it is looked at once, where a tensor enters.
#pragma once
#include <neura/neura.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>

namespace shaped {

inline constexpr std::int64_t kAny = -1;  // known at run time alone
constexpr bool meet(std::int64_t a, std::int64_t b) { return a == b || a == kAny || b == kAny; }
constexpr std::int64_t joined(std::int64_t a, std::int64_t b) { return a == kAny ? b : a; }

template <class T, std::int64_t... sizes> class Shaped {
 public:
  static constexpr std::array<std::int64_t, sizeof...(sizes)> kSizes{sizes...};
  static_assert(((sizes >= kAny) && ...), "a size is 0 or more, or kAny");

  // The border to tensors without shapes: the only place that looks at sizes when the program runs.
  explicit Shaped(neura::Tensor t) : tensor_(std::move(t)) {
    bool fits = tensor_.dtype() == neura::dtype_of<T> && tensor_.dim() == int(kSizes.size());
    for (int d = 0; fits && d < tensor_.dim(); ++d) fits = meet(kSizes[std::size_t(d)], tensor_.size(d));
    neura::check<neura::ShapeError>(fits,
                                    [&] { return "Shaped: expected " + text() + ", got " + tensor_.spec().str(); });
  }
  // What this header computes fits by its types.
  static Shaped known(neura::Tensor t) { return Shaped(std::move(t), 0); }

  const neura::Tensor& tensor() const { return tensor_; }
  static std::string text() {
    std::string s = neura::name(neura::dtype_of<T>);
    for (std::size_t d = 0; d < kSizes.size(); ++d)
      s += (d ? ", " : " [") + (kSizes[d] == kAny ? "any" : std::to_string(kSizes[d]));
    return s + (kSizes.empty() ? " []" : "]");
  }

 private:
  Shaped(neura::Tensor t, int) : tensor_(std::move(t)) {}
  neura::Tensor tensor_;
};

template <class T, std::int64_t... s> Shaped<T, s...> randn() {
  static_assert(((s >= 0) && ...), "randn: every size must be known");
  return Shaped<T, s...>::known(neura::randn({s...}, {.dtype = neura::dtype_of<T>}));
}

// Element by element: equal sizes.
template <class T, std::int64_t... a, std::int64_t... b>
auto operator+(const Shaped<T, a...>& x, const Shaped<T, b...>& y) {
  if constexpr (sizeof...(a) != sizeof...(b)) {
    static_assert(sizeof...(a) == sizeof...(b), "+: the operands have different numbers of dimensions");
  } else {
    static_assert((meet(a, b) && ...), "+: the operands have different sizes");
    return Shaped<T, joined(a, b)...>::known(x.tensor() + y.tensor());
  }
}
template <class T, std::int64_t... s> Shaped<T, s...> relu(const Shaped<T, s...>& x) {
  return Shaped<T, s...>::known(neura::relu(x.tensor()));
}

template <class T, std::int64_t n, std::int64_t k, std::int64_t l, std::int64_t m>
Shaped<T, n, m> matmul(const Shaped<T, n, k>& x, const Shaped<T, l, m>& y) {
  static_assert(meet(k, l), "matmul: the first operand has not as many columns as the second one has rows");
  return Shaped<T, n, m>::known(x.tensor().matmul(y.tensor()));
}
template <class T, std::int64_t n, std::int64_t m> Shaped<T, m, n> transpose(const Shaped<T, n, m>& x) {
  return Shaped<T, m, n>::known(x.tensor().t());
}
// x times the transposed weight, plus the bias, as nn::Linear has them.
template <class T, std::int64_t n, std::int64_t in, std::int64_t k, std::int64_t out, std::int64_t o>
Shaped<T, n, out> linear(const Shaped<T, n, in>& x, const Shaped<T, out, k>& weight, const Shaped<T, o>& bias) {
  static_assert(meet(in, k), "linear: the weight has another number of input features than the input");
  static_assert(meet(out, o), "linear: the bias has another size than the weight has output features");
  return Shaped<T, n, out>::known(neura::linear(x.tensor(), weight.tensor(), bias.tensor()));
}

template <std::int64_t... to, class T, std::int64_t... from> Shaped<T, to...> reshape(const Shaped<T, from...>& x) {
  static_assert(((from != kAny) && ...) && ((to != kAny) && ...), "reshape: every size must be known");
  static_assert((from * ... * 1) == (to * ... * 1), "reshape: the sizes hold another number of elements");
  return Shaped<T, to...>::known(x.tensor().reshape({to...}));
}
template <int dim, class T, std::int64_t n, std::int64_t m> auto sum(const Shaped<T, n, m>& x) {
  static_assert(dim == 0 || dim == 1, "sum: a matrix has the dimensions 0 and 1");
  return Shaped<T, (dim == 0 ? m : n)>::known(neura::sum(x.tensor(), dim));
}

}  // namespace shaped
