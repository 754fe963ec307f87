// Transforms of pictures on a device are those on the cpu, with the same random numbers.
#include "neura/data/augment.h"
#include "neura/neura.h"
#include "tests/device/device.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using namespace data;

Tensor picture(const Shape& sizes) { return sample(sizes, uint8, {.low = 0, .high = 256}); }

template <class T> void expect_the_same(const char* name, T transform, DType dtype) {
  const Tensor x = dtype == uint8 ? picture({2, 3, 12, 14}) : ToFloat()(picture({2, 3, 12, 14}));
  Generator here(9), there(9);
  bool changed = false;
  for (int i = 0; i < 12; ++i) {
    transform.generator = &here;
    const Tensor want = transform(x);
    transform.generator = &there;
    const Tensor got = transform(x.to(kDevice));
    ASSERT_EQ(got.device(), kDevice) << name;
    ASSERT_EQ(got.dtype(), dtype) << name;
    const Tensor far = amax(abs(sub(got.to(Device()).to(float64), want.to(float64))));
    ASSERT_LE(far.item().real(), dtype == uint8 ? 1 : 2e-5) << name << " " << i;
    changed |= !equal(want, x);
  }
  EXPECT_TRUE(changed) << name;
}

TEST(DevicePictures, AreTheSameOnADevice) {
  for (const DType dtype : {uint8, float32}) {
    expect_the_same("flip", RandomHorizontalFlip{}, dtype);
    expect_the_same("vertical flip", RandomVerticalFlip{}, dtype);
    expect_the_same("crop", RandomCrop{12, 14, 2}, dtype);
    expect_the_same("resized crop", RandomResizedCrop{12, 14}, dtype);
    expect_the_same("grayscale", RandomGrayscale{0.5}, dtype);
    expect_the_same("jitter", ColorJitter{{0.6, 1.4}, {0.6, 1.4}, {0.6, 1.4}, {-0.2, 0.2}}, dtype);
    expect_the_same("rotation", RandomRotation{{-40, 40}, false, {.interpolation = "bilinear", .fill = {1, 0, 1}}},
                    dtype);
    expect_the_same("affine", RandomAffine{{-9, 9}, {{0.1, 0.2}}, {{0.8, 1.2}}, {}, {.interpolation = "bilinear"}},
                    dtype);
    expect_the_same("erasing", RandomErasing{.value = {}}, dtype);
    expect_the_same("blur", GaussianBlur{{3, 5}}, dtype);
    expect_the_same("trivial augment", TrivialAugmentWide{31, {.interpolation = "bilinear"}}, dtype);
  }
}

TEST(DevicePictures, AreMixedOnADevice) {
  const Tensor x = sample({4, 3, 6, 7}), classes = tensor({0, 2, 1, 1});
  Generator g[2] = {Generator(3), Generator(3)};
  for (int i = 0; i < 10; ++i) {
    const auto [a, b] = CutMix{1, 3, &g[0]}(x, classes);
    const auto [c, d] = CutMix{1, 3, &g[1]}(x.to(kDevice), classes.to(kDevice));
    expect_same(c.to(Device()), a);
    expect_close(d.to(Device()), b);
    const auto [e, f] = MixUp{1, 3, &g[0]}(x, classes);
    const auto [h, k] = MixUp{1, 3, &g[1]}(x.to(kDevice), classes.to(kDevice));
    expect_close(h.to(Device()), e);
    expect_close(k.to(Device()), f);
  }
}

}  // namespace
}  // namespace neura::test
