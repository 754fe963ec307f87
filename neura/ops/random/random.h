// Random tensors. Every call takes one offset of its generator's stream, and element i of the call depends on (seed,
// offset, i) alone: the same numbers on any number of threads.
#pragma once
#include "neura/core/random.h"
#include "neura/ops/create/create.h"

namespace neura {

struct RandomOptions {
  Generator* generator = nullptr;  // else the default one
  std::optional<DType> dtype = {};
  Device device = default_device();
  bool requires_grad = false;
};

#include "neura/tables/functions/declare.h"
#include "neura/tables/functions/random.def"
#include "neura/tables/functions/end.h"

Tensor rand(const Shape& size,
            const RandomOptions& = {});  // uniform in [0, 1); of the default dtype where none is given
Tensor randn(const Shape& size, const RandomOptions& = {});  // standard normal
// Integers in [low, high); int64 where no dtype is given. ValueError if the interval is empty.
Tensor randint(std::int64_t high, const Shape& size, const RandomOptions& = {});
Tensor randint(std::int64_t low, std::int64_t high, const Shape& size, const RandomOptions& = {});
Tensor randperm(std::int64_t n, const RandomOptions& = {});  // 0 … n - 1 in random order, int64 where none is given

Tensor rand_like(const Tensor& input, const LikeOptions& = {}, Generator* = nullptr);
Tensor randn_like(const Tensor& input, const LikeOptions& = {}, Generator* = nullptr);
Tensor randint_like(const Tensor& input, std::int64_t high, const LikeOptions& = {}, Generator* = nullptr);
Tensor randint_like(const Tensor& input, std::int64_t low, std::int64_t high, const LikeOptions& = {},
                    Generator* = nullptr);

// Normal with the given means and deviations, which broadcast. ValueError for a negative std.
Tensor normal(const Tensor& mean, const Tensor& std, Generator* = nullptr);
Tensor normal(const Tensor& mean, double std = 1.0, Generator* = nullptr);
Tensor normal(double mean, const Tensor& std, Generator* = nullptr);
Tensor normal(double mean, double std, const Shape& size, const RandomOptions& = {});
// 1 with the probability that `input` holds, else 0, in its dtype. ValueError for probabilities outside [0, 1].
Tensor bernoulli(const Tensor& input, Generator* = nullptr);
Tensor bernoulli(const Tensor& input, double p, Generator* = nullptr);  // the shape and dtype of input

// In place.
Tensor& bernoulli_(Tensor& self, double p = 0.5, Generator* = nullptr);
Tensor& bernoulli_(Tensor& self, const Tensor& p, Generator* = nullptr);
// Integers: in all of the dtype's exactly representable range from 0 on, in [0, to), in [from, to).
Tensor& random_(Tensor& self, Generator* = nullptr);
Tensor& random_(Tensor& self, std::int64_t to, Generator* = nullptr);
Tensor& random_(Tensor& self, std::int64_t from, std::int64_t to, Generator* = nullptr);

}  // namespace neura
