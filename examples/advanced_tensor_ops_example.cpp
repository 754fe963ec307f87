// Tensors of different dtypes in one expression, sequences, taking tensors apart and putting them together, and reading
// and writing by index. Every result shown is compared with what it must be.
#include <neura/neura.h>

#include <iostream>

#include "example.h"

using namespace neura;

void show(const char* code, const Tensor& got, const Tensor& expected) {
  std::cout << code << "\n" << got << "\n";
  example::check(got.dtype() == expected.dtype() && allclose(got, expected), code);
}

int main(int argc, char** argv) {
  const Device device = example::options(argc, argv, "Mixed dtypes, sequences, splitting, joining, indices.").device;
  const DeviceScope on(device);

  // Mixed dtypes: the kind decides first (bool, integer, floating, complex), then the width. A number has only a kind.
  const Tensor whole = tensor({1, 2, 3}), single = tensor({0.5, 0.5, 0.5});
  show("int64 + float32 is float32", whole + single, tensor({1.5, 2.5, 3.5}));
  show("float32 * float64 is float64", single * tensor({2., 4., 6.}, {.dtype = float64}),
       tensor({1., 2., 3.}, {.dtype = float64}));
  show("bool + int64 is int64", tensor({true, false, true}) + whole, tensor({2, 2, 4}));
  show("bfloat16 * 2.0 stays bfloat16", tensor({1.5}, {.dtype = bfloat16}) * 2.0, tensor({3.0}, {.dtype = bfloat16}));

  // Sequences
  show("arange(2, 11, 3)", arange(2, 11, 3), tensor({2, 5, 8}));
  show("linspace(0, 1, 5): both ends", linspace(0, 1, 5), tensor({0., 0.25, 0.5, 0.75, 1.}));
  show("eye(2, 3)", eye(2, 3), tensor({{1., 0., 0.}, {0., 1., 0.}}));

  // Apart and together. What unbind, chunk and split give are views: they share the bytes.
  const Tensor table = arange(12).reshape({3, 4});
  const std::vector<Tensor> rows = unbind(table, 0);
  show("unbind: three rows; the second", rows[1], tensor({4, 5, 6, 7}));
  show("stack puts them together again", stack(rows, 0), table);
  show("stack along 1 is the transposed", stack(rows, 1), table.t());
  const std::vector<Tensor> chunks = chunk(arange(7), 3);  // as equal as can be, the last is smaller
  example::check(chunks.size() == 3 && chunks[0].numel() == 3 && chunks[2].numel() == 1, "chunk(7, 3): 3, 3 and 1");
  const std::vector<Tensor> parts = split(table, std::vector<std::int64_t>{1, 3}, 1);
  show("split into 1 and 3 columns; the first", parts[0], tensor({{0}, {4}, {8}}));
  show("cat of both is the table", cat(parts, 1), table);
  rows[0][0].fill_(100);
  show("a write to a view is a write to the table", table[0], tensor({100, 1, 2, 3}));

  // gather reads one element of each row: here the score of the right class.
  const Tensor scores = tensor({{0.1, 0.7, 0.2}, {0.6, 0.3, 0.1}}), labels = tensor({1, 2});
  show("gather(scores, 1, labels)", gather(scores, 1, labels.unsqueeze(1)).squeeze(1), tensor({0.7, 0.1}));

  // scatter_ writes one element of each row: here a 1 in the column of the class.
  Tensor one_hot = zeros({2, 3});
  scatter_(one_hot, 1, labels.unsqueeze(1), 1);
  show("scatter_: one-hot", one_hot, tensor({{0., 1., 0.}, {0., 0., 1.}}));
  Tensor counts = zeros({3});
  scatter_add_(counts, 0, tensor({0, 2, 2}), ones({3}));
  show("scatter_add_ adds what meets", counts, tensor({1., 0., 2.}));

  // Both have gradients: what was read gets its share, the rest 0.
  Tensor x = tensor({{1., 2.}, {3., 4.}}).requires_grad_();
  gather(x * x, 1, tensor({{1}, {0}})).sum().backward();
  show("the gradient goes to what was gathered", x.grad(), tensor({{0., 4.}, {6., 0.}}));
}
