// Rearranged copies: repetitions, flips, triangles, padding; and compositions of views.
#pragma once
#include <string_view>
#include <vector>

#include "neura/core/tensor.h"

namespace neura {

Tensor repeat(const Tensor& input, const Shape& repeats);  // at least as many repeats as dimensions
Tensor tile(const Tensor& input, const Shape& dims);       // missing ones in front are 1
// Each element (of the flattened input without `dim`) so many times. A tensor of repeats has one number per slice, or
// one.
Tensor repeat_interleave(const Tensor& input, std::int64_t repeats, std::optional<int> dim = {});
Tensor repeat_interleave(const Tensor& input, const Tensor& repeats, std::optional<int> dim = {});
Tensor repeat_interleave(const Tensor& repeats);  // position i repeats[i] times, int64

Tensor flip(const Tensor& input, const Dims& dims);
Tensor fliplr(const Tensor& input);
Tensor flipud(const Tensor& input);
// Elements that leave at one end come back at the other; of the flattened input without dims.
Tensor roll(const Tensor& input, const Shape& shifts, const Dims& dims = {});
Tensor rot90(const Tensor& input, std::int64_t k = 1, const Dims& dims = {0, 1});

Tensor tril(const Tensor& input, std::int64_t diagonal = 0);  // [..., rows, columns]; the rest is 0
Tensor triu(const Tensor& input, std::int64_t diagonal = 0);
Tensor& tril_(Tensor& self, std::int64_t diagonal = 0);
Tensor& triu_(Tensor& self, std::int64_t diagonal = 0);
// Writes the main diagonal: where all indices are equal. wrap: in a matrix with more rows than columns it begins anew
// below a row that is left out. ShapeError below two dimensions, and where more than two differ in size.
Tensor& fill_diagonal_(Tensor& self, Scalar fill_value, bool wrap = false);
Tensor diag(const Tensor& input, std::int64_t diagonal = 0);  // a vector becomes a matrix, a matrix its diagonal
Tensor diag_embed(const Tensor& input, std::int64_t offset = 0, int dim1 = -2, int dim2 = -1);
Tensor diagflat(const Tensor& input, std::int64_t offset = 0);
Tensor kron(const Tensor& input, const Tensor& other);

// `input` with `src` written into what the view of the same name shows.
Tensor select_scatter(const Tensor& input, const Tensor& src, int dim, std::int64_t index);
Tensor slice_scatter(const Tensor& input, const Tensor& src, int dim = 0, std::optional<std::int64_t> start = {},
                     std::optional<std::int64_t> end = {}, std::int64_t step = 1);
Tensor diagonal_scatter(const Tensor& input, const Tensor& src, std::int64_t offset = 0, int dim1 = 0, int dim2 = 1);
Tensor as_strided_scatter(const Tensor& input, const Tensor& src, const Shape& size, const Shape& stride,
                          std::int64_t storage_offset = 0);

// `pad`: (before, after) of the last dimension, then of the one before, …; negative numbers cut off. mode "constant"
// (any dimensions), "reflect", "replicate" or "circular" (the last one to three dimensions of 2 to 5).
Tensor pad(const Tensor& input, const std::vector<std::int64_t>& pad, std::string_view mode = "constant",
           Scalar value = 0.0);
Tensor constant_pad_nd(const Tensor& input, const std::vector<std::int64_t>& pad, Scalar value = 0);

Tensor pixel_shuffle(const Tensor& input, std::int64_t upscale_factor);      // [..., C*r*r, H, W] -> [..., C, H*r, W*r]
Tensor pixel_unshuffle(const Tensor& input, std::int64_t downscale_factor);  // and back
Tensor channel_shuffle(const Tensor& input, std::int64_t groups);            // [N, C, ...]

// Views and compositions of views.
Tensor swapaxes(const Tensor& input, int axis0, int axis1);  // transpose
Tensor swapdims(const Tensor& input, int dim0, int dim1);
Tensor moveaxis(const Tensor& input, const Dims& source, const Dims& destination);  // movedim
Tensor broadcast_to(const Tensor& input, const Shape& size);
Tensor expand_as(const Tensor& input, const Tensor& other);
Tensor view_as(const Tensor& input, const Tensor& other);
Tensor reshape_as(const Tensor& input, const Tensor& other);
Tensor ravel(const Tensor& input);
Tensor atleast_1d(const Tensor& input);
Tensor atleast_2d(const Tensor& input);
Tensor atleast_3d(const Tensor& input);

}  // namespace neura
