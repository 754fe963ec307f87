// What the sources of programs share: names and texts of nodes, evaluation of one node, comparisons. Private to graph/.
#pragma once
#include <cstring>
#include <mutex>

#include "neura/core/interpreter.h"
#include "neura/core/state.h"
#include "neura/graph/program.h"
#include "neura/op/pointwise/pointwise.h"

namespace neura::graph {

struct NoRecordScope {  // nothing is recorded while it lives
  std::uint32_t before = state.active;
  NoRecordScope() { state.active |= kNoGrad; }
  NoRecordScope(const NoRecordScope&) = delete;
  ~NoRecordScope() { state.active = before; }
};

// Kernels run at once and as in eager mode, independent of the caller's modes.
struct EagerKernels {
  const std::uint32_t before = state.active;
  EagerKernels() { state.active = kNoGrad | kUnobserved; }
  EagerKernels(const EagerKernels&) = delete;
  ~EagerKernels() { state.active = before; }
};

inline bool same_layout(const Spec& a, const Spec& b) { return a.dtype == b.dtype && a.same_geometry(b); }
template <class T> std::uint64_t word_of(const T& v) {  // its bytes as a number
  static_assert(sizeof v <= 8);
  std::uint64_t word = 0;
  std::memcpy(&word, &v, sizeof v);
  return word;
}
inline bool same_number(const Scalar& a, const Scalar& b) {  // of one category, to the last bit
  return a.category() == b.category() && word_of(a.real()) == word_of(b.real()) &&
         word_of(a.imag()) == word_of(b.imag()) && (a.category() >= Category::floating || a.integer() == b.integer());
}
inline std::uint64_t mixed_hash(std::uint64_t h, std::uint64_t word) {
  h = (h ^ word) * 0xff51afd7ed558ccd;
  return h ^ h >> 32;
}
inline Tensor tensor_on(const Spec& s, Ref<Storage> storage) {
  return Tensor(Ref<TensorImpl>::adopt(TensorImpl::make(s, storage.leave())));
}

// Releases the interpreter's lock while it waits for the mutex, whose owner may need it.
inline std::unique_lock<std::recursive_mutex> lock_outside_interpreter(std::recursive_mutex& mutex) {
  std::unique_lock<std::recursive_mutex> l(mutex, std::try_to_lock);
  if (l) return l;
  const GilRelease waits(true);
  l.lock();
  return l;
}

std::string name_of(const Row&);
std::string text_of(const Node&);               // without its results
Dtypes dtypes_of(const Program&, const Node&);  // of a pointwise one
// As an operation's infer gets them: kAbsent where there is no value.
std::vector<const Spec*> operand_specs(const Program&, const Node&);
// Runs p with the numbers of optimizers' steps from a device's memory: by node, operand 0 of those that have them.
std::vector<Tensor> run(const Program&, std::span<const Tensor> inputs, std::span<const Tensor> steps);
// The results of a node that writes nothing, from the tensors of all values.
std::vector<Tensor> evaluated(const Node&, std::span<const Tensor> values);

}  // namespace neura::graph
