// Convolutions, pooling, softmax, normalisation, attention, embedding; losses and distances.
#include "neura/ops/loss/ctc_loss.h"
#include "neura/ops/loss/loss.h"
#include "neura/ops/nn/attention.h"
#include "neura/ops/nn/embedding.h"
#include "neura/ops/nn/embedding_bag.h"
#include "neura/ops/nn/functions.h"
#include "neura/ops/nn/multi_head_attention.h"
#include "neura/ops/nn/norm.h"
#include "neura/ops/nn/recurrent.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/reduce/statistics.h"
#include "neura/ops/spatial/conv.h"
#include "neura/ops/spatial/fractional_pool.h"
#include "neura/ops/spatial/grid_sample.h"
#include "neura/ops/spatial/interpolate.h"
#include "neura/ops/spatial/pool_composed.h"
#include "tests/contract/structs.h"

namespace neura::test {

std::vector<StructCase> network_cases() {
  return {
      CASE("conv1d", conv1d(x[0], x[1], x[2], {.stride = 2, .padding = 1}), any({1, 2, 5}), any({2, 2, 3}, 2),
           any({2}, 3)),
      CASE("conv1d_groups", conv1d(x[0], x[1], {}, {.groups = 2}), any({2, 2, 4}), any({2, 1, 2}, 2)),
      CASE("conv2d", conv2d(x[0], x[1], x[2], {.padding = 1}), any({1, 2, 3, 3}), any({2, 2, 2, 2}, 2), any({2}, 3)),
      CASE("conv2d_dilated", conv2d(x[0], x[1], {}, {.dilation = 2}), any({1, 1, 4, 5}), any({1, 1, 2, 2}, 2)),
      CASE("conv3d", conv3d(x[0], x[1]), any({1, 1, 2, 3, 2}), any({1, 1, 2, 2, 1}, 2)),
      CASE("conv_transpose1d", conv_transpose1d(x[0], x[1], x[2], {.stride = 2}), any({1, 2, 3}), any({2, 2, 2}, 2),
           any({2}, 3)),
      CASE("conv_transpose2d", conv_transpose2d(x[0], x[1], {}, {.padding = 1}), any({1, 1, 3, 3}),
           any({1, 2, 2, 2}, 2)),
      CASE("unfold_image", unfold(x[0], {2, 2}, {.padding = 1, .stride = 2}), any({1, 2, 3, 3})),
      CASE("fold", fold(x[0], {3, 3}, {2, 2}), any({1, 4, 4})),
      CASE("max_pool1d", max_pool1d(x[0], 2), distinct({1, 2, 5})),
      CASE("max_pool2d", max_pool2d(x[0], 2, {.stride = 1, .padding = 1}), distinct({1, 1, 3, 3})),
      CASE("max_pool3d", max_pool3d(x[0], 2), distinct({1, 1, 2, 2, 4})),
      CASE("max_pool2d_with_indices", max_pool2d_with_indices(x[0], 2), distinct({1, 1, 4, 3})),
      CASE("avg_pool1d", avg_pool1d(x[0], 2), any({1, 2, 5})),
      CASE("avg_pool2d", avg_pool2d(x[0], 2, {.padding = 1, .count_include_pad = false}), any({1, 1, 3, 3})),
      CASE("avg_pool3d", avg_pool3d(x[0], 2), any({1, 1, 2, 2, 4})),
      CASE("adaptive_avg_pool1d", adaptive_avg_pool1d(x[0], 2), any({1, 2, 5})),
      CASE("adaptive_avg_pool2d", adaptive_avg_pool2d(x[0], 2), any({1, 1, 3, 5})),
      CASE("adaptive_max_pool2d", adaptive_max_pool2d(x[0], 2), distinct({1, 1, 3, 5})),
      CASE("lp_pool1d", lp_pool1d(x[0], 2, 2), positive({1, 2, 5})),
      CASE("lp_pool2d", lp_pool2d(x[0], 3, {2, 1}, {.stride = 1, .ceil_mode = true}), positive({1, 1, 3, 3})),
      CASE("lp_pool3d", lp_pool3d(x[0], 2, 2), off_zero({1, 1, 2, 2, 4})),
      CASE("max_unpool1d", max_unpool1d(x[0], whole({1, 2}, {1, 2}), 2), any({1, 2})),
      CASE("max_unpool2d", max_unpool2d(x[0], whole({5, 2}, {1, 1, 2}), 2, {.output_size = {3, 4}}), any({1, 1, 2})),
      CASE("max_unpool3d", max_unpool3d(x[0], whole({7, 8}, {1, 1, 1, 2}), 2), any({1, 1, 1, 2})),
      CASE("interpolate_nearest", interpolate(x[0], {.scale_factor = {2}}), any({1, 2, 3})),
      CASE("interpolate_bilinear", interpolate(x[0], {.size = {3, 5}, .mode = "bilinear"}), any({1, 1, 2, 3})),
      CASE("interpolate_bicubic", interpolate(x[0], {.size = {5}, .mode = "bicubic", .align_corners = true}),
           any({1, 1, 2, 3})),
      CASE("interpolate_trilinear", interpolate(x[0], {.scale_factor = {1.5}, .mode = "trilinear"}),
           any({1, 1, 2, 2, 2})),
      CASE("interpolate_antialias", interpolate(x[0], {.size = {2, 4}, .mode = "bicubic", .antialias = true}),
           any({1, 1, 3, 6})),
      CASE("grid_sample", grid_sample(x[0], x[1]), any({1, 2, 3, 4}), any({1, 2, 2, 2}, 2)),
      CASE("grid_sample_nearest",
           grid_sample(x[0], whole({0, 1, -1, 0}, {1, 1, 2, 2}).to(x[0].dtype()), {.mode = "nearest"}),
           any({1, 2, 3, 4})),
      CASE("grid_sampler", grid_sampler(x[0], x[1], 0, 2, true), any({1, 1, 3, 4}), any({1, 2, 2, 2}, 2)),
      CASE("grid_sampler_2d", grid_sampler_2d(x[0], x[1], 2, 1, false), any({1, 1, 3, 4}), any({1, 2, 2, 2}, 2)),
      CASE("grid_sampler_3d", grid_sampler_3d(x[0], x[1], 0, 1, false), any({1, 1, 2, 3, 2}), any({1, 1, 2, 1, 3}, 2)),
      CASE("affine_grid", affine_grid(x[0], {2, 1, 2, 3}), any({2, 2, 3})),
      CASE("affine_grid_3d", affine_grid(x[0], {1, 1, 2, 1, 2}, true), any({1, 3, 4})),
      CASE("glu", glu(x[0], 1), any({2, 4})),
      CASE("bilinear", bilinear(x[0], x[1], x[2], x[3]), any({2, 2}), any({2, 3}, 2), any({2, 2, 3}, 3), any({2}, 4)),
      CASE("softmax", softmax(x[0], 1), any({2, 3})),
      CASE("log_softmax", log_softmax(x[0], 0), any({3, 2})),
      CASE("softmin", softmin(x[0], 1), any({2, 3})),
      CASE("layer_norm", layer_norm(x[0], {3}, x[1], x[2]), any({2, 3}), any({3}, 2), any({3}, 3)),
      CASE("layer_norm_plain", layer_norm(x[0], {2, 2}), any({2, 2, 2})),
      CASE("rms_norm", rms_norm(x[0], {3}, x[1]), any({2, 3}), any({3}, 2)),
      CASE("group_norm", group_norm(x[0], 2, x[1], x[2]), any({2, 4, 2}), any({4}, 2), any({4}, 3)),
      CASE("batch_norm", batch_norm(x[0], {}, {}, x[1], x[2], {.training = true}), any({3, 2, 2}), any({2}, 2),
           any({2}, 3)),
      CASE("batch_norm_running", batch_norm(x[0], any({2}, 4), positive({2}, 5), x[1], x[2]), any({3, 2}), any({2}, 2),
           any({2}, 3)),
      CASE("instance_norm", instance_norm(x[0]), any({2, 2, 3})),
      CASE("local_response_norm", local_response_norm(x[0], 2), any({1, 3, 3})),
      CASE("embedding", embedding(whole({1, 0, 1, 2}, {2, 2}), x[0]), any({3, 2})),
      CASE("embedding_bag",
           embedding_bag(whole({1, 0, 1, 2}, {4}), x[0], whole({0, 1}, {2}),
                         {.mode = "sum", .per_sample_weights = x[1]}),
           any({3, 2}), any({4}, 2)),
      CASE("embedding_bag_max", embedding_bag(whole({1, 0, 1, 2}, {2, 2}), x[0], {}, {.mode = "max"}),
           distinct({3, 2})),
      CASE("fractional_max_pool2d",
           fractional_max_pool2d_with_indices(x[0], 2, {.output_size = 2, .random_samples = fraction({1, 1, 2}, 2)}),
           distinct({1, 1, 4, 4})),
      CASE("attention", scaled_dot_product_attention(x[0], x[1], x[2]), any({1, 2, 3}), any({1, 2, 3}, 2),
           any({1, 2, 2}, 3)),
      CASE("attention_causal", scaled_dot_product_attention(x[0], x[1], x[2], {.is_causal = true}), any({1, 3, 2}),
           any({1, 3, 2}, 2), any({1, 3, 2}, 3)),
      CASE("attention_mask", scaled_dot_product_attention(x[0], x[1], x[2], {.attn_mask = x[3]}), any({1, 2, 2}),
           any({1, 2, 2}, 2), any({1, 2, 2}, 3), any({2, 2}, 4)),
      CASE("multi_head_attention",
           multi_head_attention(x[0], x[1], x[1],
                                {.embed_dim = 2, .num_heads = 2, .in_proj_weight = x[2], .out_proj_weight = x[3]}),
           any({2, 1, 2}), any({3, 1, 2}, 2), any({6, 2}, 3), any({2, 2}, 4)),
      CASE("rnn_tanh_cell", rnn_tanh_cell(x[0], x[1], {x[2], x[3], x[4], x[5]}), any({2, 3}), any({2, 2}, 2),
           any({2, 3}, 3), any({2, 2}, 4), any({2}, 5), any({2}, 6)),
      CASE("rnn_relu_cell", rnn_relu_cell(x[0], x[1], {x[2], x[3]}), positive({3}), positive({2}, 2),
           positive({2, 3}, 3), positive({2, 2}, 4)),
      CASE("gru_cell", gru_cell(x[0], x[1], {x[2], x[3], x[4], x[5]}), any({2, 3}), any({2, 2}, 2), any({6, 3}, 3),
           any({6, 2}, 4), any({6}, 5), any({6}, 6)),
      CASE("lstm_cell", lstm_cell(x[0], {x[1], x[2]}, {x[3], x[4]}), any({2, 3}), any({2, 2}, 2), any({2, 2}, 3),
           any({8, 3}, 4), any({8, 2}, 5)),
      CASE("rnn_tanh", rnn_tanh(x[0], x[1], {x[2], x[3]}, {.has_biases = false}), any({3, 2, 2}), any({1, 2, 2}, 2),
           any({2, 2}, 3), any({2, 2}, 4)),
      CASE("rnn_relu", rnn_relu(x[0], x[1], {x[2], x[3]}, {.has_biases = false}), positive({2, 2, 2}),
           positive({1, 2, 2}, 2), positive({2, 2}, 3), positive({2, 2}, 4)),
      CASE("gru", gru(x[0], x[1], {x[2], x[3], x[2], x[3]}, {.has_biases = false, .bidirectional = true}),
           any({2, 2, 2}), any({2, 2, 2}, 2), any({6, 2}, 3), any({6, 2}, 4)),
      CASE("lstm", lstm(x[0], {x[1], x[2]}, {x[3], x[4], x[5]}, {.has_biases = false}), any({3, 1, 2}),
           any({1, 1, 1}, 2), any({1, 1, 2}, 3), any({8, 2}, 4), any({8, 1}, 5), any({1, 2}, 6)),
  };
}

namespace {
Tensor classes() { return whole({0, 2}, {2}); }
Tensor signs(const Shape& s) {
  int i = 0;
  return from_loop(s, float64, [&](const Shape&) { return i++ % 2 ? 1.0 : -1.0; }).to(constants_on);
}
}  // namespace

std::vector<StructCase> loss_cases() {
  return {
      CASE("cross_entropy", cross_entropy(x[0], classes()), any({2, 3})),
      CASE("cross_entropy_weighted",
           cross_entropy(x[0], classes(), {.weight = positive({3}, 4).to(x[0].dtype()), .label_smoothing = 0.1}),
           any({2, 3})),
      CASE("cross_entropy_probabilities", cross_entropy(x[0], x[1]), any({2, 3}), fraction({2, 3}, 2)),
      CASE("nll_loss", nll_loss(x[0], classes(), {.reduction = Reduction::sum}), any({2, 3})),
      CASE("ctc_loss",
           ctc_loss(log_softmax(x[0], 2), whole({1, 2, 1, 0}, {2, 2}), whole({4, 3}, {2}), whole({2, 1}, {2})),
           any({4, 2, 3})),
      CASE("mse_loss", mse_loss(x[0], x[1]), any({2, 3}), any({2, 3}, 2)),
      CASE("l1_loss", l1_loss(x[0], x[1], {Reduction::none}), any({2, 3}), any({2, 3}, 2)),
      CASE("smooth_l1_loss", smooth_l1_loss(x[0], x[1]), any({2, 3}), any({2, 3}, 2)),
      CASE("huber_loss", huber_loss(x[0], x[1], {.delta = 0.7}), any({2, 3}), any({2, 3}, 2)),
      CASE("kl_div", kl_div(x[0], x[1], {.batchmean = true}), any({2, 3}), fraction({2, 3}, 2)),
      CASE("kl_div_log_target", kl_div(x[0], x[1], {.log_target = true}), any({2, 3}), any({2, 3}, 2)),
      CASE("binary_cross_entropy", binary_cross_entropy(x[0], x[1]), fraction({2, 3}), fraction({2, 3}, 2)),
      CASE("binary_cross_entropy_with_logits", binary_cross_entropy_with_logits(x[0], x[1]), any({2, 3}),
           fraction({2, 3}, 2)),
      CASE("poisson_nll_loss", poisson_nll_loss(x[0], x[1]), any({2, 3}), positive({2, 3}, 2)),
      CASE("gaussian_nll_loss", gaussian_nll_loss(x[0], x[1], x[2]), any({2, 3}), any({2, 3}, 2), positive({2, 3}, 3)),
      CASE("hinge_embedding_loss", hinge_embedding_loss(x[0], signs({2, 3})), fraction({2, 3})),
      CASE("margin_ranking_loss", margin_ranking_loss(x[0], x[1], signs({4}), {.margin = 0.5}), any({4}), any({4}, 2)),
      CASE("cosine_embedding_loss", cosine_embedding_loss(x[0], x[1], signs({2}), {.margin = -0.9}), any({2, 3}),
           any({2, 3}, 2)),
      CASE("triplet_margin_loss", triplet_margin_loss(x[0], x[1], x[2], {.margin = 3}), any({2, 3}), any({2, 3}, 2),
           any({2, 3}, 3)),
      CASE("soft_margin_loss", soft_margin_loss(x[0], signs({2, 3})), any({2, 3})),
      CASE("multi_margin_loss", multi_margin_loss(x[0], classes()), distinct({2, 3})),
      CASE("multilabel_margin_loss", multilabel_margin_loss(x[0], whole({2, -1, 0}, {3})), distinct({3})),
      CASE("multilabel_soft_margin_loss",
           multilabel_soft_margin_loss(x[0], mask({1, 0, 1, 0, 0, 1}, {2, 3}).to(x[0].dtype())), any({2, 3})),
      CASE("cosine_similarity", cosine_similarity(x[0], x[1]), any({2, 3}), any({2, 3}, 2)),
      CASE("pairwise_distance", pairwise_distance(x[0], x[1]), any({2, 3}), any({2, 3}, 2)),
      CASE("pdist", pdist(x[0], 3), any({3, 2})),
      CASE("normalize", normalize(x[0]), any({2, 3})),
  };
}

}  // namespace neura::test
