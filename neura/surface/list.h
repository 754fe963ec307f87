// How a family puts its functions on the list. Included by the sources of the families alone.
#pragma once
#include "neura/surface/call.h"

namespace neura::surface {

// The families, each in a source of its name.
#define NEURA_SURFACE_FAMILIES(FAMILY) \
  FAMILY(create)                       \
  FAMILY(random)                       \
  FAMILY(conversion)                   \
  FAMILY(properties)                   \
  FAMILY(geometry)                     \
  FAMILY(pointwise)                    \
  FAMILY(products)                     \
  FAMILY(reduce)                       \
  FAMILY(sort)                         \
  FAMILY(index)                        \
  FAMILY(join)                         \
  FAMILY(shape)                        \
  FAMILY(statistics)                   \
  FAMILY(linalg)                       \
  FAMILY(linalg_legacy)                \
  FAMILY(loss)                         \
  FAMILY(spatial)                      \
  FAMILY(functional)                   \
  FAMILY(fourier)                      \
  FAMILY(signal)                       \
  FAMILY(audio)                        \
  FAMILY(sampling)                     \
  FAMILY(recurrent)                    \
  FAMILY(sparse)                       \
  FAMILY(attention)                    \
  FAMILY(torch_internal)
#define FAMILY(name) void add_##name(std::deque<Function>&);
NEURA_SURFACE_FAMILIES(FAMILY)
#undef FAMILY

// The function of these arguments among several of one name.
template <class... A> inline constexpr auto overload = []<class R>(R (*f)(A...)) { return f; };
// (values, indices) of a result that has both, of a type that bears the function's name.
template <class R> Named values_indices(const R& r) { return {nullptr, {"values", "indices"}, {r.values, r.indices}}; }

class List {  // where a family adds its functions, of one space
 public:
  List(std::deque<Function>& all, std::string_view space) : all_(all), space_(space) {}
  // f: a function pointer or a lambda without captures. An overload after the first needs no text.
  template <class F> const List& add(const char* signature, F f, Forms forms, const char* text = "") const {
    Function& made = all_.emplace_back();
    made.space = space_, made.text = text, made.forms = forms;
    if (forms & network) made.also = "functional";
    parse(signature, made);
    made.own_name = made.name;
    bind(made, f);
    return *this;
  }
  // The method name_(...) of the function added last, with its arguments; f writes its first one.
  template <class F> const List& writes(F f) const {
    Function made = all_.back();
    made.name += "_", made.also = {}, made.forms = method, made.in_place = true;
    bind(all_.emplace_back(std::move(made)), f);
    return *this;
  }
  const List& alias(const char* name, const char* of) const;  // the same functions under another name
  const List& also(const char* space) const;                  // what was added last is there, too

 private:
  template <class F> static void bind(Function& made, F f) {
    using G = std::decay_t<F>;
    static_assert(std::is_pointer_v<G> || std::is_empty_v<G>, "a lambda of the list captures nothing");
    using S = detail::Signature<G>;
    using Arguments = typename S::Arguments;
    constexpr std::size_t n = std::tuple_size_v<Arguments>;
    if constexpr (n > 0) {
      using Last = std::tuple_element_t<n - 1, Arguments>;
      if constexpr (Group<Last>) {
        append(made, Last::kSignature);
        check_count(made, n - 1 + std::tuple_size_v<decltype(Last::kMembers)>);
      } else check_count(made, n);
    } else check_count(made, n);
    auto otherwise = std::make_shared<Arguments>();
    [&]<std::size_t... i>(std::index_sequence<i...>) { (describe(made, i, std::get<i>(*otherwise)), ...); }
    (std::make_index_sequence<n>());
    made.fallbacks = std::move(otherwise);
    if constexpr (std::is_pointer_v<G>) made.plain = reinterpret_cast<void (*)()>(f);
    made.call = &detail::call<G>;
    made.result = S::writes_self ? "neura.Tensor" : detail::result_of<std::remove_cvref_t<typename S::Result>>();
  }
  template <class T> static void describe(Function& f, std::size_t i, T& otherwise) {
    if constexpr (Group<T>)
      std::apply([&](auto... member) { (describe(f.parameters[i++], otherwise.*member), ...); }, T::kMembers);
    else describe(f.parameters[i], otherwise);
  }
  template <class T> static void describe(Parameter& p, T& otherwise) {
    if constexpr (is_optional<T>) {
      p.may_be_none = true;
      describe(p, detail::words_of<typename T::value_type>());
    } else describe(p, detail::words_of<T>());
    if (!p.fallback.empty()) detail::fill(p, otherwise);
  }
  static void describe(Parameter& p, detail::Words w) { p.type = w.type, p.words = w.words; }
  static void append(Function&, std::string_view group);
  static void check_count(const Function&, std::size_t arguments);
  std::deque<Function>& all_;
  std::string_view space_;
};

}  // namespace neura::surface
