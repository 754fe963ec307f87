// Creation, joining, rearranging and indexing against PyTorch's stored answers.
#include "neura/ops/index/index.h"

#include <gtest/gtest.h>

#include <map>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/random/random.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "tests/golden/arguments.h"

namespace neura {
namespace {

using namespace stored;

void add_creation(std::map<std::string, CaseFunction>& m) {
  m["zeros"] = one([](C c) { return zeros(H(c.input), options(c)); });
  m["ones"] = one([](C c) { return ones(H(c.input), options(c)); });
  m["empty"] = any_values([](C c) { return empty(H(c.input), options(c)); });
  m["full"] = one([](C c) { return full(H(c.input), S(c.argument(0, "fill_value")), options(c)); });
  m["scalar_tensor"] = one([](C c) { return scalar_tensor(S(c.input), options(c)); });
  m["empty_strided"] =
      any_values([](C c) { return empty_strided(H(c.input), H(c.argument(0, "stride")), options(c)); });
  m["empty_permuted"] =
      any_values([](C c) { return empty_permuted(H(c.input), Dims(H(c.argument(0, "physical_layout"))), options(c)); });
  m["zeros_like"] = one([](C c) { return zeros_like(T(c.input), like(c)); });
  m["ones_like"] = one([](C c) { return ones_like(T(c.input), like(c)); });
  m["empty_like"] = any_values([](C c) { return empty_like(T(c.input), like(c)); });
  m["full_like"] = one([](C c) { return full_like(T(c.input), S(c.argument(0, "fill_value")), like(c)); });
  m["rand_like"] = any_values([](C c) { return rand_like(T(c.input), like(c)); });
  m["randn_like"] = any_values([](C c) { return randn_like(T(c.input), like(c)); });
  m["randint_like"] = any_values([](C c) {
    return c.args.size() > 1 ? randint_like(T(c.input), I(c.args[0]), I(c.args[1]), like(c))
                             : randint_like(T(c.input), I(c.argument(0, "high")), like(c));
  });
  m["randn"] = any_values(
      [](C c) { return randn(H(c.input), {.dtype = options(c).dtype, .requires_grad = options(c).requires_grad}); });
  m["randint"] = any_values([](C c) {
    const RandomOptions o{.dtype = options(c).dtype};
    return c.args.size() > 1 ? randint(I(c.input), I(c.args[0]), H(c.args[1]), o)
                             : randint(I(c.input), H(c.args[0]), o);
  });
  m["bernoulli"] = any_values([](C c) { return bernoulli(T(c.input)); });
  m["multinomial"] = any_values([](C c) {
    return multinomial(T(c.input), I(c.argument(0, "num_samples")), B(c.argument(1, "replacement"), false));
  });
  m["normal#in_place"] = one([](C c) {
    Tensor t = T(c.input);
    return normal_(t, S(A(c, 0)).real(), S(A(c, 1)).real());
  });
  m["new_empty"] = any_values([](C c) { return new_empty(T(c.input), H(c.argument(0, "size")), like(c)); });
  m["new_zeros"] = one([](C c) { return new_zeros(T(c.input), H(c.argument(0, "size")), like(c)); });
  m["new_ones"] = one([](C c) { return new_ones(T(c.input), H(c.argument(0, "size")), like(c)); });
  m["new_full"] =
      one([](C c) { return new_full(T(c.input), H(c.argument(0, "size")), S(c.argument(1, "fill_value")), like(c)); });
  m["new_empty_strided"] = any_values(
      [](C c) { return new_empty_strided(T(c.input), H(c.argument(0, "size")), H(c.argument(1, "stride")), like(c)); });
  m["arange"] = one([](C c) {
    if (c.args.empty()) return arange(S(c.input), options(c));
    return arange(S(c.input), S(c.args[0]), c.args.size() > 1 ? S(c.args[1]) : Scalar(1), options(c));
  });
  m["linspace"] = m["linspace#tensor_overload"] =
      one([](C c) { return linspace(S(c.input), S(A(c, 0)), I(A(c, 1)), options(c)); });
  m["logspace"] = m["logspace#tensor_overload"] = one([](C c) {
    const Value& base = c.argument(2, "base");
    return logspace(S(c.input), S(A(c, 0)), I(A(c, 1)), base ? S(base).real() : 10, options(c));
  });
  m["eye"] = one([](C c) { return eye(I(c.input), I(c.argument(0, "m"), I(c.input)), options(c)); });
  m["tril_indices"] =
      one([](C c) { return tril_indices(I(c.input), I(A(c, 0)), I(c.argument(1, "offset"), 0), options(c)); });
  m["triu_indices"] =
      one([](C c) { return triu_indices(I(c.input), I(A(c, 0)), I(c.argument(1, "offset"), 0), options(c)); });
}

void add_joining(std::map<std::string, CaseFunction>& m) {
  m["cat"] = one([](C c) { return cat(TL(c.input), int(I(c.argument(0, "dim"), 0))); });
  m["stack"] = one([](C c) { return stack(TL(c.input), int(I(c.argument(0, "dim"), 0))); });
  m["hstack"] = one([](C c) { return hstack(TL(c.input)); });
  m["vstack"] = one([](C c) { return vstack(TL(c.input)); });
  m["dstack"] = one([](C c) { return dstack(TL(c.input)); });
  m["column_stack"] = one([](C c) { return column_stack(TL(c.input)); });
  m["block_diag"] = one([](C c) { return block_diag(all(c)); });
  m["cartesian_prod"] = one([](C c) { return cartesian_prod(all(c)); });
  m["combinations"] = one([](C c) {
    return combinations(T(c.input), I(c.argument(0, "r"), 2), B(c.argument(1, "with_replacement"), false));
  });
  m["meshgrid#variadic_tensors"] = m["meshgrid#list_of_tensors"] =
      many([](C c) { return meshgrid(all(c), W(c.kwarg("indexing"), "ij").c_str()); });
  m["broadcast_tensors"] = many([](C c) { return broadcast_tensors(all(c)); });
  m["tensor_split"] = many([](C c) {
    const int dim = int(I(c.argument(1, "dim"), 0));
    const Value& at = A(c, 0);
    const bool list = at.kind == Value::tuple || at.kind == Value::list || (at.kind == Value::tensor && at.data.dim());
    return list ? tensor_split(T(c.input), L(at), dim) : tensor_split(T(c.input), I(at), dim);
  });
  const auto split = [&](const char* name, auto by_number, auto by_list) {
    m[name] = many([=](C c) {
      const Value& at = A(c, 0);
      return at.kind == Value::tuple || at.kind == Value::list ? by_list(T(c.input), L(at))
                                                               : by_number(T(c.input), I(at));
    });
  };
  split(
      "hsplit", [](const Tensor& x, std::int64_t n) { return hsplit(x, n); },
      [](const Tensor& x, const Integers& at) { return hsplit(x, at); });
  split(
      "vsplit", [](const Tensor& x, std::int64_t n) { return vsplit(x, n); },
      [](const Tensor& x, const Integers& at) { return vsplit(x, at); });
  split(
      "dsplit", [](const Tensor& x, std::int64_t n) { return dsplit(x, n); },
      [](const Tensor& x, const Integers& at) { return dsplit(x, at); });
}

void add_shapes(std::map<std::string, CaseFunction>& m) {
  m["repeat"] =
      one([](C c) { return repeat(T(c.input), Shape(std::span<const std::int64_t>(spelled(c, "repeats")))); });
  m["tile"] = one([](C c) { return tile(T(c.input), Shape(std::span<const std::int64_t>(spelled(c, "dims")))); });
  m["repeat_interleave"] = one([](C c) {
    const Value& r = c.argument(0, "repeats");
    const std::optional<int> dim = D(c.argument(1, "dim"));
    if (r.kind == Value::tensor) return repeat_interleave(T(c.input), r.data, dim);
    return repeat_interleave(T(c.input), I(r), dim);
  });
  m["flip"] = one([](C c) { return flip(T(c.input), Dims(H(c.argument(0, "dims")))); });
  m["fliplr"] = one([](C c) { return fliplr(T(c.input)); });
  m["flipud"] = one([](C c) { return flipud(T(c.input)); });
  m["roll"] = one([](C c) { return roll(T(c.input), H(c.argument(0, "shifts")), Dims(H(c.argument(1, "dims")))); });
  m["rot90"] = one([](C c) {
    const Value& dims = c.argument(1, "dims");
    return rot90(T(c.input), I(c.argument(0, "k"), 1), dims ? Dims(H(dims)) : Dims{0, 1});
  });
  m["tril"] = one([](C c) { return tril(T(c.input), I(c.argument(0, "diagonal"), 0)); });
  m["triu"] = one([](C c) { return triu(T(c.input), I(c.argument(0, "diagonal"), 0)); });
  m["diag"] = one([](C c) { return diag(T(c.input), I(c.argument(0, "diagonal"), 0)); });
  m["diagflat"] = one([](C c) { return diagflat(T(c.input), I(c.argument(0, "offset"), 0)); });
  m["diag_embed"] = one([](C c) {
    return diag_embed(T(c.input), I(c.argument(0, "offset"), 0), int(I(c.argument(1, "dim1"), -2)),
                      int(I(c.argument(2, "dim2"), -1)));
  });
  m["diagonal_scatter"] = one([](C c) {
    return diagonal_scatter(T(c.input), T(A(c, 0)), I(c.argument(1, "offset"), 0), int(I(c.argument(2, "dim1"), 0)),
                            int(I(c.argument(3, "dim2"), 1)));
  });
  m["select_scatter"] = one([](C c) { return select_scatter(T(c.input), T(A(c, 0)), int(I(A(c, 1))), I(A(c, 2))); });
  m["slice_scatter"] = one([](C c) {
    return slice_scatter(T(c.input), T(A(c, 0)), int(I(c.argument(1, "dim"), 0)), O(c.argument(2, "start")),
                         O(c.argument(3, "end")), I(c.argument(4, "step"), 1));
  });
  m["as_strided_scatter"] = one([](C c) {
    return as_strided_scatter(T(c.input), T(A(c, 0)), H(A(c, 1)), H(A(c, 2)), I(c.argument(3, "storage_offset"), 0));
  });
  m["kron"] = one([](C c) { return kron(T(c.input), T(A(c, 0))); });
}

void add_padding_and_sizes(std::map<std::string, CaseFunction>& m) {
  m["constant_pad_nd"] = one([](C c) {
    const Value& v = c.argument(1, "value");
    return constant_pad_nd(T(c.input), L(c.argument(0, "pad")), v ? S(v) : Scalar(0));
  });
  for (const char* mode : {"constant", "reflect", "replicate", "replicate_negative", "circular"}) {
    m[std::string("nn.functional.pad#") + mode] = one([](C c) {
      const Value& v = c.argument(2, "value");
      return pad(T(c.input), L(c.argument(0, "pad")), W(c.argument(1, "mode"), "constant"), v ? S(v) : Scalar(0.0));
    });
  }
  m["nn.functional.pixel_shuffle"] =
      one([](C c) { return pixel_shuffle(T(c.input), I(c.argument(0, "upscale_factor"))); });
  m["nn.functional.pixel_unshuffle"] =
      one([](C c) { return pixel_unshuffle(T(c.input), I(c.argument(0, "downscale_factor"))); });
  m["nn.functional.channel_shuffle"] = one([](C c) { return channel_shuffle(T(c.input), I(A(c, 0))); });
  m["broadcast_to"] = one([](C c) { return broadcast_to(T(c.input), H(c.argument(0, "size"))); });
  m["expand_as"] = one([](C c) { return expand_as(T(c.input), T(A(c, 0))); });
  m["view_as"] = one([](C c) { return view_as(T(c.input), T(A(c, 0))); });
  m["reshape_as"] = one([](C c) { return reshape_as(T(c.input), T(A(c, 0))); });
  m["ravel"] = one([](C c) { return ravel(T(c.input)); });
  const auto least = [](Tensor (*f)(const Tensor&)) {
    return many([f](C c) {
      Tensors out;
      for (const Tensor& t : all(c)) out.push_back(f(t));
      return out;
    });
  };
  m["atleast_1d"] = least(atleast_1d), m["atleast_2d"] = least(atleast_2d), m["atleast_3d"] = least(atleast_3d);
}

void add_indexing(std::map<std::string, CaseFunction>& m) {
  m["__getitem__"] = one([](C c) { return index(T(c.input), brackets(A(c, 0))); });
  m["index_put"] = one(
      [](C c) { return index_put(T(c.input), brackets(A(c, 0)), T(A(c, 1)), B(c.argument(2, "accumulate"), false)); });
  m["index_select"] = one([](C c) { return index_select(T(c.input), int(I(A(c, 0))), T(A(c, 1))); });
  m["index_add"] = one([](C c) {
    const Value& alpha = c.kwarg("alpha");
    return index_add(T(c.input), int(I(A(c, 0))), T(A(c, 1)), T(A(c, 2)), alpha ? S(alpha) : Scalar(1));
  });
  m["index_copy"] = one([](C c) { return index_copy(T(c.input), int(I(A(c, 0))), T(A(c, 1)), T(A(c, 2))); });
  m["index_fill"] = one([](C c) {
    const Value& v = A(c, 2);
    if (v.kind == Value::tensor) return index_fill(T(c.input), int(I(c.args[0])), T(c.args[1]), v.data);
    return index_fill(T(c.input), int(I(c.args[0])), T(c.args[1]), S(v));
  });
  for (const char* mode : {"amax", "amin", "mean", "prod", "sum"}) {
    m[std::string("index_reduce#") + mode] = one([](C c) {
      return index_reduce(T(c.input), int(I(A(c, 0))), T(A(c, 1)), T(A(c, 2)), W(c.argument(3, "reduce"), ""),
                          B(c.kwarg("include_self"), true));
    });
    m[std::string("scatter_reduce#") + mode] = one([](C c) {
      return scatter_reduce(T(c.input), int(I(A(c, 0))), T(A(c, 1)), T(A(c, 2)), W(c.argument(3, "reduce"), ""),
                            B(c.kwarg("include_self"), true));
    });
  }
  m.erase("index_reduce#sum");
  m["gather"] = one([](C c) { return gather(T(c.input), int(I(A(c, 0))), T(A(c, 1))); });
  m["scatter"] = one([](C c) {
    const Value& v = A(c, 2);
    const std::string reduce = W(c.kwarg("reduce"), "");
    if (v.kind == Value::tensor) return scatter(T(c.input), int(I(c.args[0])), T(c.args[1]), v.data, reduce);
    return scatter(T(c.input), int(I(c.args[0])), T(c.args[1]), S(v), reduce);
  });
  m["scatter_add"] = one([](C c) { return scatter_add(T(c.input), int(I(A(c, 0))), T(A(c, 1)), T(A(c, 2))); });
  m["take_along_dim"] = one([](C c) { return take_along_dim(T(c.input), T(A(c, 0)), D(c.argument(1, "dim"))); });
  m["take"] = one([](C c) { return take(T(c.input), T(A(c, 0))); });
  m["put"] = one([](C c) { return put(T(c.input), T(A(c, 0)), T(A(c, 1)), B(c.argument(2, "accumulate"), false)); });
  m["masked_select"] = one([](C c) { return masked_select(T(c.input), T(A(c, 0))); });
  m["masked_scatter"] = one([](C c) { return masked_scatter(T(c.input), T(A(c, 0)), T(A(c, 1))); });
  m["nonzero"] = many(
      [](C c) { return B(c.kwarg("as_tuple"), false) ? nonzero_as_tuple(T(c.input)) : Tensors{nonzero(T(c.input))}; });
  m["nonzero_static"] =
      one([](C c) { return nonzero_static(T(c.input), I(c.kwarg("size")), I(c.kwarg("fill_value"), -1)); });
  m["argwhere"] = one([](C c) { return argwhere(T(c.input)); });
  m["unravel_index"] = many([](C c) { return unravel_index(T(c.input), H(c.argument(0, "shape"))); });
}

TEST(Index, StoredAnswers) {
  std::map<std::string, CaseFunction> m;
  add_creation(m), add_joining(m), add_shapes(m), add_padding_and_sizes(m), add_indexing(m);
  judge_all("index", m);
}

}  // namespace
}  // namespace neura
