// Views and copies of them against PyTorch's stored answers.
#include "neura/ops/shape/view.h"

#include <gtest/gtest.h>

#include "neura/ops/create/copy.h"
#include "neura/ops/shape/join.h"
#include "tests/golden/arguments.h"

namespace neura {
namespace {
using namespace stored;
using Calls = std::map<std::string, CaseFunction>;

// The view itself, and what torch calls name_copy: the same values in memory of their own.
template <class F> void both(Calls& m, const std::string& name, F f) {
  m[name] = one(f);
  m[name + "_copy"] = one([f](C c) { return clone(f(c)); });
}
Dims dims(C c, int position, const char* name) { return Dims(H(c.argument(position, name))); }

void add_geometry(Calls& m) {
  both(m, "transpose", [](C c) { return transpose(T(c.input), int(I(A(c, 0))), int(I(A(c, 1)))); });
  both(m, "t", [](C c) { return t(T(c.input)); });
  both(m, "permute",
       [](C c) { return permute(T(c.input), Dims(Shape(std::span<const std::int64_t>(spelled(c, "dims"))))); });
  both(m, "expand", [](C c) { return expand(T(c.input), Shape(std::span<const std::int64_t>(spelled(c, "size")))); });
  both(m, "view", [](C c) { return view(T(c.input), Shape(std::span<const std::int64_t>(spelled(c, "size")))); });
  both(m, "unsqueeze", [](C c) { return unsqueeze(T(c.input), int(I(A(c, 0)))); });
  both(m, "squeeze", [](C c) {
    const Value& d = c.argument(0, "dim");
    const bool nothing = d && d.kind != Value::integer && d.items.empty();
    return nothing ? view(T(c.input), T(c.input).shape()) : squeeze(T(c.input), d ? dims(c, 0, "dim") : Dims());
  });
  m["squeeze#multiple"] = m["squeeze"];
  both(m, "narrow", [](C c) { return narrow(T(c.input), int(I(A(c, 0))), I(A(c, 1)), I(A(c, 2))); });
  both(m, "diagonal", [](C c) {
    return diagonal(T(c.input), int(I(c.argument(0, "offset"), 0)), int(I(c.argument(1, "dim1"), 0)),
                    int(I(c.argument(2, "dim2"), 1)));
  });
  both(m, "unfold", [](C c) { return unfold(T(c.input), int(I(A(c, 0))), I(A(c, 1)), I(A(c, 2))); });
  both(m, "as_strided",
       [](C c) { return as_strided(T(c.input), H(A(c, 0)), H(A(c, 1)), O(c.argument(2, "storage_offset"))); });
  m["as_strided#partial_views"] = m["as_strided"];
  m["select"] = one([](C c) { return select(T(c.input), int(I(A(c, 0))), I(A(c, 1))); });
  m["reshape"] =
      one([](C c) { return reshape(T(c.input), Shape(std::span<const std::int64_t>(spelled(c, "shape")))); });
  m["flatten"] = one([](C c) {
    return flatten(T(c.input), int(I(c.argument(0, "start_dim"), 0)), int(I(c.argument(1, "end_dim"), -1)));
  });
  m["unflatten"] = one([](C c) { return unflatten(T(c.input), int(I(A(c, 0))), H(A(c, 1))); });
  m["movedim"] = one([](C c) { return movedim(T(c.input), Dims(H(A(c, 0))), Dims(H(A(c, 1)))); });
  m["mT"] = one([](C c) { return mT(T(c.input)); });
  m["mH"] = one([](C c) { return conj(mT(T(c.input))); });
  m["T"] = one([](C c) { return t(T(c.input)); });
  m["H"] = one([](C c) { return conj(t(T(c.input))); });
  m["real"] = one([](C c) { return real(T(c.input)); });
  m["imag"] = one([](C c) { return imag(T(c.input)); });
  m["view_as_real"] = one([](C c) { return view_as_real(T(c.input)); });
  m["view_as_complex"] = one([](C c) { return view_as_complex(T(c.input)); });
}

Tensors copies(Tensors parts) {
  for (Tensor& t : parts) t = clone(t);
  return parts;
}
Tensors parts_of(C c) {
  const Value& at = c.args.empty() ? c.kwarg("split_size_or_sections") : A(c, 0);
  const int dim = int(I(c.argument(1, "dim"), 0));
  return at.kind == Value::tuple || at.kind == Value::list ? split(T(c.input), L(at), dim)
                                                           : split(T(c.input), I(at), dim);
}

void add_parts(Calls& m) {
  m["split"] = m["split#list_args"] = m["split_with_sizes"] = m["unsafe_split"] = many(parts_of);
  m["split_with_sizes_copy"] = many([](C c) { return copies(parts_of(c)); });
  m["chunk"] = m["unsafe_chunk"] =
      many([](C c) { return chunk(T(c.input), I(A(c, 0)), int(I(c.argument(1, "dim"), 0))); });
  const auto unbound = [](C c) { return unbind(T(c.input), int(I(c.argument(0, "dim"), 0))); };
  m["unbind"] = many(unbound);
  m["unbind_copy"] = many([unbound](C c) { return copies(unbound(c)); });
}

void add_copies(Calls& m) {
  m["clone"] = m["alias_copy"] = one([](C c) { return clone(T(c.input)); });
  m["contiguous"] = one([](C c) { return contiguous(T(c.input)); });
  m["conj"] = one([](C c) { return conj(T(c.input)); });
  m["resolve_conj"] = m["resolve_neg"] = one([](C c) { return T(c.input); });
  m["fill"] = one([](C c) {
    Tensor out = clone(T(c.input));
    const Value& v = c.argument(0, "value");
    return v.kind == Value::tensor ? fill_(out, v.data) : fill_(out, S(v));
  });
  m["zero_"] = one([](C c) {
    Tensor x = T(c.input);
    return zero_(x);
  });
}

TEST(View, StoredAnswers) {
  Calls m;
  add_geometry(m), add_parts(m), add_copies(m);
  judge_all("view", m);
}

}  // namespace
}  // namespace neura
