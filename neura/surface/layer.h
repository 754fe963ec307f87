// Layers as other languages make them. The arguments of a constructor are those of its declaration (NEURA_INIT) and
// after them the fields of the options that it takes (NEURA_ARGUMENTS); or those of a function that makes the layer,
// with their names in the form of function.h. Names, order and defaults are written nowhere else.
#pragma once
#include "neura/core/arguments.h"
#include "neura/core/device_scope.h"
#include "neura/core/fields.h"
#include "neura/surface/call.h"
#include "neura/surface/layer_reader.h"

namespace neura::surface {

struct Layer : Function {
  Ref<nn::Module> (*make)(const Layer&, LayerReader&) = nullptr;  // null: an argument is of another type
  bool takes_anything = false;                                    // and reads nothing of it
  std::uint64_t exact = 0;                                        // the places of flags that are True or False alone
  std::string signature() const;                                  // "(in_features, out_features, bias=True)"
  // "nonlinearity, proj_size": options that this layer does not have; flags that are True or False alone.
  void without(std::string_view names), with_exact(std::string_view names);
};

void fallback(const Parameter&, nn::Number&), fallback(const Parameter&, Reduction&);
void fallback(const Parameter&, nn::Activation&), fallback(const Parameter&, Ref<nn::Module>&);
void fallback(const Parameter&, AnyObject&);

namespace detail {

#define TYPE(T, text, words) \
  template <> constexpr Words words_of<T>() { return {text, words}; }
NEURA_LAYER_TYPES(TYPE)
#undef TYPE

// A default as signatures say it. What is empty is None.
std::string text_of(bool), text_of(std::int64_t), text_of(double), text_of(const std::string&), text_of(Reduction);
std::string text_of(const nn::Number&), text_of(const Shape&), text_of(const Padding&);
inline std::string text_of(int x) { return text_of(std::int64_t(x)); }
template <class T> std::string text_of(const T& x) {
  if constexpr (is_optional<T>) return x ? text_of(*x) : "None";
  else if constexpr (std::is_base_of_v<Shape, T>) return text_of(static_cast<const Shape&>(x));
  else if constexpr (std::is_base_of_v<std::string, T>) return text_of(static_cast<const std::string&>(x));
  else return "None";  // a device (the default one), tensors, modules, lists
}

// May a field be None, and what is it then? What is absent or empty; a device is the default one; and as in torch,
// bias=None is no bias.
template <class T> bool may_be_none(const std::string& name, const std::string& fallback) {
  if constexpr (std::is_same_v<T, bool>) return name == "bias";
  else return fallback == "None";
}

// The arguments that a list says, of C++ or in the form of function.h: names, defaults in Python's spelling.
std::vector<Parameter> listed(std::string_view text);
void check_listed(const Layer&, std::size_t said, std::size_t taken);
void put_words(Parameter&, Words);
std::string_view cut(std::string_view& names);  // the first one

template <class T> void put_type(Parameter& p) {
  if constexpr (is_optional<T>) p.may_be_none = true, put_type<typename T::value_type>(p);
  else put_words(p, words_of<T>());
}

template <class T> void describe_options(Layer& layer) {
  std::string_view names = T::argument_names();
  const T fallbacks{};
  fallbacks.arguments([&]<class... F>(const F&... x) {
    [[maybe_unused]] const auto one = [&]<class X>(const X& x) {
      Parameter& p = layer.parameters.emplace_back();
      p.name = cut(names), p.fallback = text_of(x);
      p.may_be_none = may_be_none<X>(p.name, p.fallback);
      put_type<X>(p);
    };
    // Of a struct over another one, and of larger ones, the fields are not counted.
    if constexpr (sizeof...(F) <= 12) {
      T whole{};
      ::neura::detail::expect_fields<sizeof...(F)>(whole);
    }
    (one(x), ...);
  });
}
// One argument, with its default, from what the list says of it; the fields of options in its place.
template <class T> void describe(Layer& layer, Parameter said, held<T>& otherwise) {
  if constexpr (HasArguments<T>) describe_options<T>(layer);
  else {
    Parameter& p = layer.parameters.emplace_back(std::move(said));
    put_type<held<T>>(p);
    if (p.fallback.empty()) return;
    fill(p, otherwise);
    p.fallback = text_of(otherwise);
  }
}

template <class T> bool take_field(LayerReader& r, int i, const Parameter& p, T& to) {
  switch (r.given(i)) {
    case Reader::absent:
      return true;
    case Reader::none:
      if constexpr (!std::is_same_v<T, Device>)
        if (p.may_be_none) to = T{};
      return p.may_be_none;
    case Reader::some:
      break;
  }
  T value{};
  if constexpr (is_optional<T>) {
    if (!r.read(i, value.emplace())) return false;
  } else if (!r.read(i, value)) return false;
  to = std::move(value);
  return true;
}
template <class T> bool take(LayerReader& r, int& i, const Layer& layer, const held<T>& otherwise, held<T>& to) {
  const auto has = [&](std::string_view name) {  // a layer may do without an option
    return std::size_t(i) < layer.parameters.size() && layer.parameters[std::size_t(i)].name == name;
  };
  if constexpr (HasArguments<T>) {
    [[maybe_unused]] std::string_view names = T::argument_names();
    return to.arguments([&](auto&... field) {
      return (true && ... &&
              (!has(cut(names)) || (++i, take_field(r, i - 1, layer.parameters[std::size_t(i - 1)], field))));
    });
  } else {
    const int at = i++;
    return take(r, at, layer.parameters[std::size_t(at)], otherwise, to);
  }
}

// How M is made: of the arguments A, by M's constructor or a function.
template <class M, class F, class... A> struct Making {
  using Arguments = std::tuple<held<A>...>;

  static void describe_all(Layer& layer, std::string_view text) {
    std::vector<Parameter> said = listed(text);
    check_listed(layer, said.size(), sizeof...(A));
    auto otherwise = std::make_shared<Arguments>();
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      (describe<std::remove_cvref_t<A>>(layer, std::move(said[i]), std::get<i>(*otherwise)), ...);
    }
    (std::index_sequence_for<A...>());
    layer.fallbacks = std::move(otherwise);
    layer.make = &make;
  }
  static Ref<nn::Module> make(const Layer& layer, LayerReader& r) {
    [[maybe_unused]] const auto& otherwise = *static_cast<const Arguments*>(layer.fallbacks.get());
    Arguments a;  // options are as they are now, with the default device
    return [&]<std::size_t... i>(std::index_sequence<i...>)->Ref<nn::Module> {
      [[maybe_unused]] int at = 0;
      if (!(true && ... && take<std::remove_cvref_t<A>>(r, at, layer, std::get<i>(otherwise), std::get<i>(a))))
        return {};
      if constexpr (std::is_void_v<F>) return Ref<nn::Module>::share(nn::make<M>(pass<A>(std::get<i>(a))...).get());
      else return Ref<nn::Module>::share(F{}(pass<A>(std::get<i>(a))...).get());
    }
    (std::index_sequence_for<A...>());
  }
};

template <class M, class... A> void describe_constructor(Layer& layer, void (*)(A...)) {
  Making<M, void, A...>::describe_all(layer, M::taken_text());
}
template <class M, class F, class R, class... A>
void describe_function(Layer& layer, std::string_view text, R (F::*)(A...) const) {
  Making<M, F, A...>::describe_all(layer, text);
}

}  // namespace detail

// As the constructor of M takes its arguments.
template <class M> Layer layer() {
  Layer made;
  made.name = M::class_name();
  detail::describe_constructor<M>(made, static_cast<decltype(&M::taken)>(nullptr));  // for its type: it has no body
  return made;
}
// As `make`, a lambda without captures, takes them: "encoder_layer, num_layers, norm=None". Options of
// NEURA_ARGUMENTS are "**options".
template <class M, class F> Layer layer(std::string_view arguments, F) {
  static_assert(std::is_empty_v<F>, "a lambda that makes a layer captures nothing");
  Layer made;
  made.name = M::class_name();
  detail::describe_function<M>(made, arguments, &F::operator());
  return made;
}

}  // namespace neura::surface
