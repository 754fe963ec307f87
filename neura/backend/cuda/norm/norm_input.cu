// The input's gradient of layer_norm, rms_norm and group_norm.
#include "neura/backend/cuda/norm/norm.cuh"

namespace neura::cuda {

Failed norm_input_gradient(DType d, RowPlan r, const Affine& a, const NormStatistics& s, bool centred, int index,
                           cudaStream_t stream) {
  return with_floating(d, [&]<class M>() {
    using E = number_of<M>;
    const NormGradientOp<E> op{
        a, static_cast<const E*>(s.mean), static_cast<const E*>(s.second), E(s.eps), centred, s.variance};
    return run_rows<NormGradientOp<E>, M>(op, r, allows_packs(a, 16 / sizeof(M)), index, stream);
  });
}

}  // namespace neura::cuda
