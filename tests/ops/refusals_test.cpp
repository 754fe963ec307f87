// Calls that operations on the shape, the order and the values of tensors refuse: every place that raises an error and
// that no other test reaches.
#include "tests/support/refusals.h"

#include <limits>

#include "neura/neura.h"
#include "neura/ops/linalg/matrix_functions.h"
#include "neura/ops/nn/random_activation.h"
#include "neura/ops/nn/torch_internal.h"
#include "neura/ops/signal/window.h"

namespace neura {
namespace {

using test::expect_refusals;

Tensor f(const Shape& s) { return ones(s); }
Tensor n(const Shape& s) { return ones(s, {.dtype = int64}); }
Tensor b(const Shape& s) { return ones(s, {.dtype = boolean}); }
Tensor c(const Shape& s) { return ones(s, {.dtype = complex64}); }

TEST(Refusals, Creation) {
  expect_refusals<ShapeError>(
      {{"tensor: expected 6 values for shape [2, 3], got 2",
        [] {
          tensor(std::vector<double>{1, 2}, {2, 3});
        }},
       {"tensor: expected 6 values for shape [2, 3], got 2",
        [] {
          tensor(std::vector<std::int64_t>{1, 2}, {2, 3});
        }},
       {"empty_strided: expected as many strides",
        [] {
          empty_strided({2, 3}, {1});
        }},
       {"empty_strided: expected sizes and strides",
        [] {
          empty_strided({2, 3}, {1, -1});
        }},
       {"tril_indices: expected sizes", [] { tril_indices(-1, 2); }},
       {"rand: expected sizes",
        [] {
          rand({2, -1});
        }},
       {"shape: expected at most 8 dimensions", [] { Spec::dense(float32, std::vector<std::int64_t>(9, 1)); }}});
  expect_refusals<ValueError>(
      {{"shape: expected sizes of 0 and up",
        [] {
          Spec::dense(float32, Shape{2, -1});
        }},
       {"arange: expected fewer values", [] { arange(0, 1e30, 1e-5); }},
       {"linspace: expected steps", [] { linspace(0, 1, -1); }},
       {"logspace: expected steps", [] { logspace(0, 1, -1); }},
       {"randperm: expected n", [] { randperm(-1); }},
       {"randint: expected bounds that uint8 holds", [] { randint(-1, 5, {2}, {.dtype = uint8}); }}});
  const Scalar i(std::complex<double>(0, 1));
  expect_refusals<DTypeError>(
      {{"arange: expected real bounds", [&] { arange(0, i); }},
       {"linspace: expected a complex dtype", [&] { linspace(0, i, 3, {.dtype = float32}); }},
       {"logspace: expected a complex dtype", [&] { logspace(0, i, 3, 10, {.dtype = float32}); }},
       {"triu_indices: expected int32 or int64", [] { triu_indices(2, 2, 0, {.dtype = float32}); }},
       {"item: expected a real number", [&] { tensor(i).item<double>(); }}});
}
TEST(Refusals, RandomNumbers) {
  Tensor x = f({3}), whole = n({3});
  expect_refusals<ValueError>({{"uniform: expected from", [&] { uniform_(x, 2, 1); }},
                               {"log_normal: expected std", [&] { log_normal_(x, 0, 0); }},
                               {"cauchy: expected sigma", [&] { cauchy_(x, 0, 0); }},
                               {"exponential: expected lambd", [&] { exponential_(x, 0); }},
                               {"geometric: expected p", [&] { geometric_(x, 1); }},
                               {"gumbel_softmax: expected tau", [&] { gumbel_softmax(x, 0); }},
                               {"multinomial: expected a weight above 0", [&] { multinomial(zeros({3}), 2); }}});
  expect_refusals<DTypeError>({{"normal: expected a floating dtype", [&] { normal_(whole); }},
                               {"log_normal: expected a floating dtype", [&] { log_normal_(whole); }},
                               {"cauchy: expected a floating dtype", [&] { cauchy_(whole); }},
                               {"exponential: expected a floating dtype", [&] { exponential_(whole); }},
                               {"geometric: expected a real dtype",
                                [] {
                                  Tensor z = c({3});
                                  geometric_(z, 0.5);
                                }},
                               {"bernoulli: expected a real dtype",
                                [] {
                                  Tensor z = c({3});
                                  bernoulli_(z, 0.5);
                                }},
                               {"random: expected a real dtype",
                                [] {
                                  Tensor z = c({3});
                                  random_(z, 3);
                                }},
                               {"poisson: expected floating", [&] { poisson(whole); }},
                               {"multinomial: expected floating weights", [&] { multinomial(whole, 1); }},
                               {"dropout: expected a floating input", [&] { dropout(whole); }}});
  expect_refusals<ShapeError>(
      {{"dropout2d: expected an input of at least two", [&] { dropout2d(x); }},
       {"feature_alpha_dropout: expected an input of at least two", [&] { feature_alpha_dropout(x, 0.5, true); }}});
}
TEST(Refusals, ShapesAndViews) {
  Tensor x = f({2, 3});
  expect_refusals<ShapeError>(
      {{"as_strided_scatter: expected as many strides",
        [&] {
          as_strided_scatter(x, f({2}), {2}, {1, 1});
        }},
       {"squeeze: expected each dimension once",
        [] {
          squeeze(f({1, 2}), {0, 0});
        }},
       {"view_as_real: expected fewer dimensions",
        [] {
          view_as_real(c({1, 1, 1, 1, 1, 1, 1, 1}));
        }},
       {"repeat_interleave: expected repeats to be a vector",
        [] {
          repeat_interleave(n({2, 2}));
        }},
       {"repeat_interleave: expected one number of repeats or 2", [&] { repeat_interleave(x, n({3}), 0); }},
       {"copy: expected a source that broadcasts",
        [&] {
          copy_(x, f({2, 2, 3}));
        }},
       {"fill_: expected a number or a 0-d tensor", [&] { fill_(x, f({2})); }},
       {"_chunk_cat: expected tensors that are not empty",
        [&] {
          _chunk_cat({x, f({3, 3})}, 1, 2);
        }},
       {"_unsafe_masked_index: expected at most 2 indices", [&] {
          _unsafe_masked_index(x, b({1}), {n({1}), n({1}), n({1})}, 0);
        }}});
  expect_refusals<ValueError>(
      {{"flip: expected different dimensions",
        [&] {
          flip(x, {0, 0});
        }},
       {"slice_scatter: expected a step", [&] { slice_scatter(x, x, 0, 0, 2, 0); }},
       {"diagonal_scatter: expected two different dimensions", [&] { diagonal_scatter(x, f({2}), 0, 1, 1); }},
       {"unflatten: expected at least one size", [&] { unflatten(x, 0, {}); }},
       {"repeat_interleave: expected repeats of at least 0", [&] { repeat_interleave(x, -1); }},
       {"repeat_interleave: expected repeats of at least 0", [] { repeat_interleave(n({2}) * -1); }},
       {"meshgrid: expected indexing",
        [&] {
          meshgrid({f({2}), f({3})}, "yx");
        }},
       {"combinations: expected r", [] { combinations(f({3}), -1); }},
       {"tensor_split: expected sections", [&] { tensor_split(x, 0); }},
       {"_chunk_cat: expected tensors and num_chunks", [] { _chunk_cat({}, 0, 2); }}});
  expect_refusals<DTypeError>(
      {{"repeat_interleave: expected repeats of int64", [] { repeat_interleave(f({2})); }},
       {"masked_fill: expected a mask", [&] { masked_fill(x, x, 0); }},
       {"masked_fill: expected a real value",
        [&] {
          masked_fill(x, b({2, 3}), std::complex<double>(0, 1));
        }},
       {"_unsafe_masked_index: expected a mask of bool", [&] { _unsafe_masked_index(x, x, {n({1})}, 0); }}});
  expect_refusals<NotImplementedError>({{"as_strided: expected an input whose elements do not share", [] {
                                           Tensor leaf = f({1, 3}).requires_grad_(), wide = expand(leaf, {2, 3});
                                           sum(as_strided(wide, {2}, {1})).backward();
                                         }}});
}
TEST(Refusals, Resizing) {
  expect_refusals<AutogradError>({{"resize_: expected a tensor that requires no gradient", [] {
                                     Tensor x = f({2}).requires_grad_();
                                     resize_(x, {3});
                                   }}});
  expect_refusals<InplaceError>({{"resize_: expected a tensor of its own", [] {
                                    Tensor x = f({4}), v = x.narrow(0, 0, 2);
                                    resize_(v, {3});
                                  }}});
  expect_refusals<OutOfMemoryError>({{"resize_: expected a size that memory may hold", [] {
                                        Tensor x = f({4});
                                        resize_(x, {std::int64_t{1} << 40, std::int64_t{1} << 17});
                                      }}});
}
#if SIZE_MAX < UINT64_MAX
TEST(Refusals, MoreBytesThanThereAreAddresses) {
  const char* const fits = "shape: expected a tensor that fits into memory";
  expect_refusals<ValueError>({{fits,
                                [] {
                                  f({65536, 65536});
                                }},
                               {fits,
                                [] {
                                  f({65536, 1}) + f({1, 65536});
                                }},
                               {fits, [] {
                                  f({65536, 1}).expand({65536, 65536}).clone();
                                }}});
}
#endif
TEST(Refusals, Indexing) {
  const Tensor x = f({2, 3});
  expect_refusals<IndexError>({{"index: expected at most one Ellipsis",
                                [&] {
                                  index(x, {Ellipsis, Ellipsis});
                                }},
                               {"index: expected tensors of integers or bool", [&] { index(x, {f({2})}); }},
                               {"index_select: expected index to be a vector",
                                [&] {
                                  index_select(x, 0, f({1, 1}));
                                }},
                               {"index_add: expected index to be a vector", [&] {
                                  index_add(x, 0, n({1, 1}), x);
                                }}});
  expect_refusals<ShapeError>({{"index_select: expected one index", [] { index_select(f({}), 0, n({2}) * 0); }},
                               {"gather: expected index", [&] { gather(x, 0, n({1})); }}});
  expect_refusals<ValueError>({{"nonzero_static: expected a size", [&] { nonzero_static(x, -1); }},
                               {"unravel_index: expected sizes",
                                [] {
                                  unravel_index(n({1}), {2, -1});
                                }},
                               {"scatter: expected reduce", [&] {
                                  scatter(x, 0, n({1, 3}) * 0, x, "mean");
                                }}});
  expect_refusals<DTypeError>({{"unravel_index: expected indices",
                                [] {
                                  unravel_index(f({1}), {2, 2});
                                }},
                               {"take: expected index of int64", [&] { take(x, f({1})); }},
                               {"masked_select: expected a mask of bool", [&] { masked_select(x, x); }}});
}
TEST(Refusals, SortingAndCounting) {
  const Tensor x = f({2, 3}), v = f({3});
  expect_refusals<ShapeError>(
      {{"searchsorted: expected a sequence with one dimension for a number", [&] { searchsorted(x, 1.0); }},
       {"searchsorted: expected a sequence with one dimension or",
        [&] {
          searchsorted(x, f({4, 2}));
        }},
       {"searchsorted: expected a sorter of the sequence's shape", [&] { searchsorted(v, v, false, false, n({2})); }},
       {"bincount: expected one dimension",
        [] {
          bincount(n({2, 2}));
        }},
       {"bincount: expected one weight", [] { bincount(n({3}), f({2})); }},
       {"histogramdd: expected points", [&] { histogramdd(v, std::vector<std::int64_t>{2}); }},
       {"histogram: expected at least two edges", [&] { histogram(v, f({1})); }},
       {"histogram: expected one weight", [&] { histogram(v, 3, {.weight = f({2})}); }}});
  expect_refusals<ValueError>(
      {{"searchsorted: expected a sequence that int32 can count",
        [] { searchsorted(expand(f({1}), {std::int64_t{1} << 31}), f({1}), true); }},
       {"bincount: expected minlength", [] { bincount(n({3}), {}, -1); }},
       {"bincount: expected numbers that a table", [] { bincount(n({1}) * (std::int64_t{1} << 50)); }},
       {"histc: expected bins", [&] { histc(v, 0); }},
       {"histc: expected a finite range", [&] { histc(v, 3, 2, 1); }},
       {"unique: expected slices with elements",
        [] {
          unique(f({2, 0}), true, false, false, 0);
        }},
       {"histogram: expected bins", [&] { histogram(v, 0); }},
       {"histogram: expected a finite range",
        [&] {
          histogram(v, 2, {.range = {2, 1}});
        }},
       {"histogramdd: expected edges for each of 3", [&] { histogramdd(x, std::vector<Tensor>{v}); }}});
  expect_refusals<DTypeError>(
      {{"searchsorted: expected a sorter of int64", [&] { searchsorted(v, v, false, false, v); }},
       {"bincount: expected integers", [&] { bincount(v); }},
       {"isin: expected real numbers", [&] { isin(c({2}), v); }}});
}
TEST(Refusals, Reductions) {
  const Tensor x = f({2, 3});
  expect_refusals<DTypeError>({{"nansum: expected a dtype", [&] { nansum(x, {}, false, float8_e4m3); }},
                               {"logcumsumexp: expected", [] { logcumsumexp(zeros({2}, {.dtype = float8_e4m3}), 0); }},
                               {"norm: expected a floating dtype", [&] { vector_norm(x, 2, {}, false, int64); }}});
  expect_refusals<ValueError>({{"renorm: expected p above 0", [&] { renorm(x, 0, 0, 1); }},
                               {"vander: expected N > 1", [] { vander(f({3}), 1); }},
                               {"cov: expected aweights that are not negative", [&] { cov(x, 1, {}, f({3}) * -1); }},
                               {"cov: expected weights that do not sum to 0", [&] { cov(x, 1, {}, f({3}) * 0); }},
                               {"cdist: expected p", [&] { cdist(x, x, -1); }},
                               {"pdist: expected p", [&] { pdist(x, -1); }},
                               {"gradient: expected one spacing for each of 2",
                                [&] {
                                  gradient(x, {1.0, 1.0, 1.0});
                                }},
                               {"matrix_norm: expected ord", [&] { matrix_norm(x, {.ord = 3}); }}});
  expect_refusals<ShapeError>(
      {{"gradient: expected one coordinate for each of 2", [&] { gradient(x, {f({5})}, {0}); }},
       {"matrix_norm: expected two different",
        [&] {
          matrix_norm(x, {.dim = {0, 0}});
        }},
       {"segment_reduce: expected offsets", [] { segment_reduce(f({3}), "sum", {.offsets = n({0})}); }}});
}
TEST(Refusals, PointwiseFunctions) {
  const Tensor x = f({2}), a = f({2}).requires_grad_();
  expect_refusals<ValueError>({{"polygamma: expected n", [&] { polygamma(-1, x); }},
                               {"mvlgamma: expected p", [&] { mvlgamma(x, 0); }},
                               {"celu: expected alpha", [&] { celu(x, {.alpha = 0}); }},
                               {"softshrink: expected lambd", [&] { softshrink(x, {.lambd = -1}); }},
                               {"add: expected an integral alpha", [&] { add(n({2}), n({2}), 0.5); }}});
  expect_refusals<DTypeError>({{"isclose: expected operands of one dtype", [&] { isclose(x, n({2})); }}});
  expect_refusals<NotImplementedError>({{"igamma: has no derivative", [&] { igamma(a, x); }}});
  expect_refusals<ValueError>(
      {{"exponential: expected tau", [] { windows::exponential(4, {}, 0); }},
       {"exponential: expected no center", [] { windows::exponential(4, 1.0, 1); }},
       {"gaussian: expected std", [] { windows::gaussian(4, 0); }},
       {"kaiser: expected a beta", [] { windows::kaiser(4, -1); }},
       {"general_cosine: expected at least one coefficient", [] { windows::general_cosine(4, {}); }},
       {"hann: expected float32 or float64", [] { windows::hann(4, {.tensor = {.dtype = float16}}); }}});
}

}  // namespace
}  // namespace neura
