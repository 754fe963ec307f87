// What clip_grad_norm_ multiplies by; NaN stays NaN. Included like optim.h, which says what N has.
template <class N> NEURA_RULE N clip_factor(N norm, N max_norm) {
  const N f = max_norm / (norm + N(1e-6));
  return if_greater(f, N(1), N(1), f);
}
