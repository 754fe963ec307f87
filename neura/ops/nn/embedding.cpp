#include "neura/ops/nn/embedding.h"

#include <limits>

#include "neura/backend/kernels/embedding.h"
#include "neura/core/error_details.h"
#include "neura/op/call_error.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/op/safe.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/expect.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

void check_numbers(const char* op, const Spec& indices) {
  check<DTypeError>(indices.dtype == DType::int64, [&] {
    return std::string(op) + ": expected indices of dtype int64 or int32, got " + indices.str();
  });
}

struct Embedding {
  static constexpr Operation op = operation("embedding").saves(1, in(0));
  std::int64_t padding_idx;  // -1: none
  bool by_frequency;
  NEURA_FIELDS(padding_idx, by_frequency)
  bool is_safe(const Spec& indices, const Spec& weight) const { return safe::contiguous(indices, weight); }
  void infer(const Spec& indices, const Spec& weight, Spec& y) const {
    check_numbers(op.name, indices);
    check<ShapeError>(weight.rank == 2,
                      [&] { return "embedding: expected a weight [rows, width], got " + weight.sizes().str(); });
    Shape sizes = indices.sizes();
    sizes.push_back(weight.shape[1]);
    y = Spec::dense(weight.dtype, sizes, weight.device);
  }
  void run(Context& c, View indices, View weight, View y) const {
    c.backend.embedding->embedding(c, indices, weight, y);
  }
  void gradient(Gradient& g) const {
    if (g.needs(1))
      g.result[1] = embedding_dense_backward(g.g[0], g.input(0), g.meta[1]->shape[0], padding_idx, by_frequency);
  }
};

struct EmbeddingDenseBackward {
  static constexpr Operation op = operation("embedding_dense_backward").saves(0, in(1));
  std::int64_t rows, padding_idx;
  bool by_frequency;
  NEURA_FIELDS(rows, padding_idx, by_frequency)
  void infer(const Spec& g, const Spec& indices, Spec& gw) const {
    check_numbers(op.name, indices);
    check<DTypeError>(is_floating(g.dtype),
                      [&] { return std::string(op.name) + ": expected a floating grad_output, got " + g.str(); });
    Shape sizes = indices.sizes();
    sizes.push_back(g.rank ? g.shape[g.rank - 1] : 1);
    check<ShapeError>(g.sizes() == sizes, [&] {
      return std::string(op.name) + ": expected a grad_output of the indices' sizes " + indices.sizes().str() +
             " and the table's width, got " + g.sizes().str();
    });
    gw = Spec::dense(g.dtype, Shape{rows, sizes.back()}, g.device);
  }
  void run(Context& c, View g, View indices, View gw) const {
    c.backend.embedding->embedding_backward(c, g, indices, padding_idx, by_frequency, gw);
  }
  void gradient(Gradient& g) const {
    check<NotImplementedError>(!by_frequency, [&] {
      return std::string(op.name) + ": expected scale_grad_by_freq = false for a second derivative, got true";
    });
    const Tensor& indices = g.input(1);
    Tensor h = embedding(indices, g.g[0]);
    if (padding_idx >= 0) h = masked_fill(h, unsqueeze(indices == padding_idx, -1), 0);
    g.result[0] = h;
  }
};

// Scales the looked-up rows down to max_norm in the weight itself, unrecorded.
struct EmbeddingRenorm {
  static constexpr Operation op = operation("embedding_renorm").writes(in(0));
  double max_norm, norm_type;
  NEURA_FIELDS(max_norm, norm_type)
  void infer(const Spec& weight, const Spec& indices) const {
    check_numbers("embedding", indices);
    check<NotImplementedError>(weight.contiguous, [&] {
      return std::string(
          "embedding: expected a contiguous weight with max_norm, got a strided one; make it contiguous()");
    });
  }
  void run(Context& c, View weight, View indices) const {
    Context told(c.backend, c.device, "embedding");
    c.backend.embedding->renormalize(told, weight, indices, max_norm, norm_type);
    hand_on(c, told);
  }
};

struct OneHot {
  static constexpr Operation op = operation("one_hot");
  std::int64_t classes;
  NEURA_FIELDS(classes)
  void infer(const Spec& indices, Spec& y) const {
    check_numbers(op.name, indices);
    Shape sizes = indices.sizes();
    sizes.push_back(classes);
    y = Spec::dense(DType::int64, sizes, indices.device);
  }
  void run(Context& c, View indices, View y) const { c.backend.embedding->one_hot(c, indices, y); }
};

Tensor numbers(const char* op, const Tensor& t) {
  check<DTypeError>(t.dtype() == DType::int64 || t.dtype() == DType::int32, [&] {
    return std::string(op) + ": expected indices of dtype int64 or int32, got " + t.spec().str();
  });
  return contiguous(to(t, DType::int64));
}

}  // namespace

Tensor embedding(const Tensor& input, const Tensor& weight, EmbeddingOptions o) {
  check<NotImplementedError>(!o.sparse || !o.scale_grad_by_freq, [&] {
    return std::string("embedding: expected scale_grad_by_freq = false with sparse = true, got true");
  });
  check_given("embedding", "weight", weight);
  check<ShapeError>(weight.dim() == 2,
                    [&] { return "embedding: expected a weight [rows, width], got " + weight.shape().str(); });
  const std::int64_t rows = weight.shape()[0];
  std::int64_t padding = -1;
  if (o.padding_idx) {
    check<AssertedError<ValueError>>(*o.padding_idx >= -rows && *o.padding_idx < rows, [&] {
      return "embedding: expected padding_idx within the " + std::to_string(rows) + " rows of weight, got " +
             std::to_string(*o.padding_idx);
    });
    padding = *o.padding_idx < 0 ? *o.padding_idx + rows : *o.padding_idx;
  }
  const Tensor indices = numbers("embedding", input);
  if (o.max_norm) apply(EmbeddingRenorm{*o.max_norm, o.norm_type}, weight.detach(), indices);
  if (o.sparse) return sparsely_learned_embedding(indices, weight, padding);
  return apply(Embedding{padding, o.scale_grad_by_freq}, indices, contiguous(weight));
}

Tensor embedding_dense_backward(const Tensor& grad_output, const Tensor& indices, std::int64_t num_weights,
                                std::int64_t padding_idx, bool scale_grad_by_freq) {
  const EmbeddingDenseBackward op{num_weights, padding_idx, scale_grad_by_freq};
  return apply(op, contiguous(grad_output), numbers("embedding_dense_backward", indices));
}

Tensor one_hot(const Tensor& tensor, std::int64_t num_classes) {
  check<DTypeError>(tensor.dtype() == DType::int64,
                    [&] { return "one_hot: expected classes of dtype int64, got " + tensor.spec().str(); });
  if (num_classes == -1) {
    check<ValueError>(tensor.numel() > 0, [&] {
      return std::string("one_hot: expected num_classes for an empty tensor, got none; give it");
    });
    const std::int64_t most = amax(tensor).item<std::int64_t>();
    check<ValueError>(most >= 0 && most < std::numeric_limits<std::int64_t>::max(),
                      [&] { return "one_hot: expected classes from 0 to 2^63 - 2, got " + std::to_string(most); });
    num_classes = most + 1;
  }
  check<ValueError>(num_classes > 0,
                    [&] { return "one_hot: expected a positive num_classes, got " + std::to_string(num_classes); });
  return apply(OneHot{num_classes}, contiguous(tensor));
}

}  // namespace neura

NEURA_DEFINE_OPERATION(embedding, Embedding);
NEURA_DEFINE_OPERATION(embedding_dense_backward, EmbeddingDenseBackward);
NEURA_DEFINE_OPERATION(embedding_renorm, EmbeddingRenorm);
NEURA_DEFINE_OPERATION(one_hot, OneHot);
