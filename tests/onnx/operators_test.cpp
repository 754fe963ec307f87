// What importers get wrong: each test is a meaning that differs from another framework's, or from another version's.
#include "neura/onnx/operators.h"

#include <cmath>
#include <limits>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "tests/onnx/build.h"
#include "tests/support/close.h"
#include "tests/support/refusals.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using namespace onnx;

Tensor numbers(const std::vector<double>& v, const Shape& shape) {
  return tensor(v, shape, {.dtype = float64}).to(float32);
}
Tensor counted(std::int64_t n, const Shape& shape) { return arange(n, {.dtype = float32}).reshape(shape); }

TEST(Operators, NamesAndVersionsAreUnique) {
  const auto all = all_operators();
  for (const Operator* a : all)
    for (const Operator* b : all)
      if (a != b && std::string_view(a->name) == b->name && std::string_view(a->domain) == b->domain)
        EXPECT_TRUE(a->last < b->first || b->last < a->first) << a->name;
  EXPECT_GT(all.size(), 180u);
}

TEST(Operators, SoftmaxOfOldVersionsFlattens) {
  const Tensor x = sample({2, 3, 4});
  const Tensor old = one("Softmax", {x}, {}, 11), now = one("Softmax", {x}, {}, 13);
  expect_close(old.sum(Dims{1, 2}), std::vector<double>{1, 1});  // all from axis 1 on
  expect_close(now.sum(2), ones({2, 3}));                        // the last alone
}

TEST(Operators, OldVersionsSpreadFromAnAxisOn) {
  const Tensor a = zeros({2, 3, 4}), b = numbers({1, 2, 3}, {3});
  const std::vector<AttributeProto> from_1 = {attribute("broadcast", std::int64_t{1}),
                                              attribute("axis", std::int64_t{1})};
  expect_close(one("Add", {a, b}, from_1, 6), expand(b.reshape({3, 1}), {2, 3, 4}));
  EXPECT_THROW(one("Add", {a, b}, {}, 6), ShapeError);
  expect_close(one("PRelu", {neg(ones({1, 3, 2})), b}, {}, 6), std::vector<double>{-1, -1, -2, -2, -3, -3});
}

TEST(Operators, SlicesMayRunBackwards) {
  const Tensor x = counted(6, {6});
  const auto slice = [&](std::int64_t from, std::int64_t to, std::int64_t step) {
    return one("Slice",
               {x, integers(Integers{from}), integers(Integers{to}), integers(Integers{0}), integers(Integers{step})});
  };
  expect_close(slice(-1, INT64_MIN, -1), std::vector<double>{5, 4, 3, 2, 1, 0});
  expect_close(slice(4, 0, -2), std::vector<double>{4, 2});
  expect_close(slice(100, 1, -3), std::vector<double>{5, 2});
  EXPECT_EQ(slice(0, 5, -1).numel(), 0);
  expect_close(slice(-100, -200, -1), std::vector<double>{0});  // in Python: nothing
  expect_close(slice(-100, 3, 2), std::vector<double>{0, 2});
  expect_close(one("Slice", {x}, {attribute("starts", Integers{1}), attribute("ends", Integers{3})}, 9),
               std::vector<double>{1, 2});
}

TEST(Operators, GatherCountsFromTheEnd) {
  expect_close(one("Gather", {counted(4, {4}), integers(Integers{-1, 0, -4})}), std::vector<double>{3, 0, 0});
}

TEST(Operators, ReshapeKeepsSizesAtZeros) {
  const Tensor x = counted(6, {2, 3});
  EXPECT_EQ(one("Reshape", {x, integers(Integers{0, -1, 1})}).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(
      one("Reshape", {zeros({0, 3}), integers(Integers{3, 0})}, {attribute("allowzero", std::int64_t{1})}).shape(),
      (Shape{3, 0}));
}

TEST(Operators, PadsMayBeNegativeAndWrap) {
  const Tensor x = counted(4, {4});
  const auto pad = [&](const char* mode, const Integers& p) {
    return one("Pad", {x, integers(p)}, {attribute("mode", mode)});
  };
  expect_close(pad("wrap", {2, 1}), std::vector<double>{2, 3, 0, 1, 2, 3, 0});
  expect_close(pad("reflect", {2, 1}), std::vector<double>{2, 1, 0, 1, 2, 3, 2});
  expect_close(pad("edge", {1, -2}), std::vector<double>{0, 0, 1});
  expect_close(pad("constant", {-1, 1}), std::vector<double>{1, 2, 3, 0});
}

TEST(Operators, SameLowerPadsTheBeginning) {
  const Tensor x = counted(4, {1, 1, 4}), w = ones({1, 1, 2});
  const auto conv = [&](const char* mode) { return one("Conv", {x, w}, {attribute("auto_pad", mode)}); };
  expect_close(conv("SAME_LOWER"), std::vector<double>{0, 1, 3, 5});
  expect_close(conv("SAME_UPPER"), std::vector<double>{1, 3, 5, 3});
  expect_close(conv("VALID"), std::vector<double>{1, 3, 5});
}

TEST(Operators, ACeiledWindowThatBeginsInPaddingIsLeftOut) {
  const Tensor x = counted(3, {1, 1, 3});
  const std::vector<AttributeProto> a = {attribute("kernel_shape", Integers{1}), attribute("strides", Integers{2}),
                                         attribute("pads", Integers{0, 1}), attribute("ceil_mode", std::int64_t{1})};
  expect_close(one("MaxPool", {x}, a), std::vector<double>{0, 2});
}

TEST(Operators, AveragesCountPaddingOnlyWhenAsked) {
  const Tensor x = ones({1, 1, 3});
  const auto pool = [&](std::int64_t with) {
    return one("AveragePool", {x},
               {attribute("kernel_shape", Integers{3}), attribute("pads", Integers{1, 1}),
                attribute("count_include_pad", with)});
  };
  expect_close(pool(0), std::vector<double>{1, 1, 1});
  expect_close(pool(1), std::vector<double>{2.0 / 3, 1, 2.0 / 3});
}

TEST(Operators, MaximumTakesAnyNumberOfOperands) {
  const Tensor a = numbers({1, 5}, {2}), b = numbers({4, 2}, {2}), c = numbers({3}, {1});
  expect_close(one("Max", {a, b, c}), std::vector<double>{4, 5});
  expect_close(one("Mean", {a, b, c}), std::vector<double>{8.0 / 3, 10.0 / 3});
  expect_close(one("Sum", {a}), a);
}

TEST(Operators, BoundsMayBeAbsent) {
  const Tensor x = numbers({-2, 0, 2}, {3});
  expect_close(one("Clip", {x, Tensor(), full({}, 1.0)}), std::vector<double>{-2, 0, 1});
  expect_close(one("Clip", {x}, {attribute("min", -1.0)}, 6), std::vector<double>{-1, 0, 2});
}

TEST(Operators, AConstantOfNoShapeIsANumber) {
  EXPECT_EQ(one("ConstantOfShape", {zeros({0}, {.dtype = int64})}).dim(), 0);
}

TEST(Operators, RemaindersFollowTheDivisorUnlessAsInC) {
  const Tensor a = tensor({-4, 7, 5}, {.dtype = int64}), b = tensor({3, -3, 3}, {.dtype = int64});
  expect_close(one("Mod", {a, b}), std::vector<double>{2, -2, 2});
  expect_close(one("Mod", {a, b}, {attribute("fmod", std::int64_t{1})}), std::vector<double>{-1, 1, 2});
  expect_close(one("Div", {a, b}), std::vector<double>{-1, -2, 1});  // towards 0
}

TEST(Operators, ShiftsByTheWidthLeaveNothing) {
  const Tensor a = tensor({200, 255}, {.dtype = uint8}), b = tensor({1, 8}, {.dtype = uint8});
  expect_close(one("BitShift", {a, b}, {attribute("direction", "LEFT")}), std::vector<double>{144, 0});
  expect_close(one("BitShift", {a, b}, {attribute("direction", "RIGHT")}), std::vector<double>{100, 0});
}

TEST(Operators, EinsumKnowsCapitals) {
  const Tensor a = sample({2, 3}), b = sample({3, 2});
  expect_close(one("Einsum", {a, b}, {attribute("equation", "Ab, bC -> AC")}), a.matmul(b));
}

TEST(Operators, TypesThatNeuraHasNotWrapAround) {
  GraphProto g = graph({node("Cast", {"x"}, {"u"}, {attribute("to", std::int64_t{4})}), node("Add", {"u", "u"}, {"s"}),
                        node("Cast", {"s"}, {"y"}, {attribute("to", std::int64_t{7})})},
                       {"x"}, {"y"});
  expect_close(load(model(g))->forward({Value(tensor({40000, 5}, {.dtype = int64}))})[0].tensor,
               std::vector<double>{80000 - 65536, 10});
}

TEST(Operators, SmallFloatsAreRounded) {
  const auto through = [](std::int64_t type, double x, std::int64_t saturate) {
    GraphProto g = graph({node("Cast", {"x"}, {"u"}, {attribute("to", type), attribute("saturate", saturate)}),
                          node("Cast", {"u"}, {"y"}, {attribute("to", std::int64_t{1})})},
                         {"x"}, {"y"});
    return load(model(g))->forward({Value(full({}, x))})[0].tensor.item<double>();
  };
  EXPECT_EQ(through(17, 1.0625, 1), 1.0);  // e4m3: a tie goes to the even one
  EXPECT_EQ(through(17, 1.1875, 1), 1.25);
  EXPECT_EQ(through(17, 1e6, 1), 448);
  EXPECT_TRUE(std::isnan(through(17, 1e6, 0)));
  EXPECT_EQ(through(19, 1e6, 1), 57344);
  EXPECT_TRUE(std::isinf(through(19, 1e6, 0)));
  EXPECT_EQ(through(18, 1e6, 1), 240);  // without infinities and a negative zero
  EXPECT_EQ(through(23, 5.1, 1), 6);
}

TEST(Operators, ResizeHasItsCoordinatesFromTheVersion) {
  const Tensor x = counted(2, {1, 1, 2}), none;
  const Tensor old = one("Resize", {x, numbers({1, 1, 2}, {3})}, {attribute("mode", "linear")}, 10);
  expect_close(old, std::vector<double>{0, 0.5, 1, 1});  // asymmetric
  expect_close(one("Resize", {counted(4, {1, 1, 4}), numbers({1, 1, 0.6}, {3})}, {}, 10), std::vector<double>{0, 2});
  const Tensor now = one("Resize", {x, none, numbers({1, 1, 2}, {3})}, {attribute("mode", "linear")}, 11);
  expect_close(now, std::vector<double>{0, 0.25, 0.75, 1});  // by centres
}

TEST(Operators, ReductionsTakeAxesFromTheVersionOn) {
  const Tensor x = counted(6, {2, 3});
  expect_close(one("ReduceSum", {x}, {attribute("axes", Integers{1}), attribute("keepdims", std::int64_t{0})}, 11),
               std::vector<double>{3, 12});
  expect_close(one("ReduceSum", {x, integers(Integers{1})}, {attribute("keepdims", std::int64_t{0})}, 13),
               std::vector<double>{3, 12});
  expect_close(one("ReduceMax", {x}, {attribute("axes", Integers{-2})}, 13), numbers({3, 4, 5}, {1, 3}));
}

TEST(Operators, GroupNormalizationScalesGroupsBeforeVersion21) {
  const Tensor x = sample({2, 4, 5}), zero4 = zeros({4}), zero2 = zeros({2});
  const std::vector<AttributeProto> groups = {attribute("num_groups", std::int64_t{2})};
  const Tensor by_group = one("GroupNormalization", {x, numbers({1, 3}, {2}), zero2}, groups, 18);
  expect_close(by_group, one("GroupNormalization", {x, numbers({1, 1, 3, 3}, {4}), zero4}, groups, 21));
}

TEST(Operators, QuantisationRoundsHalvesToEven) {
  const Tensor x = numbers({-1.5, 0.5, 1.5, 2.5, 300}, {5});
  expect_close(one("QuantizeLinear", {x, full({}, 1.0), full({}, 2, {.dtype = uint8})}),
               std::vector<double>{0, 2, 4, 4, 255});
}

TEST(Operators, ProductsOfBytesTakeEveryFormOfZeroPoint) {
  const Tensor b = sample({5, 4}, float64, {.low = -128, .high = 127, .seed = 2}).to(int8);
  for (const DType left : {uint8, int8}) {
    const Tensor a = sample({2, 3, 5}, float64, {.low = 0, .high = 127}).to(left);
    const Tensor one_a = full({}, 7, {.dtype = left}), row_a = tensor({1., 2., 100.}).to(left);
    const Tensor one_b = full({}, -9, {.dtype = int8}), row_b = tensor({-128., 0., 3., 127.}).to(int8);
    const auto wide = [](const Tensor& t) { return t.to(float64); };
    for (const Tensor& za : {one_a, row_a.reshape({1, 3, 1})})
      for (const Tensor& zb : {one_b, row_b}) {
        const Tensor want = matmul(wide(a) - wide(za), wide(b) - wide(zb));
        expect_same(one("MatMulInteger", {a, b, za, zb}), want.to(int32));
      }
    expect_same(one("MatMulInteger", {select(a, 0, 1), b, row_a}),
                matmul(wide(select(a, 0, 1)) - wide(row_a.reshape({3, 1})), wide(b)).to(int32));
    expect_same(one("MatMulInteger", {a, b}), matmul(wide(a), wide(b)).to(int32));
    const Tensor scale = full({}, 0.5), result = full({}, 40., {.dtype = float32});
    const Tensor y = one("QLinearMatMul", {a, scale, one_a, b, scale, one_b, result, full({}, 3, {.dtype = uint8})});
    const Tensor sums = matmul(wide(a) - wide(one_a), wide(b) - wide(one_b)) * 0.25;
    expect_same(y, clamp(neura::round(sums / 40.) + 3., {0., 255.}).to(uint8));
  }
}

// As a damaged file, or a wrong one, may have them.
TEST(Operators, AttributesThatDoNotFitAreRefused) {
  const Tensor x = ones({1, 1, 3, 3}), weight = ones({1, 1, 2, 2}), region = full({1, 4}, NAN),
               huge = full({1, 4}, 1e30);
  const Tensor one_size = integers(Integers{2}), two_sizes = integers(Integers{3, 3}), first = integers(Integers{0});
  expect_refusals<ShapeError>({
      {"node \"ConvTranspose_of_y0\" (ConvTranspose): ConvTranspose: expected an output_shape",
       [&] {
         one("ConvTranspose", {x, weight}, {attribute("output_shape", Integers{4})});
       }},
      {"node \"MaxUnpool_of_y0\" (MaxUnpool): MaxUnpool: expected a kernel size per dimension, got []",
       [&] {
         one("MaxUnpool", {x, zeros({1, 1, 3, 3}, {.dtype = int64})});
       }},
      {"node \"DeformConv_of_y0\" (DeformConv): window: expected an input",
       [&] {
         one("DeformConv", {x, weight, zeros({1, 8, 2, 2})}, {attribute("pads", Integers{0})}, 19);
       }},
      {"node \"Col2Im_of_y0\" (Col2Im): Col2Im: expected a size of the block per dimension, got [2]",
       [&] {
         one("Col2Im", {ones({1, 4, 4}), two_sizes, one_size});
       }},
      {"node \"RoiAlign_of_y0\" (RoiAlign): RoiAlign: expected an image",
       [&] {
         one("RoiAlign", {zeros({1, 1, 0, 3}), zeros({1, 4}), first});
       }},
  });
  const std::vector<AttributeProto> two_samples{attribute("sampling_ratio", std::int64_t{2})};
  expect_refusals<ValueError>({
      {"node \"CenterCropPad_of_y0\" (CenterCropPad): CenterCropPad: expected a size per axis, got 2 and 1",
       [&] {
         one("CenterCropPad", {x, two_sizes}, {attribute("axes", Integers{2})});
       }},
      {"node \"RoiAlign_of_y0\" (RoiAlign): RoiAlign: expected regions of finite numbers",
       [&] {
         one("RoiAlign", {x, region, first}, two_samples);
       }},
      {"node \"RoiAlign_of_y0\" (RoiAlign): RoiAlign: expected regions about as large as the image",
       [&] {
         one("RoiAlign", {x, huge * tensor({0., 0., 1., 1.}).to(float32), first});
       }},
  });
}

TEST(Operators, ResizeRefusesWhatItCannotWalk) {
  const Tensor x = ones({1, 1, 2, 4}), none;
  const std::vector<AttributeProto> no_axes = {attribute("axes", Integers{}), attribute("mode", "nearest"),
                                               attribute("keep_aspect_ratio_policy", "not_smaller")};
  EXPECT_EQ(error_of<ValueError>([&] {
              one("Resize", {x, none, none, integers(Integers{1, 3})}, no_axes, 19);
            }),
            "node \"Resize_of_y0\" (Resize): Resize: expected one scale or size per axis, got 2; the model is not what "
            "this operator takes");
  const std::vector<AttributeProto> crop = {attribute("mode", "linear"),
                                            attribute("coordinate_transformation_mode", "tf_crop_and_resize")};
  for (const double end : {std::numeric_limits<double>::infinity(), std::nan(""), 1e30}) {
    const Tensor region = numbers({0, 0, 0, 0, 1, 1, 1, end}, {8});
    EXPECT_THROW(one("Resize", {x, region, numbers({1, 1, 1, 2}, {4})}, crop, 19), ValueError) << end;
  }
}

TEST(Operators, BlocksWhoseSquareCannotBeCountedAreRefused) {  // 2^64 is 0, and nothing is divided by it
  for (const char* op : {"DepthToSpace", "SpaceToDepth"})
    for (const std::int64_t size : {std::int64_t{0}, std::int64_t{1} << 32, INT64_MAX})
      EXPECT_EQ(error_of<ValueError>([&] {
                  one(op, {ones({1, 4, 2, 2})}, {attribute("blocksize", size)});
                }),
                std::string("node \"") + op + "_of_y0\" (" + op + "): " + op +
                    ": expected a blocksize of 1 to 32767, got " + std::to_string(size) +
                    "; the model is not what this operator takes");
}

TEST(Operators, TheFirstOfEqualsIsOnTop) {
  const Results r = run_node("TopK", {numbers({1, 3, 3, 2}, {4}), integers(Integers{2})}, {}, 11, 2);
  expect_close(r[1].tensor, std::vector<double>{1, 2});
}

TEST(Operators, MaskedRowsOfAttentionAreZero) {
  const Tensor q = sample({1, 1, 2, 4});
  const Tensor mask = tensor({{true, true}, {false, false}});
  const Tensor y = one("Attention", {q, q, q, mask}, {}, 23);
  expect_close(select(y, 2, 1), zeros({1, 1, 4}));
}

}  // namespace
}  // namespace neura::test
