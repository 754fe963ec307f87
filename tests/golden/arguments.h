// Stored arguments as C++ values, for the lists of creation, views and indexing.
#pragma once
#include <map>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "tests/support/conformance.h"

namespace neura::stored {

using test::CaseFunction;
using test::ConformanceCase;
using test::Value;
using Tensors = std::vector<Tensor>;
using Integers = std::vector<std::int64_t>;

[[noreturn]] inline void not_in_cpp() { throw NotImplementedError("this test: C++'s types rule this call out"); }

inline const Tensor& T(const Value& v) {
  if (v.kind != Value::tensor) not_in_cpp();
  return v.data;
}
inline std::int64_t I(const Value& v, std::int64_t fallback) {
  if (!v) return fallback;
  if (v.kind == Value::tensor && v.data.dtype() != boolean) return v.data.item<std::int64_t>();
  if (!v.is_number() || v.kind >= Value::real) not_in_cpp();
  return v.scalar.integer();
}
inline std::int64_t I(const Value& v) { return v ? I(v, 0) : throw ValueError("this test: an argument is missing"); }
inline Scalar S(const Value& v) {
  if (v.kind == Value::tensor) return v.data.item();
  if (!v.is_number()) not_in_cpp();
  return v.scalar;
}
inline std::string W(const Value& v, const char* fallback) { return v.kind == Value::text ? v.word : fallback; }
inline bool B(const Value& v, bool fallback) { return v ? I(v, fallback) != 0 : fallback; }
inline Integers L(const Value& v) {  // a number or a list of them
  Integers out;
  if (v.kind == Value::list || v.kind == Value::tuple)
    for (const Value& i : v.items) out.push_back(I(i));
  else if (v.kind == Value::tensor) out = v.data.to(int64).to_vector<std::int64_t>();
  else if (v) out.push_back(I(v));
  return out;
}
inline Shape H(const Value& v) { return Shape(std::span<const std::int64_t>(L(v))); }
inline std::optional<int> D(const Value& v) { return v ? std::optional<int>(int(I(v))) : std::nullopt; }
inline std::optional<std::int64_t> O(const Value& v) { return v ? std::optional<std::int64_t>(I(v)) : std::nullopt; }
inline Tensors TL(const Value& v) {
  if (v.kind == Value::tensor) return {v.data};
  Tensors out;
  for (const Value& i : v.items) out.push_back(T(i));
  return out;
}
inline Tensors all(const ConformanceCase& c) {  // tensors as separate arguments
  Tensors out = TL(c.input);
  for (const Value& v : c.args)
    for (const Tensor& t : TL(v)) out.push_back(t);
  return out;
}
// A further argument by position.
inline const Value& A(const ConformanceCase& c, std::size_t i) {
  if (i >= c.args.size()) not_in_cpp();
  return c.args[i];
}
// The shape that further arguments spell, as a tuple or one by one.
inline Integers spelled(const ConformanceCase& c, const char* name) {
  if (c.kwarg(name)) return L(c.kwarg(name));
  if (c.args.size() == 1) return L(c.args[0]);
  Integers out;
  for (const Value& v : c.args) out.push_back(I(v));
  return out;
}
inline void no_out(const ConformanceCase& c) {
  if (c.kwarg("out")) not_in_cpp();
}

inline TensorOptions options(const ConformanceCase& c) {
  TensorOptions o;
  if (c.kwarg("dtype").kind == Value::dtype) o.dtype = c.kwarg("dtype").type;
  o.requires_grad = B(c.kwarg("requires_grad"), false);
  return o;
}
inline LikeOptions like(const ConformanceCase& c) {
  const TensorOptions o = options(c);
  return {.dtype = o.dtype, .requires_grad = o.requires_grad};
}

inline Index bracket(const Value& v) {
  switch (v.kind) {
    case Value::none:
      return None;
    case Value::ellipsis:
      return Ellipsis;
    case Value::integer:
      return v.scalar.integer();
    case Value::boolean:
      return bool(v.scalar.integer());
    case Value::slice:
      return Slice(O(v.items[0]), O(v.items[1]), I(v.items[2], 1));
    case Value::tensor:
      return v.data;
    case Value::list: {
      if (!v.items.empty() && v.items[0].kind == Value::boolean) {
        std::vector<bool> mask;
        for (const Value& i : v.items) mask.push_back(i.scalar.integer() != 0);
        return tensor(mask);
      }
      return tensor(L(v));
    }
    default:
      not_in_cpp();
  }
}
inline std::vector<Index> brackets(const Value& v) {
  std::vector<Index> out;
  if (v.kind != Value::tuple) return {bracket(v)};
  for (const Value& i : v.items) out.push_back(bracket(i));
  return out;
}

template <class F> CaseFunction one(F f) {
  return [f](const ConformanceCase& c) {
    no_out(c);
    return Tensors{f(c)};
  };
}
template <class F> CaseFunction many(F f) {
  return [f](const ConformanceCase& c) {
    no_out(c);
    return Tensors(f(c));
  };
}
// Values that nobody defines: shape and dtype are judged.
template <class F> CaseFunction any_values(F f) {
  return one([f](const ConformanceCase& c) -> Tensor {
    Tensor got = f(c);
    const Tensor& want = c.output.data;
    if (!want || got.shape() != want.shape() || got.dtype() != want.dtype()) return got;
    return got.requires_grad() ? got * 0 + want : want;
  });
}
using C = const ConformanceCase&;

// Judges all of them under one name; a file without stored answers is a mistake.
inline void judge_all(const std::string& list, const std::map<std::string, CaseFunction>& calls) {
  const std::vector<std::string> names = test::conformance_names();
  std::vector<std::pair<std::string, CaseFunction>> files;
  for (auto& [name, call] : calls)
    if (std::find(names.begin(), names.end(), name) != names.end()) files.emplace_back(name, call);
    else ADD_FAILURE() << "no stored answers for " << name;
  test::expect_conformance(list, files);
}

}  // namespace neura::stored
