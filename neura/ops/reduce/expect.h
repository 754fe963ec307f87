// Checks of values. On the cpu a broken rule throws at once. On a device the host does not wait for the answer: the
// next call that waits throws it, as for an index out of range.
#pragma once
#include "neura/core/tensor.h"

namespace neura {

enum class Rule : std::uint8_t {  // each with its sentence, in expect.cpp
  divisors,
  unit_inputs,
  variances,
  probabilities,
  rates,
  deviations,
  weights,
  enough_weights,
  quantiles,
  observation_weights,
  weight_sum,
  windows,
  phase,
  lengths,
  offsets,
  pieces,
  samples,
  bytes,
  fillers,
  zero_points,
  coordinates,
};

// `holds`: of any size, bool. ValueError with the rule's sentence where an element is false.
void expect(Rule, const Tensor& holds);
// True if the host checks the values itself, which gives better messages: on the cpu, unless a program is traced, which
// is one for all devices.
bool host_looks(const Tensor&);

class Context;
// What a kernel reported to `told`, whose name is another than the call's: to the call.
void hand_on(Context& call, const Context& told);

}  // namespace neura
