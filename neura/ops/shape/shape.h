// Rearranged copies: repetitions, flips, triangles, padding; and compositions of views. Those that Python calls alike:
// functions.h.
#pragma once
#include <string_view>
#include <vector>

#include "neura/ops/nn/functions.h"
#include "neura/ops/shape/functions.h"

namespace neura {

// Each element (of the flattened input without `dim`) so many times. A tensor of repeats has one number per slice, or
// one.
Tensor repeat_interleave(const Tensor& input, std::int64_t repeats, std::optional<int> dim = {});
Tensor repeat_interleave(const Tensor& input, const Tensor& repeats, std::optional<int> dim = {});
Tensor repeat_interleave(const Tensor& repeats);  // position i repeats[i] times, int64

Tensor flip(const Tensor& input, const Dims& dims);
Tensor& tril_(Tensor& self, std::int64_t diagonal = 0);
Tensor& triu_(Tensor& self, std::int64_t diagonal = 0);
// Writes the main diagonal: where all indices are equal. wrap: in a matrix with more rows than columns it begins again
// below a row that is left out. ShapeError below two dimensions, and where more than two differ in size.
Tensor& fill_diagonal_(Tensor& self, Scalar fill_value, bool wrap = false);

// `input` with `src` written into what as_strided shows.
Tensor as_strided_scatter(const Tensor& input, const Tensor& src, const Shape& size, const Shape& stride,
                          std::int64_t storage_offset = 0);

// `pad`: (before, after) of the last dimension, then of the one before, …; negative numbers cut off. mode "constant"
// (any dimensions), "reflect", "replicate" or "circular" (the last one to three dimensions of 2 to 5).
Tensor pad(const Tensor& input, const std::vector<std::int64_t>& pad, std::string_view mode = "constant",
           Scalar value = 0.0);

// Views and compositions of views.
Tensor swapdims(const Tensor& input, int dim0, int dim1);
Tensor moveaxis(const Tensor& input, const Dims& source, const Dims& destination);  // movedim
Tensor atleast_1d(const Tensor& input);
Tensor atleast_2d(const Tensor& input);
Tensor atleast_3d(const Tensor& input);

}  // namespace neura
