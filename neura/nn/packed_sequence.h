// Sequences of different lengths in one tensor: padded to the longest, or packed, time step after time step.
#pragma once
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "neura/core/tensor.h"

namespace neura::nn::utils::rnn {

// data: [sum of lengths, ...], the elements of time 0 of all sequences from the longest to the shortest, then those of
// time 1, and so on. batch_sizes: int64 on the cpu, how many sequences have an element at each time.
struct PackedSequence {
  Tensor data, batch_sizes;
  Tensor sorted_indices, unsorted_indices;  // order by length, and back; undefined: the same
};

Tensor invert_permutation(const Tensor& permutation);  // int64 vector; ValueError if it is no permutation

// Tensors [length, ...], which differ in length only -> [longest, count, ...], or [count, longest, ...] with
// batch_first. The dtype is that of the first. padding_side: "right" or "left".
Tensor pad_sequence(const std::vector<Tensor>& sequences, bool batch_first = false, Scalar padding_value = 0.0,
                    std::string_view padding_side = "right");
// The first lengths[i] elements of each sequence, copied. lengths: integers, one for each sequence.
std::vector<Tensor> unpad_sequence(const Tensor& padded, const Tensor& lengths, bool batch_first = false);

// input: [longest, count, ...], or [count, longest, ...] with batch_first. lengths: an int64 vector on the cpu, from 1
// to the size of the input; in descending order if enforce_sorted, else sorted here. ShapeError, ValueError.
PackedSequence pack_padded_sequence(const Tensor& input, const Tensor& lengths, bool batch_first = false,
                                    bool enforce_sorted = true);
// The padded tensor, in the order that was packed, and the lengths. total_length: at least the longest; ValueError.
std::pair<Tensor, Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first = false,
                                              Scalar padding_value = 0.0,
                                              std::optional<std::int64_t> total_length = {});

PackedSequence pack_sequence(const std::vector<Tensor>& sequences, bool enforce_sorted = true);  // of [length, ...]
std::vector<Tensor> unpack_sequence(const PackedSequence& sequence);  // and back, in the order that was packed

}  // namespace neura::nn::utils::rnn
