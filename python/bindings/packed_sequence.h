// A packed sequence crosses to Python and back as its four tensors.
#pragma once
#include "common.h"
#include "neura/nn/packed_sequence.h"

namespace neura::python {

using PackedSequence = nn::utils::rnn::PackedSequence;
using MaybeTensor = std::optional<Tensor>;

#define NEURA_PACKED_FIELDS "data"_a, "batch_sizes"_a, "sorted_indices"_a.none(), "unsorted_indices"_a.none()
inline nb::tuple fields_of(const PackedSequence& s) {
  return tuple_of(std::vector<Tensor>{s.data, s.batch_sizes, s.sorted_indices, s.unsorted_indices});
}
inline PackedSequence packed_of(const Tensor& data, const Tensor& sizes, const MaybeTensor& sorted,
                                const MaybeTensor& unsorted) {
  return {data, sizes, sorted.value_or(Tensor()), unsorted.value_or(Tensor())};
}

}  // namespace neura::python
