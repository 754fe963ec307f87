// neura.nn.utils.rnn: what its Python functions call. A packed sequence crosses as its four tensors.
#include "packed_sequence.h"

namespace neura::python {
namespace {

namespace rnn = nn::utils::rnn;
using Tensors = std::vector<Tensor>;

}  // namespace

void bind_packed(const Names& utils) {
  utils.function("_invert_permutation", &rnn::invert_permutation);
  utils.function("_pad_sequence", [](const Tensors& s, bool batch_first, Scalar value, const std::string& side) {
    return rnn::pad_sequence(s, batch_first, value, side);
  });
  utils.function("_unpad_sequence", [](const Tensor& padded, const Tensor& lengths, bool batch_first) {
    return tuple_of(rnn::unpad_sequence(padded, lengths, batch_first));
  });
  utils.function("_pack_padded_sequence",
                 [](const Tensor& input, const Tensor& lengths, bool batch_first, bool enforce_sorted) {
                   return fields_of(rnn::pack_padded_sequence(input, lengths, batch_first, enforce_sorted));
                 });
  utils.function(
      "_pad_packed_sequence",
      [](const Tensor& data, const Tensor& sizes, const MaybeTensor& sorted, const MaybeTensor& unsorted,
         bool batch_first, Scalar value, std::optional<std::int64_t> total) {
        const auto [padded, lengths] =
            rnn::pad_packed_sequence(packed_of(data, sizes, sorted, unsorted), batch_first, value, total);
        return nb::make_tuple(nb::steal(wrap(padded)), nb::steal(wrap(lengths)));
      },
      NEURA_PACKED_FIELDS, "batch_first"_a, "padding_value"_a, "total_length"_a.none());
  utils.function("_pack_sequence", [](const Tensors& s, bool enforce_sorted) {
    return fields_of(rnn::pack_sequence(s, enforce_sorted));
  });
  utils.function(
      "_unpack_sequence",
      [](const Tensor& data, const Tensor& sizes, const MaybeTensor& sorted, const MaybeTensor& unsorted) {
        return tuple_of(rnn::unpack_sequence(packed_of(data, sizes, sorted, unsorted)));
      },
      NEURA_PACKED_FIELDS);
}

}  // namespace neura::python
