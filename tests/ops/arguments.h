// For the tests of network operations: arguments of stored cases as C++ values, and every instruction set.
#pragma once
#include <optional>
#include <string>

#include "neura/backend/cpu/instruction_sets.h"
#include "neura/core/reduction.h"
#include "neura/ops/loss/loss.h"
#include "tests/support/conformance.h"

namespace neura::test {

struct Arguments {
  const ConformanceCase& c;
  const Value& at(int i, const char* name) const { return c.argument(i, name); }
  Tensor tensor(int i, const char* name) const { return at(i, name).data; }
  double number(int i, const char* name, double otherwise) const {
    return at(i, name) ? at(i, name).scalar.real() : otherwise;
  }
  std::optional<double> maybe(int i, const char* name) const {
    return at(i, name) ? std::optional(at(i, name).scalar.real()) : std::nullopt;
  }
  bool flag(int i, const char* name, bool otherwise) const { return number(i, name, otherwise) != 0; }
  int integer(int i, const char* name, int otherwise) const { return int(number(i, name, otherwise)); }
  std::optional<DType> dtype(int i, const char* name) const {
    return at(i, name) ? std::optional(at(i, name).type) : std::nullopt;
  }
  Shape shape(int i, const char* name) const {
    Shape s;
    for (const Value& v : at(i, name).items) s.push_back(v.scalar.integer());
    return s;
  }
  Reduction reduction() const {
    const Value& v = c.kwarg("reduction");
    return v ? to_reduction(v.word) : Reduction::mean;
  }
};
// An operation of one result that reads its arguments itself.
inline CaseFunction one(Tensor (*f)(const Tensor& x, const Arguments& a)) {
  return [f](const ConformanceCase& c) -> std::vector<Tensor> { return {f(c.input.data, Arguments{c})}; };
}

// f with the kernels of each instruction set that this machine has.
template <class F> void on_every_target(const F& f) {
  for (int i = cpu_targets(); i-- > 0;) {
    SCOPED_TRACE(use_cpu_target(i));
    f();
  }
  use_cpu_target(-1);
}

}  // namespace neura::test
