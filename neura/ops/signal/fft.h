// Discrete Fourier transforms. `n` and `s`: the sizes of the signal in the transformed dimensions; the input is cut or
// filled with zeros to them. `norm`: which direction divides by the number of elements, "backward" or "forward", or
// "ortho": both by its root. Integers become the default dtype; DTypeError for float16 and bfloat16; ShapeError for a
// size below 1; IndexError for a dimension that is not there; ValueError for one that is there twice, and another norm.
#pragma once
#include <optional>
#include <string_view>

#include "neura/ops/create/create.h"

namespace neura::fft {

using Length = std::optional<std::int64_t>;
using Lengths = std::optional<Shape>;    // of the dimensions in `dim`, else of the last ones; -1 keeps the input's
using Dimensions = std::optional<Dims>;  // none: the last ones of the lengths, else all
using Norm = std::string_view;

// Complex to complex; real numbers become complex ones.
Tensor fft(const Tensor& input, Length n = {}, int dim = -1, Norm norm = "backward");
Tensor ifft(const Tensor& input, Length n = {}, int dim = -1, Norm norm = "backward");
Tensor fft2(const Tensor& input, const Lengths& s = {}, const Dims& dim = {-2, -1}, Norm norm = "backward");
Tensor ifft2(const Tensor& input, const Lengths& s = {}, const Dims& dim = {-2, -1}, Norm norm = "backward");
Tensor fftn(const Tensor& input, const Lengths& s = {}, const Dimensions& dim = {}, Norm norm = "backward");
Tensor ifftn(const Tensor& input, const Lengths& s = {}, const Dimensions& dim = {}, Norm norm = "backward");

// Real to complex: the last dimension has the n / 2 + 1 bins that determine the others. DTypeError for complex numbers.
Tensor rfft(const Tensor& input, Length n = {}, int dim = -1, Norm norm = "backward");
Tensor rfft2(const Tensor& input, const Lengths& s = {}, const Dims& dim = {-2, -1}, Norm norm = "backward");
Tensor rfftn(const Tensor& input, const Lengths& s = {}, const Dimensions& dim = {}, Norm norm = "backward");
// And back. n is 2 (bins - 1) unless given; imaginary parts of bins that are their own conjugates are not read.
Tensor irfft(const Tensor& input, Length n = {}, int dim = -1, Norm norm = "backward");
Tensor irfft2(const Tensor& input, const Lengths& s = {}, const Dims& dim = {-2, -1}, Norm norm = "backward");
Tensor irfftn(const Tensor& input, const Lengths& s = {}, const Dimensions& dim = {}, Norm norm = "backward");

// The transform of a signal that is its own mirrored conjugate, given by its first half, is real; and back.
Tensor hfft(const Tensor& input, Length n = {}, int dim = -1, Norm norm = "backward");
Tensor hfft2(const Tensor& input, const Lengths& s = {}, const Dims& dim = {-2, -1}, Norm norm = "backward");
Tensor hfftn(const Tensor& input, const Lengths& s = {}, const Dimensions& dim = {}, Norm norm = "backward");
Tensor ihfft(const Tensor& input, Length n = {}, int dim = -1, Norm norm = "backward");
Tensor ihfft2(const Tensor& input, const Lengths& s = {}, const Dims& dim = {-2, -1}, Norm norm = "backward");
Tensor ihfftn(const Tensor& input, const Lengths& s = {}, const Dimensions& dim = {}, Norm norm = "backward");

// The frequencies of the bins in cycles per unit, of samples d units apart: 0, 1, …, -2, -1 over n d; for rfft the
// first n / 2 + 1, not negative.
Tensor fftfreq(std::int64_t n, double d = 1, const TensorOptions& = {});
Tensor rfftfreq(std::int64_t n, double d = 1, const TensorOptions& = {});
#include "neura/tables/functions/declare.h"
#include "neura/tables/functions/fft.def"
#include "neura/tables/functions/end.h"

}  // namespace neura::fft
