// The arguments of a loss besides its tensors, as losses.def lists them: of the function, and of the layer in a
// language.
#pragma once
#include <optional>
#include <string_view>
#include <type_traits>

#include "neura/core/number_text.h"
#include "neura/ops/loss/loss.h"

namespace neura::surface {

template <class Options> struct LossGiven {  // what a call gives
  Options options;
  std::optional<bool> size_average, reduce;  // PyTorch's words of old: where one of them is given, it counts
  std::string_view reduction;

  std::string_view word() const {
    if (!size_average && !reduce) return reduction;
    return !reduce.value_or(true) ? "none" : size_average.value_or(true) ? "mean" : "sum";
  }
  const Options& finish() {
    bool batchmean = false;  // a word of one loss alone
    if constexpr (requires { options.batchmean; }) batchmean = options.batchmean = word() == "batchmean";
    options.reduction = batchmean ? Reduction::mean : to_reduction(word());
    return options;
  }
};

template <auto member> struct LossField;
template <class Options, class T, T Options::*member> struct LossField<member> {
  static constexpr bool is_tensor = std::is_same_v<T, Tensor>, is_reduction = std::is_same_v<T, Reduction>;
  using Argument = std::conditional_t<is_tensor, const Tensor&, std::conditional_t<is_reduction, std::string_view, T>>;
  const char* name;

  static T fallback() { return Options().*member; }
  static void put(auto& given, Argument value) {
    if constexpr (is_reduction) given.reduction = value;
    else given.options.*member = value;
  }
};
struct LossSizeAverage {
  using Argument = std::optional<bool>;
  const char* name = "size_average";
  static void put(auto& given, Argument value) { given.size_average = value; }
};
struct LossReduce {
  using Argument = std::optional<bool>;
  const char* name = "reduce";
  static void put(auto& given, Argument value) { given.reduce = value; }
};

// "size_average=None, reduce=None, reduction='mean'": the arguments as signatures say them.
template <class A> std::string loss_argument(const A& a) {
  std::string said = "None";
  if constexpr (requires { A::fallback(); }) {
    const auto value = A::fallback();
    using V = std::remove_const_t<decltype(value)>;
    if constexpr (A::is_reduction) said = '\'' + std::string(kReductions[int(value)]) + '\'';
    else if constexpr (std::is_same_v<V, bool>) said = value ? "True" : "False";
    else if constexpr (std::is_same_v<V, double>) said = number_text(value);
    else if constexpr (!A::is_tensor) said = std::to_string(value);
  }
  return std::string(a.name) + '=' + said;
}
template <class... A> std::string loss_arguments(const A&... a) {
  std::string all;
  ((all += (all.empty() ? "" : ", ") + loss_argument(a)), ...);
  return all;
}

}  // namespace neura::surface
