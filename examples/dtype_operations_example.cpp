// Whole numbers and truth values: how such tensors are made, counted with, compared, and how they choose elements of
// others. Every result shown is compared with what it must be.
#include <neura/neura.h>

#include <iostream>

#include "example.h"

using namespace neura;

// Equal in dtype, sizes and values?
void show(const char* code, const Tensor& got, const Tensor& expected) {
  std::cout << code << "\n" << got << "\n";
  example::check(got.dtype() == expected.dtype() && equal(got, expected), code);
}

int main(int argc, char** argv) {
  const Device device = example::options(argc, argv, "Tensors of integers and bool, and what chooses by them.").device;
  const DeviceScope on(device);  // what is made below is made there
  manual_seed(4);

  // Making them. Literals mean what they mean in Python: {1, 2} is int64, {true, false} bool.
  show("zeros, int32", zeros({2, 3}, {.dtype = int32}), tensor({{0, 0, 0}, {0, 0, 0}}, {.dtype = int32}));
  show("ones, uint8", ones({3}, {.dtype = uint8}), tensor({1, 1, 1}, {.dtype = uint8}));
  show("full({2}, true)", full({2}, true), tensor({true, true}));
  const Tensor dice = randint(1, 7, {1000});
  example::check(dice.dtype() == int64 && all(dice >= 1).item<bool>() && all(dice <= 6).item<bool>(),
                 "randint(1, 7): int64 from 1 to 6");
  const Tensor coins = bernoulli(full({1000}, 0.25)).to(boolean);
  const int heads = coins.sum().item<int>();  // the sum of bool counts, in int64
  std::printf("%d of 1000 coins that fall on heads once in four\n", heads);
  example::check(heads > 150 && heads < 350, "bernoulli: about a quarter");

  // Arithmetic. Dtypes meet in the smallest that holds both; / is true division, and gives floating numbers.
  const Tensor a = tensor({7, -7, 3}), b = tensor({2, 2, -2});
  show("a + b", a + b, tensor({9, -5, 1}));
  show("a / b", a / b, tensor({3.5, -3.5, -1.5}));
  show("floor_divide(a, b)", floor_divide(a, b), tensor({3, -4, -2}));
  show("a % b: the sign of b", a % b, tensor({1, 1, -1}));
  show("int32 + int64 is int64", tensor({1}, {.dtype = int32}) + a, tensor({8, -6, 4}));
  show("uint8 wraps around", tensor({250}, {.dtype = uint8}) + tensor({10}, {.dtype = uint8}),
       tensor({4}, {.dtype = uint8}));
  show("a & 3, bit by bit", a & 3, tensor({3, 1, 3}));

  // Logic. Comparisons give bool.
  const Tensor odd = a % 2 == 1, positive = a > 0;
  show("a > 0", positive, tensor({true, false, true}));
  show("logical_and", logical_and(odd, positive), tensor({true, false, true}));
  show("logical_xor", logical_xor(odd, positive), tensor({false, true, false}));
  show("logical_not of integers: what is 0", logical_not(tensor({0, 5})), tensor({true, false}));

  // Choosing by numbers and by masks.
  const Tensor table = arange(12).reshape({3, 4});
  show("index_select: columns 3 and 0", index_select(table, 1, tensor({3, 0})), tensor({{3, 0}, {7, 4}, {11, 8}}));
  show("masked_select: a vector of what the mask holds", masked_select(table, table % 5 == 0), tensor({0, 5, 10}));
  Tensor filled = table.clone();
  masked_fill_(filled, filled > 8, -1);
  show("masked_fill_", filled, tensor({{0, 1, 2, 3}, {4, 5, 6, 7}, {8, -1, -1, -1}}));
  show("where", where(table % 2 == 0, table, zeros_like(table)), tensor({{0, 0, 2, 0}, {4, 0, 6, 0}, {8, 0, 10, 0}}));
  show("bincount: how often each number occurs", bincount(tensor({0, 2, 2, 5})), tensor({1, 0, 2, 0, 0, 1}));
  show("bincount with weights", bincount(tensor({0, 1, 1}), tensor({0.5, 1.0, 2.0})), tensor({0.5, 3.0}));
}
