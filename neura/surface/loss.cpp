// neura.nn.functional: losses and distances.
#include "neura/ops/loss/loss.h"

#include "neura/ops/create/create.h"
#include "neura/ops/loss/ctc_loss.h"
#include "neura/ops/nn/norm.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/surface/list.h"
#include "neura/surface/loss_arguments.h"

namespace neura::surface {
namespace {

using T = const Tensor&;
using Word = std::string_view;

// The functions of losses.def: their tensors, then their arguments.
template <auto f, class O, class... A> struct Loss {
  static constexpr bool of_three = std::is_invocable_v<decltype(f), T, T, T, O>;
  static constexpr bool weighted =
      std::is_invocable_v<decltype(f), T, T, O, T>;  // torch's weight is C++'s last argument
  static O options(typename A::Argument... a) {
    LossGiven<O> given;
    (A::put(given, a), ...);
    return given.finish();
  }
  static Tensor of_pair(T x, T y, typename A::Argument... a) { return f(x, y, options(a...)); }
  static Tensor of_triple(T x, T y, T z, typename A::Argument... a) { return f(x, y, z, options(a...)); }
  static Tensor of_weighted(T x, T y, typename A::Argument... a, T weight) { return f(x, y, options(a...), weight); }
  static Tensor of_number(T x, T y, double var, typename A::Argument... a) {
    check<ValueError>(var >= 0, [] { return std::string("gaussian_nll_loss: expected var not to be negative"); });
    return f(x, y, full_like(x, var), options(a...));
  }
};
template <auto f, class O, class... A>
void add_loss(const List& s, const char* name, const std::string& tensors, const char* text, const A&... a) {
  using L = Loss<f, O, A...>;
  const std::string all = name + ('(' + tensors) + ", " + loss_arguments(a...);
  if constexpr (L::weighted) s.add((all + ", weight=None)").c_str(), &L::of_weighted, function, text);
  else if constexpr (L::of_three) s.add((all + ')').c_str(), &L::of_triple, function, text);
  else s.add((all + ')').c_str(), &L::of_pair, function, text);
  if constexpr (std::is_same_v<O, GaussianNllLossOptions>) s.add((all + ')').c_str(), &L::of_number, function);
}
void add_table(const List& s) {
#define FIELD(name) \
  , LossField<&O::name> { #name }
#define OF_FUNCTION FIELD
#define HIDDEN(name)
#define SIZE_AVERAGE , LossSizeAverage()
#define REDUCE , LossReduce()
#define LOSS(Name, function, Taken, arguments, text)                              \
  {                                                                               \
    using O = Taken;                                                              \
    add_loss<&neura::function, O>(s, #function, "input, target", text arguments); \
  }
#define LOSS3(Name, function, a, b, c, Taken, arguments, text)                    \
  {                                                                               \
    using O = Taken;                                                              \
    add_loss<&neura::function, O>(s, #function, a ", " b ", " c, text arguments); \
  }
#include "neura/nn/losses.def"
}

void add_sequences(const List& s) {
  const char* text =
      "Connectionist temporal classification (Graves et al., 2006): -log p(targets | log_probs [T, N, C]); lengths are "
      "tensors or lists. See neura.nn.CTCLoss.";
  const char* signature =
      "ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction='mean', zero_infinity=False)";
  s.add(
      signature,
      [](T x, T targets, T times, T labels, std::int64_t blank, Word r, bool zero_infinity) {
        return ctc_loss(x, targets, times, labels, {blank, to_reduction(r), zero_infinity});
      },
      function, text);
  s.add(
      signature,
      [](T x, T targets, const Integers& times, const Integers& labels, std::int64_t blank, Word r, bool zero) {
        return ctc_loss(x, targets, tensor(times), tensor(labels), {blank, to_reduction(r), zero});
      },
      function);
}

}  // namespace

void add_loss(std::deque<Function>& all) {
  const List s(all, "functional");
  add_table(s);
  add_sequences(s);
}

}  // namespace neura::surface
