// Storage: blocks of every size, ownership, what a tensor is made of.
#include "neura/core/storage.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"

namespace neura {
namespace {

using test::error_of;

TEST(Storage, BlocksOfEverySizeAreAlignedAndApart) {
  std::vector<Ref<Storage>> all;
  const auto fill = [](Storage* s, int value) { std::memset(s->data, value, s->capacity); };
  std::vector<std::size_t> sizes;
  for (std::size_t n = 0; n < 300; ++n) sizes.push_back(n);
  for (const std::size_t power : {10, 12, 13, 14, 15, 16, 17, 20, 21})
    for (int around = -70; around <= 70; around += 14) sizes.push_back((std::size_t{1} << power) + std::size_t(around));
  std::uint32_t seed = 1;
  for (int round = 0; round < 6; ++round) {  // freed and taken again in another order: a block is never given twice
    for (const std::size_t n : sizes) {
      Storage* s = Storage::make(n);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(s->data) % 64, 0u) << n;
      EXPECT_EQ(s->bytes, n);
      EXPECT_GE(s->capacity, n);
      EXPECT_TRUE(s->device.is_cpu());
      all.push_back(Ref<Storage>::adopt(s));
      fill(s, int(all.size() % 251));
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto* bytes = static_cast<const unsigned char*>(all[i]->data);
      const auto want = (unsigned char)((i + 1) % 251);
      if (!all[i]->capacity) continue;
      EXPECT_EQ(bytes[0], want) << all[i]->bytes;
      EXPECT_EQ(bytes[all[i]->capacity - 1], want) << all[i]->bytes;
    }
    while (!all.empty()) {
      seed = seed * 1664525 + 1013904223;
      std::swap(all[seed % all.size()], all.back()), all.pop_back();
    }
  }
}

TEST(Storage, IsReleasedWithItsLastOwner) {
  static int released = 0;
  static float numbers[6] = {0, 1, 2, 3, 4, 5};
  Storage* s = Storage::wrap(
      numbers, sizeof numbers, [](Storage*) { ++released; }, nullptr);
  Tensor base(Ref<TensorImpl>::adopt(TensorImpl::make(Spec::dense(float32, Shape{2, 3}), s)));
  Tensor view = base.transpose(0, 1), plain = base.detach();
  EXPECT_EQ(s->count, 3u);
  base = {};
  EXPECT_EQ(view.to_vector<float>(), (std::vector<float>{0, 3, 1, 4, 2, 5}));  // the view outlives its base
  EXPECT_EQ(view.const_raw_data(), numbers);
  view = {};
  EXPECT_EQ(released, 0);
  plain = {};
  EXPECT_EQ(released, 1);
}

TEST(Storage, NoBytesWithoutAnAddressAreNoAbsentOperand) {  // as other libraries lend empty arrays
  const auto empty = [](Shape sizes) {
    Storage* s = Storage::wrap(
        nullptr, 0, [](Storage*) {}, nullptr);
    return Tensor(Ref<TensorImpl>::adopt(TensorImpl::make(Spec::dense(bfloat16, sizes), s)));
  };
  const Tensor a = empty({5, 0}), b = empty({0, 3});
  EXPECT_NE(a.const_raw_data(), nullptr);
  EXPECT_EQ(matmul(a, b).to(float32).to_vector<float>(), std::vector<float>(15, 0));
  EXPECT_EQ(addmm(full({5, 3}, 2, {.dtype = bfloat16}), a, b).to(float32).to_vector<float>(),
            std::vector<float>(15, 2));
}

TEST(Storage, HandlesShareOneTensor) {
  Tensor a = full({2, 3}, 1.0), b = a;
  EXPECT_TRUE(a.is_same(b));
  b.fill_(2);
  EXPECT_EQ(a.to_vector<float>(), std::vector<float>(6, 2.0f));
  b.requires_grad_();
  EXPECT_TRUE(a.requires_grad());
  EXPECT_FALSE(a.clone().is_same(a));
  EXPECT_NE(a.clone().const_raw_data(), a.const_raw_data());
  EXPECT_EQ(a.to(float32).const_raw_data(), a.const_raw_data());  // nothing to do: no copy
}

TEST(Storage, TypedPointersAreChecked) {
  const Tensor x = full({2}, 1.0), n = full({2}, 7, {.dtype = int64});
  EXPECT_EQ(n.const_data<std::int64_t>()[1], 7);
  EXPECT_EQ(error_of<DTypeError>([&] { (void)x.data<double>(); }),
            "data: expected a tensor of float64, got float32 [2]; convert it with .to()");
  EXPECT_EQ(error_of<DTypeError>([&] { (void)n.const_data<float>(); }),
            "data: expected a tensor of float32, got int64 [2]; convert it with .to()");
  const std::string said = error_of<DeviceError>([] { Storage::make(8, Device("cuda:99")); });
  EXPECT_EQ(said.find("device: expected "), 0u) << said;
}

}  // namespace
}  // namespace neura
