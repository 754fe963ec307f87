#include "neura/nn/packed_sequence.h"

#include <algorithm>
#include <numeric>

#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/shape/join.h"

namespace neura::nn::utils::rnn {
namespace {

using Numbers = std::vector<std::int64_t>;

Tensor vector_of(const Numbers& v) { return tensor(v, {.dtype = DType::int64, .device = Device()}); }
std::string text(std::int64_t n) { return std::to_string(n); }

// A vector of integers, on any device.
Numbers numbers_of(const char* op, const char* what, const Tensor& t) {
  check<ShapeError>(t && t.dim() == 1 && category(t.dtype()) == Category::integer, [&] {
    return std::string(op) + ": expected " + what + " to be a vector of integers, got " +
           (t ? t.spec().str() : std::string("none"));
  });
  return t.detach().to(Device()).to(DType::int64).to_vector<std::int64_t>();
}

Numbers inverse(const char* op, const Numbers& permutation) {
  const auto n = std::int64_t(permutation.size());
  Numbers out(permutation.size(), -1);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t p = permutation[std::size_t(i)];
    check<ValueError>(p >= 0 && p < n && out[std::size_t(p)] < 0, [&] {
      return std::string(op) + ": expected each number from 0 to " + text(n - 1) + " once, got " + text(p) +
             " at position " + text(i);
    });
    out[std::size_t(p)] = i;
  }
  return out;
}

// The row of element (time, sequence) in a padded tensor.
struct Rows {
  std::int64_t times, sequences;
  bool batch_first;
  std::int64_t at(std::int64_t time, std::int64_t sequence) const {
    return batch_first ? sequence * times + time : time * sequences + sequence;
  }
  Shape shape(const Shape& element) const {
    Shape s = batch_first ? Shape{sequences, times} : Shape{times, sequences};
    for (const std::int64_t n : element) s.push_back(n);
    return s;
  }
};
Shape element_of(const Tensor& t, int leading) {
  Shape s;
  for (int d = leading; d < t.dim(); ++d) s.push_back(t.size(d));
  return s;
}

// A padded tensor whose rows named here are those of `values`, one after the other.
Tensor padded(const Rows& all, const Tensor& values, const Numbers& rows, Scalar padding) {
  const Shape element = element_of(values, 1);
  Shape flat{all.times * all.sequences};
  for (const std::int64_t n : element) flat.push_back(n);
  const Tensor empty = full(flat, padding, {.dtype = values.dtype(), .device = values.device()});
  return index_copy(empty, 0, vector_of(rows).to(values.device()), values).reshape(all.shape(element));
}

void check_lengths(const Tensor& input, const Numbers& lengths, std::int64_t sequences, std::int64_t times) {
  check<ShapeError>(std::int64_t(lengths.size()) == sequences && sequences > 0, [&] {
    return "pack_padded_sequence: expected one length for each of the sequences of " + input.spec().str() +
           ", at least one, got " + text(std::int64_t(lengths.size()));
  });
  for (const std::int64_t n : lengths)
    check<ValueError>(n > 0 && n <= times, [&] {
      return "pack_padded_sequence: expected lengths from 1 to " + text(times) + ", got " + text(n);
    });
}

// How many sequences have an element at each time: descending.
Numbers checked_sizes(const PackedSequence& s) {
  Numbers sizes = numbers_of("pad_packed_sequence", "batch_sizes", s.batch_sizes);
  check<ShapeError>(s.data && s.data.dim() > 0 && !sizes.empty() &&
                        std::accumulate(sizes.begin(), sizes.end(), std::int64_t(0)) == s.data.size(0),
                    [&] {
                      return "pad_packed_sequence: expected batch_sizes that sum to the size of data, got " +
                             s.batch_sizes.str() + " and " + (s.data ? s.data.spec().str() : std::string("none"));
                    });
  check<ValueError>(sizes.back() > 0 && std::is_sorted(sizes.rbegin(), sizes.rend()), [&] {
    return "pad_packed_sequence: expected batch_sizes that are positive and never rise, got " + s.batch_sizes.str();
  });
  return sizes;
}

}  // namespace

Tensor invert_permutation(const Tensor& permutation) {
  const char* op = "invert_permutation";
  return vector_of(inverse(op, numbers_of(op, "a permutation", permutation))).to(permutation.device());
}

Tensor pad_sequence(const std::vector<Tensor>& sequences, bool batch_first, Scalar padding_value,
                    std::string_view padding_side) {
  check<ValueError>(!sequences.empty(),
                    [] { return std::string("pad_sequence: expected at least one sequence, got none"); });
  check<ValueError>(padding_side == "right" || padding_side == "left", [&] {
    return "pad_sequence: expected padding_side \"right\" or \"left\", got \"" + std::string(padding_side) + '"';
  });
  const Tensor& first = sequences[0];
  Rows all{0, std::int64_t(sequences.size()), batch_first};
  for (const Tensor& s : sequences) {
    check<ShapeError>(s.dim() > 0 && s.dim() == first.dim() && element_of(s, 1) == element_of(first, 1), [&] {
      return "pad_sequence: expected sequences that differ in their first size alone, got " + first.spec().str() +
             " and " + s.spec().str();
    });
    all.times = std::max(all.times, s.size(0));
  }
  std::vector<Tensor> parts;
  Numbers rows;
  for (std::int64_t i = 0; i < all.sequences; ++i) {
    const Tensor& s = sequences[std::size_t(i)];
    parts.push_back(s.to(first.dtype()));
    const std::int64_t begin = padding_side == "left" ? all.times - s.size(0) : 0;
    for (std::int64_t time = 0; time < s.size(0); ++time) rows.push_back(all.at(begin + time, i));
  }
  return padded(all, cat(parts), rows, padding_value);
}

std::vector<Tensor> unpad_sequence(const Tensor& padded, const Tensor& lengths, bool batch_first) {
  check<ShapeError>(padded.dim() > 1, [&] {
    return "unpad_sequence: expected a padded tensor of at least two dimensions, got " + padded.spec().str();
  });
  const Numbers n = numbers_of("unpad_sequence", "lengths", lengths);
  const Tensor rows = batch_first ? padded : padded.transpose(0, 1);
  check<ShapeError>(std::int64_t(n.size()) == rows.size(0), [&] {
    return "unpad_sequence: expected " + text(rows.size(0)) + " lengths, got " + text(std::int64_t(n.size()));
  });
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < n.size(); ++i)
    out.push_back(rows[std::int64_t(i)].slice(0, 0, std::max<std::int64_t>(n[i], 0)).clone());
  return out;
}

PackedSequence pack_padded_sequence(const Tensor& input, const Tensor& lengths, bool batch_first, bool enforce_sorted) {
  check<ShapeError>(input.dim() > 1, [&] {
    return "pack_padded_sequence: expected an input of at least two dimensions, got " + input.spec().str();
  });
  Numbers n = numbers_of("pack_padded_sequence", "lengths", lengths);
  const Rows all{input.size(batch_first ? 1 : 0), input.size(batch_first ? 0 : 1), batch_first};
  check_lengths(input, n, all.sequences, all.times);
  Numbers order(n.size());
  std::iota(order.begin(), order.end(), 0);
  PackedSequence packed;
  if (enforce_sorted) {
    check<ValueError>(std::is_sorted(n.rbegin(), n.rend()), [&] {
      return "pack_padded_sequence: expected lengths in descending order, got " + lengths.str() +
             "; set enforce_sorted to false to have them sorted";
    });
  } else {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return n[std::size_t(a)] > n[std::size_t(b)]; });
    packed.sorted_indices = vector_of(order).to(input.device());
    packed.unsorted_indices = vector_of(inverse("pack_padded_sequence", order)).to(input.device());
  }
  Numbers rows, sizes;
  for (std::int64_t time = 0, left = all.sequences; time < all.times; ++time) {
    while (left > 0 && n[std::size_t(order[std::size_t(left - 1)])] <= time) --left;
    if (!left) break;
    sizes.push_back(left);
    for (std::int64_t i = 0; i < left; ++i) rows.push_back(all.at(time, order[std::size_t(i)]));
  }
  packed.data = index_select(input.flatten(0, 1), 0, vector_of(rows).to(input.device()));
  packed.batch_sizes = vector_of(sizes);
  return packed;
}

std::pair<Tensor, Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first, Scalar padding_value,
                                              std::optional<std::int64_t> total_length) {
  const Numbers sizes = checked_sizes(sequence);
  const auto longest = std::int64_t(sizes.size());
  check<ValueError>(total_length.value_or(longest) >= longest, [&] {
    return "pad_packed_sequence: expected total_length to be at least " + text(longest) + ", the longest, got " +
           text(*total_length);
  });
  const Rows all{total_length.value_or(longest), sizes[0], batch_first};
  Numbers place(static_cast<std::size_t>(sizes[0]));  // of each sequence, from the longest to the shortest
  std::iota(place.begin(), place.end(), 0);
  if (sequence.unsorted_indices) {
    const Numbers back = numbers_of("pad_packed_sequence", "unsorted_indices", sequence.unsorted_indices);
    check<ShapeError>(back.size() == place.size(), [&] {
      return "pad_packed_sequence: expected " + text(sizes[0]) + " unsorted_indices, got " +
             text(std::int64_t(back.size()));
    });
    place = inverse("pad_packed_sequence", back);
  }
  Numbers rows, lengths(place.size());
  for (std::int64_t time = 0; time < longest; ++time)
    for (std::int64_t i = 0; i < sizes[std::size_t(time)]; ++i) {
      const std::int64_t p = place[std::size_t(i)];
      rows.push_back(all.at(time, p));
      ++lengths[std::size_t(p)];
    }
  return {padded(all, sequence.data, rows, padding_value), vector_of(lengths)};
}

PackedSequence pack_sequence(const std::vector<Tensor>& sequences, bool enforce_sorted) {
  const Tensor input = pad_sequence(sequences);
  Numbers lengths;
  for (const Tensor& s : sequences) lengths.push_back(s.size(0));
  return pack_padded_sequence(input, vector_of(lengths), false, enforce_sorted);
}

std::vector<Tensor> unpack_sequence(const PackedSequence& sequence) {
  const auto [input, lengths] = pad_packed_sequence(sequence, true);
  return unpad_sequence(input, lengths, true);
}

}  // namespace neura::nn::utils::rnn
