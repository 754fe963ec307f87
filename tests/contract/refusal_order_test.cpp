// What a function made of several operations refuses, it refuses before the first of them has run.
#include <gtest/gtest.h>

#include <functional>

#include "neura/neura.h"
#include "neura/op/apply.h"
#include "neura/op/row.h"
#include "neura/ops/nn/functions.h"

namespace neura {
namespace {

struct Ran : Interceptor {
  std::vector<std::string> names;
  void call(Call& c) override {
    apply(c);
    if (c.row->kind != Row::view) names.emplace_back(c.row->name);
  }
};

struct Wrong {
  const char* what;
  std::function<void()> call;
};

TEST(RefusalOrder, NothingIsComputedFirst) {
  const Tensor image = ones({2, 4, 5, 5}), filters = ones({4, 6, 3, 3}), other = ones({6}, {.dtype = float64}),
               counts = ones({4}, {.dtype = int64}), few = ones({3}), point = ones({1, 4, 1, 1}), rows = ones({2, 6}),
               scores = ones({3, 4}), labels = zeros({2}, {.dtype = int64}), queries = ones({2, 3, 4});
  const Tensor conv = ones({6, 4, 3, 3}), dense = ones({5, 6}), pairs = ones({5, 6, 6}), five = ones({5}),
               three_labels = ones({3}, {.dtype = int64}), turned = ones({2, 4, 3}), wide = ones({6, 5}),
               longer = ones({2, 5, 4});
  const std::vector<Wrong> all = {
      {"conv2d, bias of another dtype", [&] { conv2d(image, conv, other); }},
      {"conv2d, bias of another size", [&] { conv2d(image, conv, few); }},
      {"conv_transpose2d, bias of another dtype", [&] { conv_transpose2d(image, filters, other); }},
      {"conv_transpose2d, bias of another size", [&] { conv_transpose2d(image, filters, few); }},
      {"group_norm, one value a group", [&] { group_norm(point, 4); }},
      {"group_norm, weight of another size", [&] { group_norm(image, 2, few); }},
      {"batch_norm, one value a channel", [&] { batch_norm(point, {}, {}, {}, {}, {.training = true}); }},
      {"batch_norm, bias of another size", [&] { batch_norm(image, {}, {}, {}, few, {.training = true}); }},
      {"instance_norm, one value a channel", [&] { instance_norm(point); }},
      {"layer_norm, weight of another size", [&] { layer_norm(rows, {6}, few); }},
      {"linear, bias of another size", [&] { linear(rows, dense, few); }},
      {"bilinear, bias of another size", [&] { bilinear(rows, rows, pairs, few); }},
      {"cross_entropy, labels of another batch", [&] { cross_entropy(scores, labels); }},
      {"cross_entropy, weight of another size", [&] { cross_entropy(scores, three_labels, {.weight = few}); }},
      {"nll_loss, labels of another batch", [&] { nll_loss(scores, labels); }},
      {"prelu, weight of another size", [&] { prelu(image, few); }},
      {"embedding, floats as indices", [&] { embedding(few, scores); }},
      {"addmm, input that does not broadcast", [&] { addmm(few, rows, wide); }},
      {"baddbmm, input that does not broadcast", [&] { baddbmm(five, queries, turned); }},
      {"scaled_dot_product_attention, value of another length",
       [&] { scaled_dot_product_attention(queries, queries, longer); }},
  };
  for (const Wrong& w : all) {
    std::vector<std::string> names;
    {
      Ran ran;
      EXPECT_THROW(w.call(), Error) << w.what;
      names = ran.names;
    }
    EXPECT_TRUE(names.empty()) << w.what << ": ran " << names.front();
  }
  std::printf("refused before a kernel: %zu calls\n", all.size());
}

}  // namespace
}  // namespace neura
