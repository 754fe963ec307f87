// Dtypes, devices, and what a tensor says of itself.
#include "neura/core/tensor.h"

#include <gtest/gtest.h>

#include <unordered_map>

#include "neura/autograd/autograd.h"
#include "neura/core/tensor_key.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"

namespace neura {
namespace {

TEST(DTypes, TableOfSizesNamesAndCategories) {
  struct Want {
    DType dtype;
    const char* name;
    int size;
    Category category;
  };
  const Want all[] = {{boolean, "bool", 1, Category::boolean},
                      {uint8, "uint8", 1, Category::integer},
                      {int8, "int8", 1, Category::integer},
                      {int16, "int16", 2, Category::integer},
                      {int32, "int32", 4, Category::integer},
                      {int64, "int64", 8, Category::integer},
                      {float16, "float16", 2, Category::floating},
                      {bfloat16, "bfloat16", 2, Category::floating},
                      {float32, "float32", 4, Category::floating},
                      {float64, "float64", 8, Category::floating},
                      {complex64, "complex64", 8, Category::complex},
                      {complex128, "complex128", 16, Category::complex},
                      {float8_e4m3, "float8_e4m3fn", 1, Category::storage},
                      {float8_e5m2, "float8_e5m2", 1, Category::storage},
                      {uint16, "uint16", 2, Category::storage},
                      {uint32, "uint32", 4, Category::storage},
                      {uint64, "uint64", 8, Category::storage}};
  EXPECT_EQ(int(std::size(all)), kDTypes);
  for (const Want& w : all) {
    EXPECT_STREQ(name(w.dtype), w.name);
    EXPECT_EQ(size_of(w.dtype), w.size) << w.name;
    EXPECT_EQ(category(w.dtype), w.category) << w.name;
  }
}

TEST(Devices, TextThereAndBack) {
  for (const char* text : {"cpu", "cuda:0", "cuda:1", "cuda:7"}) EXPECT_EQ(Device(text).str(), text);
  EXPECT_EQ(Device("cuda"), Device(DeviceType::cuda, 0));
  EXPECT_NE(Device("cuda:0"), Device("cuda:1"));
  EXPECT_NE(std::hash<Device>()("cuda:0"), std::hash<Device>()("cuda:1"));
  for (const char* text : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:0x", "cpu:1:2", "cuda:99999999999"})
    EXPECT_THROW(Device{text}, DeviceError) << text;
}

TEST(TensorFields, AfterCreationViewAndOperation) {
  for (int i = 0; i < kDTypes; ++i) {
    const DType d = DType(i);
    SCOPED_TRACE(name(d));
    const Tensor x = Tensor::empty(Spec::dense(d, Shape{2, 3, 4}));
    EXPECT_EQ(x.shape(), (Shape{2, 3, 4}));
    EXPECT_EQ(x.strides(), (Shape{12, 4, 1}));
    EXPECT_TRUE(x.dtype() == d && x.device().is_cpu() && x.dim() == 3 && x.numel() == 24 && x.size(-1) == 4);
    EXPECT_TRUE(x.is_contiguous() && x.storage_offset() == 0 && x.nbytes() == 24 * std::size_t(size_of(d)));
    EXPECT_TRUE(x.is_leaf() && !x.requires_grad() && !x.grad() && !x.grad_fn());
    const Tensor v = x.select(1, 2).transpose(0, 1);
    EXPECT_EQ(v.shape(), (Shape{4, 2}));
    EXPECT_EQ(v.strides(), (Shape{1, 12}));
    EXPECT_TRUE(v.storage_offset() == 8 && !v.is_contiguous() && v.numel() == 8 && v.dtype() == d);
    EXPECT_EQ(v.impl()->storage, x.impl()->storage);
    EXPECT_EQ(x.transpose(0, 2).strides(), (Shape{1, 4, 12}));
    EXPECT_THROW((void)x.size(3), IndexError);
  }
}

TEST(TensorFields, OfAutograd) {
  Tensor w = full({2, 2}, 1.0).requires_grad_();
  EXPECT_TRUE(w.is_leaf() && w.requires_grad() && !w.grad_fn() && !w.grad());
  const Tensor y = w * 2;
  EXPECT_TRUE(!y.is_leaf() && y.requires_grad());
  EXPECT_STREQ(y.grad_fn(), "mul");
  EXPECT_TRUE(y.detach().is_leaf() && !y.detach().requires_grad());
  {
    NoGrad off;
    EXPECT_TRUE((w * 2).is_leaf());
  }
  y.backward(full({2, 2}, 1.0));
  EXPECT_EQ(w.grad().device(), w.device());
  EXPECT_EQ(w.grad().to_vector<float>(), std::vector<float>(4, 2.0f));
  EXPECT_THROW(full({2}, 1, {.dtype = int64}).requires_grad_(), AutogradError);
}

TEST(Shapes, StridesOffsetsAndDimensions) {
  EXPECT_EQ(calculate_strides({2, 3, 4}), (Shape{12, 4, 1}));
  EXPECT_EQ(calculate_strides({}), Shape{});
  EXPECT_EQ(calculate_strides({3, 0, 2}), (Shape{2, 2, 1}));
  EXPECT_EQ(wrap_dim("op", -1, 3), 2);
  EXPECT_EQ(wrap_dim("op", -1, 0), 0);
  EXPECT_THROW(wrap_dim("op", 3, 3), IndexError);
  EXPECT_EQ(broadcast_shapes("op", {}, {2, 1}), (Shape{2, 1}));
  EXPECT_EQ(broadcast_shapes("op", {4, 1, 3}, {2, 1}), (Shape{4, 2, 3}));
  EXPECT_EQ(broadcast_shapes("op", {0, 1}, {1, 5}), (Shape{0, 5}));
  for (const auto& [a, b] : {std::pair<Shape, Shape>{{2}, {3}}, {{2, 3}, {3, 3}}, {{1, 2, 3, 4}, {2, 1, 2}}})
    EXPECT_THROW(broadcast_shapes("op", a, b), ShapeError) << a.str() << b.str();
}

TEST(Identity, TensorsAreKeysByIdentity) {
  const Tensor a = full({2}, 1.0), c = a.clone();
  Tensor b;
  b = a;
  std::unordered_map<Tensor, int> by_tensor;
  by_tensor[a] = 1, by_tensor[c] = 2;
  EXPECT_EQ(by_tensor.size(), 2u);
  EXPECT_EQ(by_tensor[b], 1);
  EXPECT_EQ(by_tensor.at(c), 2);
  EXPECT_FALSE(by_tensor.contains(a.detach()));
  EXPECT_EQ(std::hash<Tensor>()(a), std::hash<Tensor>()(b));
  EXPECT_NE(std::hash<Tensor>()(a), std::hash<Tensor>()(c));
  EXPECT_TRUE(a.is_same(b) && !a.is_same(c));
  EXPECT_EQ((a == c).to_vector<bool>(), (std::vector<bool>{true, true}));  // == compares elements
}

}  // namespace
}  // namespace neura
