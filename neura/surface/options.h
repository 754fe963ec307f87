// What functions that make a tensor take besides its size: groups of arguments, each one struct.
#pragma once
#include <tuple>

#include "neura/ops/random/random.h"
#include "neura/surface/argument.h"

namespace neura::surface {

struct AllOptions {
  Generator* generator = nullptr;
  std::optional<DType> dtype = {};
  Ignored layout = {};
  std::optional<Device> device = {};
  bool pin_memory = false, requires_grad = false;
  MemoryFormat memory_format = MemoryFormat::preserve;

  operator TensorOptions() const { return {dtype, device.value_or(default_device()), requires_grad}; }
  operator RandomOptions() const { return {generator, dtype, device.value_or(default_device()), requires_grad}; }
  operator LikeOptions() const { return {dtype, device, requires_grad}; }
};
#define NEURA_OPTIONS(first)                                                                     \
  std::tuple_cat(first, std::tuple(&AllOptions::dtype, &AllOptions::layout, &AllOptions::device, \
                                   &AllOptions::pin_memory, &AllOptions::requires_grad))
#define NEURA_OPTIONS_TEXT "dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False"

struct Options : AllOptions {
  static constexpr auto kMembers = NEURA_OPTIONS(std::tuple());
  static constexpr const char* kSignature = NEURA_OPTIONS_TEXT;
};
struct OptionsLike : AllOptions {
  static constexpr auto kMembers = std::tuple_cat(Options::kMembers, std::tuple(&AllOptions::memory_format));
  static constexpr const char* kSignature = NEURA_OPTIONS_TEXT ", memory_format=None";
};
struct OptionsRandom : AllOptions {
  static constexpr auto kMembers = NEURA_OPTIONS(std::tuple(&AllOptions::generator));
  static constexpr const char* kSignature = "generator=None, " NEURA_OPTIONS_TEXT;
};
struct OptionsRandomLike : AllOptions {
  static constexpr auto kMembers = std::tuple_cat(OptionsRandom::kMembers, std::tuple(&AllOptions::memory_format));
  static constexpr const char* kSignature = "generator=None, " NEURA_OPTIONS_TEXT ", memory_format=None";
};
#undef NEURA_OPTIONS
#undef NEURA_OPTIONS_TEXT

// The same values with the dimensions in memory in this order. ShapeError where channels are to be last and the number
// of dimensions is another.
Tensor in_format(const Tensor&, MemoryFormat);
bool is_in_format(const Tensor&, MemoryFormat);
// The new tensor, in pinned memory if that is asked for.
Tensor pinned(bool pin_memory, const Tensor& made);
// What f makes of the options, in the order in memory that they ask for: a leaf all the same.
template <class F> Tensor make_like(const AllOptions& o, const F& f) {
  LikeOptions given = o;
  if (o.memory_format == MemoryFormat::preserve) return pinned(o.pin_memory, f(given));
  given.requires_grad = false;
  Tensor t = pinned(o.pin_memory, in_format(f(given), o.memory_format));
  return o.requires_grad ? t.requires_grad_() : t;
}

}  // namespace neura::surface
