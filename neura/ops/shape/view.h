// Views: other sizes and strides over the same bytes. All views of a storage see a write; gradients flow to the base.
// Those that Python calls alike: functions.h.
#pragma once
#include <vector>

#include "neura/ops/shape/functions.h"

namespace neura {

// Sizes over the same elements in order; one may be -1. ShapeError where the strides do not allow it: use reshape.
Tensor view(const Tensor& input, const Shape& shape);
// The same, of a copy where no view is possible. `strict`: never copies, throws instead.
Tensor reshape(const Tensor& input, const Shape& shape, bool strict = false);
Tensor transpose(const Tensor& input, int dim0, int dim1);
Tensor mT(const Tensor& input);  // the last two
Tensor permute(const Tensor& input, const Dims& dims);
Tensor squeeze(const Tensor& input, const Dims& dim = {});  // all of size 1, or those named that have it
// Elements start, start + step, … below end; bounds are clamped and may count from the back, step is positive.
Tensor slice(const Tensor& input, int dim, std::int64_t start, std::int64_t end = INT64_MAX, std::int64_t step = 1);
Tensor narrow(const Tensor& input, int dim, std::int64_t start, std::int64_t length);
Tensor unfold(const Tensor& input, int dimension, std::int64_t size, std::int64_t step);

// Several views of one call: none of them may be written in place while recording.
std::vector<Tensor> split(const Tensor& input, std::int64_t split_size, int dim = 0);
std::vector<Tensor> split(const Tensor& input, const std::vector<std::int64_t>& sizes, int dim = 0);

// Strides with which `shape` (no -1) shows x's elements in order, or nothing where a copy is needed.
std::optional<Shape> view_strides(const Spec& x, const Shape& shape);
// Sizes with the -1 worked out. ShapeError where the elements do not fit.
Shape infer_size(const char* op, const Shape& shape, std::int64_t numel);

}  // namespace neura
