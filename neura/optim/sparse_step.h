// Steps with sparse gradients, for the optimizers that take them: only the rows that a gradient stores are touched.
// `apply` refuses the step of any other optimizer.
#pragma once
#include "neura/optim/rules.h"
#include "neura/sparse/sparse.h"

namespace neura::optim::detail {

void check_no_decay(const char* optimizer, double weight_decay);  // NotImplementedError
// param += by * change, where change is stored.
void move_sparsely(const Tensor& param, const Tensor& change, double by);
// Adagrad: the gradient over the root of the sum of its squares so far, which is updated.
Tensor adagrad_change(const Tensor& gradient, Tensor sum, double eps);
// momentum * buffer + fresh * gradient; just the gradient if there is no buffer yet.
Tensor sparse_buffer(const Tensor& buffer, const Tensor& gradient, double momentum, double fresh);
Tensor sparse_sum(const Tensor& gradient, const Tensor& buffer, double momentum);

template <class S, class O> void sparse_step(const Tensor& p, const Tensor& g, S& state, const O& o) {
  step_of(p, g, state, o);
}
template <class S> void sparse_step(const Tensor& p, const Tensor& g, S& state, const SGDOptions& o) {
  check_no_decay("SGD", o.weight_decay);
  Tensor change = g;
  const double sign = sign_of(o.maximize);
  if (o.momentum != 0) {
    const Tensor buffer = sparse_buffer(state.saved("momentum_buffer"), g, o.momentum, 1 - o.dampening);
    state.put("momentum_buffer", buffer);
    change = o.nesterov ? sparse_sum(g, buffer, o.momentum) : buffer;
  }
  move_sparsely(p, change, -o.lr * sign);
}
template <class S> void sparse_step(const Tensor& p, const Tensor& g, S& state, const AdagradOptions& o) {
  check_no_decay("Adagrad", o.weight_decay);
  const double t = count(state);
  const Tensor change = adagrad_change(g, state.tensor("sum", p, o.initial_accumulator_value), o.eps);
  move_sparsely(p, change, -o.lr / (1 + (t - 1) * o.lr_decay) * sign_of(o.maximize));
}
// A step of either kind of gradient.
template <class S, class O> void any_step(const Tensor& p, const Tensor& g, S& state, const O& o) {
  if (is_sparse(g)) [[unlikely]]
    sparse_step(p, g, state, o);
  else step_of(p, g, state, o);
}

}  // namespace neura::optim::detail
