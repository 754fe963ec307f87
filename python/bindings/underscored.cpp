// Pieces of a dimension, functions of matrices, and the names that PyTorch's own code generators call.
#include "out.h"

#include <nanobind/stl/array.h>

#include "neura/ops/matrix.h"
#include "neura/ops/segment.h"
#include "neura/ops/softmax.h"
#include "neura/ops/underscored.h"

namespace neura::python {

void bind_underscored(const Names&);

namespace {

using T = const Tensor&;
using D = std::optional<DType>;

void bind_pieces(const Names& n) {
  for (const char* name : {"segment_reduce", "_segment_reduce"})
    n.function(
        name,
        [](T data, const std::string& reduce, T lengths, T indices, T offsets, int axis, bool unsafe,
           std::optional<double> initial) {
          check<NotImplementedError>(!indices, [] {
            return std::string("segment_reduce: expected indices to be None; give lengths or offsets");
          });
          return segment_reduce(data, reduce, {lengths, offsets, axis, unsafe, initial});
        },
        "data"_a, "reduce"_a, nb::kw_only(), "lengths"_a = nb::none(), "indices"_a = nb::none(),
        "offsets"_a = nb::none(), "axis"_a = 0, "unsafe"_a = false, "initial"_a = nb::none());
}

void bind_matrices(const Names& n) {
  n.function(
      "_matrix_norm",
      [](T x, std::optional<double> ord, const Dims& dim, bool keepdim, D d, nb::handle out) {
        return into(out, matrix_norm(x, {ord, dim, keepdim, d}), "matrix_norm");
      },
      "A"_a, "ord"_a.none(), "dim"_a, "keepdim"_a, "dtype"_a.none(), "out"_a.none());
}

}  // namespace

void bind_underscored(const Names& n) {
  bind_pieces(n);
  bind_matrices(n);
  n.function("_chunk_cat", &_chunk_cat, "tensors"_a, "dim"_a, "num_chunks"_a);
  n.function("_unsafe_masked_index", &_unsafe_masked_index, "input"_a, "mask"_a, "indices"_a, "fill"_a);
  n.function("_unsafe_masked_index_put_accumulate", &_unsafe_masked_index_put_accumulate, "input"_a, "mask"_a,
             "indices"_a, "values"_a);
  n.function("_softmax_backward_data", &_softmax_backward_data, "grad_output"_a, "output"_a, "dim"_a, "input_dtype"_a);
  n.function("_safe_softmax", &_safe_softmax, "input"_a, "dim"_a, "dtype"_a = nb::none());
  n.function("_native_batch_norm_legit", &native_batch_norm, "input"_a, "weight"_a.none(), "bias"_a.none(),
             "running_mean"_a.none(), "running_var"_a.none(), "training"_a, "momentum"_a, "eps"_a);
  n.function(
      "_native_batch_norm_legit",
      [](T x, T weight, T bias, bool training, double momentum, double eps) {
        return native_batch_norm(x, weight, bias, {}, {}, training, momentum, eps);
      },
      "input"_a, "weight"_a.none(), "bias"_a.none(), "training"_a, "momentum"_a, "eps"_a);
}

}  // namespace neura::python
