// The fields of a struct of options, named once in the order in which other languages take them: what their
// constructors read, their signatures, their help are made of it. Types and defaults are those of the struct.
//
//   struct LinearOptions {
//     bool bias = true;
//     Device device = default_device();
//     std::optional<DType> dtype = {};
//     NEURA_ARGUMENTS(bias, device, dtype)
//   };
#pragma once

namespace neura {

// Named, and f(all of the fields) for whoever reads or writes them.
#define NEURA_ARGUMENTS(...)                                                    \
  static constexpr const char* argument_names() { return #__VA_ARGS__; }        \
  template <class F> decltype(auto) arguments(F&& f) { return f(__VA_ARGS__); } \
  template <class F> decltype(auto) arguments(F&& f) const { return f(__VA_ARGS__); }

template <class T>
concept HasArguments = requires {
  T::argument_names();
};

}  // namespace neura
