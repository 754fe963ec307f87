// Places of elements, and walks over them in logical order.
#include "neura/core/walk.h"

#include <gtest/gtest.h>

#include <vector>

#include "neura/ops/create/create.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"

namespace neura {
namespace {

using test::error_of;

TEST(Places, OffsetsAndCoordinatesAreInverse) {
  for (const Shape& shape : {Shape{2, 3, 4}, Shape{5}, Shape{1, 1}, Shape{}, Shape{7, 1, 2}}) {
    const Shape strides = calculate_strides(shape);
    for (std::int64_t i = 0; i < shape.numel(); ++i)
      EXPECT_EQ(get_offset(index_to_coord(i, shape), shape, strides), i) << shape.str();
  }
  EXPECT_EQ(index_to_coord(17, {2, 3, 4}), (Shape{1, 1, 1}));
  EXPECT_EQ(get_offset({1, 0, 3}, {2, 3, 4}, {1, 2, 6}), 19);
  EXPECT_EQ(get_offset({}, {}, {}), 0);
}
TEST(Places, OutsideOfTheShapeIsAnError) {
  EXPECT_EQ(error_of<IndexError>([] {
              get_offset({2, 0}, {2, 3}, {3, 1});
            }),
            "get_offset: expected an index inside of the shape [2, 3], got [2, 0]");
  EXPECT_THROW(get_offset({0, -1}, {2, 3}, {3, 1}), IndexError);
  EXPECT_THROW(get_offset({0}, {2, 3}, {3, 1}), IndexError);
  EXPECT_THROW(get_offset({0, 0}, {0, 3}, {3, 1}), IndexError);  // nothing is inside
  EXPECT_EQ(error_of<IndexError>([] {
              index_to_coord(6, {2, 3});
            }),
            "index_to_coord: expected a place below 6 for the shape [2, 3], got 6");
  EXPECT_THROW(index_to_coord(-1, {2}), IndexError);
  EXPECT_THROW(index_to_coord(0, {2, 0}), IndexError);
  EXPECT_EQ(index_to_coord(0, {}), Shape{});
}

std::vector<std::int64_t> order(const Tensor& t) {
  std::vector<std::int64_t> seen;
  const std::int64_t* p = t.const_data<std::int64_t>();
  auto o = StridedIterator<1>::over(t.shape(), {t.strides()});
  for (std::int64_t i = 0; i < t.numel(); ++i, o.next()) {
    EXPECT_EQ(Shape(o.index, std::size_t(o.rank)), index_to_coord(i, t.shape()));
    seen.push_back(p[o.at[0]]);
  }
  return seen;
}
TEST(StridedIterator, GoesInLogicalOrder) {
  const Tensor x = arange(24).reshape({2, 3, 4});
  EXPECT_EQ(order(x.select(0, 1).t()), (std::vector<std::int64_t>{12, 16, 20, 13, 17, 21, 14, 18, 22, 15, 19, 23}));
  EXPECT_EQ(order(x.slice(2, 1, 4, 2).select(1, 2)), (std::vector<std::int64_t>{9, 11, 21, 23}));
  EXPECT_EQ(order(arange(2).unsqueeze(1).expand({2, 3})), (std::vector<std::int64_t>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(order(x.select(0, 0).select(0, 0).select(0, 3)), (std::vector<std::int64_t>{3}));
  EXPECT_TRUE(order(x.narrow(1, 0, 0)).empty());
}
TEST(StridedIterator, BroadcastsSeveralOperands) {
  const Tensor a = arange(3).reshape({3, 1}), b = arange(8).reshape({4, 2}).t().select(0, 1);  // 1 3 5 7
  const Shape both = broadcast_shapes("test", a.shape(), b.shape());
  std::vector<std::int64_t> sums;
  auto o = StridedIterator<2>::over(
      both, {broadcast_strides(a.shape(), a.strides(), both), broadcast_strides(b.shape(), b.strides(), both)});
  for (std::int64_t i = 0; i < both.numel(); ++i, o.next())
    sums.push_back(10 * a.const_data<std::int64_t>()[o.at[0]] + b.const_data<std::int64_t>()[o.at[1]]);
  EXPECT_EQ(sums, (std::vector<std::int64_t>{1, 3, 5, 7, 11, 13, 15, 17, 21, 23, 25, 27}));
  o.seek(7);
  EXPECT_TRUE(o.at[0] == 1 && o.at[1] == 6);
  EXPECT_EQ(broadcast_strides({3, 1}, {5, 7}, {2, 3, 4}), (Shape{0, 5, 0}));
  EXPECT_EQ(error_of<ShapeError>([] { broadcast_strides({2}, {1}, {1}); }),
            "broadcast_strides: expected a shape that broadcasts to [1], got [2]");
  EXPECT_THROW(broadcast_strides({2}, {1}, {3}), ShapeError);
}

}  // namespace
}  // namespace neura
