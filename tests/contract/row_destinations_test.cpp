// Every row in place and with out=: what is written, and what must not be. Kernels write whole vectors, so each
// destination lies between guard values.
#include <cstring>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "tests/contract/row_case.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

class RowDestinations : public RowTest {};

// A window on a larger storage, with guard values everywhere around it.
struct Guarded {
  Tensor view, all;
  std::vector<char> before;

  Guarded(const Tensor& content, const Shape& strides, std::int64_t offset = 5) {
    Spec s = content.spec();
    std::copy(strides.begin(), strides.end(), s.strides);
    s.finish();
    const std::int64_t size = offset + s.span() + 70;
    all = from_loop({size}, s.dtype, [](const Shape& i) { return Scalar(1 + i[0] % 5); });
    s.offset = offset;
    Storage* storage = all.impl()->storage;
    storage->count.fetch_add(1);
    view = Tensor(Ref<TensorImpl>::adopt(TensorImpl::make(s, storage)));
    for_each_index(view.shape(), [&](const Shape& i) { store_at(view, i, scalar_at(content, i)); });
    const char* bytes = static_cast<const char*>(all.raw_data());
    before.assign(bytes, bytes + all.nbytes());
  }
  void expect_guards_intact() const {
    std::vector<bool> inside(std::size_t(all.numel()));
    for_each_index(view.shape(), [&](const Shape& i) {
      std::int64_t at = view.storage_offset();
      for (int d = 0; d < view.dim(); ++d) at += i[d] * view.strides()[d];
      inside[std::size_t(at)] = true;
    });
    const std::size_t size = std::size_t(size_of(all.dtype()));
    for (std::size_t i = 0; i < inside.size(); ++i)
      if (!inside[i] &&
          std::memcmp(static_cast<const char*>(all.raw_data()) + i * size, before.data() + i * size, size))
        return (void)(ADD_FAILURE() << "wrote to element " << i << " of the storage, outside of " << view.spec().str());
  }
};

// The layouts a destination is tried in: strides for sizes [5, 7].
const std::vector<Shape>& layouts_of_5_7() {
  static const std::vector<Shape> all = {{7, 1}, {1, 5}, {14, 2}, {1, 6}, {8, 1}};
  return all;
}

// The operands repeated, long enough for a lazy clone to share their bytes.
std::vector<Tensor> long_operands(const RowCase& c, DType d, std::uint64_t seed) {
  std::vector<Tensor> all = operands(c, d, equal_shapes(c, {25}), seed);
  for (Tensor& t : all) t = t.expand({800, 25}).clone();
  return all;
}
bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.nbytes() == b.nbytes() && !std::memcmp(a.const_raw_data(), b.const_raw_data(), a.nbytes());
}

TEST_P(RowDestinations, ALazyCloneKeepsItsValues) {
  DType d = float32;
  for (const DType other : {int64, complex64, boolean})
    if (!row.types.accepts(d)) d = other;
  const std::vector<Tensor> in = long_operands(c, d, 15), rest(in.begin() + 1, in.end());
  const Tensor fresh = call(c, in);
  const auto expect_apart = [](Tensor& self, const Tensor& want, auto&& write) {
    const Tensor lazy = lazy_clone(self), before = self.clone(), view = self.select(0, 3);
    ASSERT_EQ(lazy.const_raw_data(), self.const_raw_data());
    write(self);
    EXPECT_TRUE(same_bytes(lazy, before));
    EXPECT_TRUE(same_bytes(self, want));
    EXPECT_TRUE(same_bytes(view, want.select(0, 3).clone()));
    count_case();
  };
  Tensor self = in[0].clone(), out = zeros_like(fresh);
  if (category(fresh.dtype()) <= category(self.dtype()))
    expect_apart(self, fresh.to(self.dtype()), [&](Tensor& t) { call_in_place(c, t, rest); });
  expect_apart(out, fresh, [&](Tensor& t) { call_out(c, t, in); });
}

TEST_P(RowDestinations, InPlaceEqualsTheFreshResult) {
  for_accepted([&](DType d) {
    const std::vector<Tensor> in = operands(c, d, equal_shapes(c, {5, 7}), 11), rest(in.begin() + 1, in.end());
    const Tensor fresh = call(c, in);
    const DType self = in[0].dtype();
    if (category(fresh.dtype()) > category(self)) {
      Tensor x = converted(in[0], self);
      const std::string said = error_of<DTypeError>([&] { call_in_place(c, x, rest); });
      EXPECT_EQ(said.find(std::string(row.name) + ": expected a destination"), 0u) << said;
      return expect_same(x, in[0]);
    }
    for (const Shape& strides : layouts_of_5_7()) {
      Guarded g(in[0], strides);
      const std::uint32_t version = g.view.version();
      Tensor& back = call_in_place(c, g.view, rest);
      EXPECT_TRUE(back.is_same(g.view));
      expect_same(g.view, converted(fresh, self));
      EXPECT_NE(g.view.version(), version);
      g.expect_guards_intact();
    }
  });
}

TEST_P(RowDestinations, OutEqualsTheFreshResult) {
  for_accepted([&](DType d) {
    const std::vector<Tensor> in = operands(c, d, equal_shapes(c, {5, 7}), 12);
    const Tensor fresh = call(c, in);
    for (const Shape& strides : layouts_of_5_7()) {
      Guarded g(sample({5, 7}, fresh.dtype()), strides);
      const std::uint32_t version = g.view.version();
      call_out(c, g.view, in);
      expect_same(g.view, fresh);
      EXPECT_NE(g.view.version(), version);
      g.expect_guards_intact();
    }
    for (const Shape& other :
         {Shape{5, 7}, Shape{3}, Shape{0}, Shape{10, 10}}) {  // a tensor of another shape is resized
      Tensor out = sample(other, fresh.dtype());
      EXPECT_TRUE(call_out(c, out, in).is_same(out));
      expect_same(out, fresh);
    }
    Tensor window = sample({4, 4}, fresh.dtype()).slice(0, 1, 3);
    EXPECT_EQ(
        error_of<ShapeError>([&] { call_out(c, window, in); }).find(std::string(row.name) + ": expected a destination"),
        0u);
    if (category(fresh.dtype()) > Category::boolean) {
      Tensor narrow = sample({5, 7}, boolean);
      EXPECT_EQ(error_of<DTypeError>([&] {
                  call_out(c, narrow, in);
                }).find(std::string(row.name) + ": expected a destination"),
                0u);
    }
  });
}

TEST_P(RowDestinations, SmallDestinationsKeepTheirNeighbours) {
  for_accepted([&](DType d) {
    for (const std::int64_t n : {0, 1, 7, 8, 9, 31, 33}) {
      const std::vector<Tensor> in = operands(c, d, equal_shapes(c, {n}), 13), rest(in.begin() + 1, in.end());
      const Tensor fresh = call(c, in);
      Guarded out(sample({n}, fresh.dtype()), {1}, 3);
      call_out(c, out.view, in);
      expect_same(out.view, fresh), out.expect_guards_intact();
      if (category(fresh.dtype()) > category(in[0].dtype())) continue;
      Guarded self(in[0], {1}, 3);
      call_in_place(c, self.view, rest);
      expect_same(self.view, converted(fresh, in[0].dtype())), self.expect_guards_intact();
    }
  });
}

TEST_P(RowDestinations, PartialOverlapIsAsIfCopied) {
  for_accepted([&](DType d) {
    if (row.types.result(d) != d || (row.types.mask_first && d != boolean)) return;
    for (const std::int64_t shift : {-1, 1, 3}) {
      const std::vector<Tensor> in = operands(c, d, equal_shapes(c, {41}), 14);
      const std::vector<Tensor> rest(in.begin() + 1, in.end());
      const Tensor fresh = call(c, in);
      Guarded g(in[0], {1});
      Tensor out = g.all.slice(0, 5 + shift, 46 + shift);
      std::vector<Tensor> shifted = rest;
      shifted.insert(shifted.begin(), g.view);
      call_out(c, out, shifted);
      expect_same(out, fresh);
      if (row.inputs < 2) continue;
      Guarded h(in[1], {1});  // the second operand lies beside self, in one storage
      Tensor self = h.all.slice(0, 5 + shift, 46 + shift);
      std::vector<Tensor> copies = {converted(self, d), converted(h.view, d)}, others = {h.view};
      copies.insert(copies.end(), in.begin() + 2, in.end()), others.insert(others.end(), in.begin() + 2, in.end());
      const Tensor want = call(c, copies);
      call_in_place(c, self, others);
      expect_same(self, want);
    }
  });
}

TEST_P(RowDestinations, InPlaceWithBroadcastOperands) {
  if (row.inputs < 2 || row.types.mask_first) return;
  for_accepted([&](DType d) {
    std::vector<Shape> shapes = {{5, 7}, {7}, {5, 1}};
    shapes.resize(row.inputs);
    const std::vector<Tensor> in = operands(c, d, shapes, 15), rest(in.begin() + 1, in.end());
    const Tensor fresh = call(c, in);
    if (category(fresh.dtype()) > category(d)) return;
    for (const Shape& strides : layouts_of_5_7()) {
      Guarded g(in[0], strides);
      call_in_place(c, g.view, rest);
      expect_same(g.view, converted(fresh, d)), g.expect_guards_intact();
    }
    Tensor small = operands(c, d, equal_shapes(c, {7}))[0];  // self never grows
    std::vector<Tensor> large = {in[0]};
    for (std::size_t i = 2; i < in.size(); ++i) large.push_back(in[i]);
    EXPECT_EQ(error_of<ShapeError>([&] { call_in_place(c, small, large); }).find(std::string(row.name) + ": expected"),
              0u);
  });
}

INSTANTIATE_TEST_SUITE_P(Tables, RowDestinations, ::testing::ValuesIn(row_cases()),
                         [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace neura::test
