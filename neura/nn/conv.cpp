#include "neura/nn/conv.h"

#include <cmath>

#include "neura/nn/init.h"
#include "neura/nn/repr.h"
#include "neura/ops/create/create.h"
#include "neura/ops/shape/shape.h"

namespace neura::nn {

NEURA_LAYER_BODY(ConvNd)
NEURA_LAYER_BODY(ConvTransposeNd)
NEURA_LAYER_BODY(Unfold)
NEURA_LAYER_BODY(Fold)

namespace {

// One number for every dimension, or one each.
Shape per_dim(const char* what, const std::string& name, const Shape& given, int rank) {
  if (given.size() == 1) return Shape::filled(rank, given[0]);
  check<ShapeError>(given.size() == rank, [&] {
    return name + ": expected " + what + " of 1 or " + std::to_string(rank) + " numbers, got " + given.str();
  });
  return given;
}

void check_groups(const char* name, std::int64_t in, std::int64_t out, std::int64_t groups) {
  check<ValueError>(groups > 0 && in % groups == 0 && out % groups == 0, [&] {
    return std::string(name) + ": expected in_channels and out_channels divisible by groups, got " +
           std::to_string(in) + ", " + std::to_string(out) + " and " + std::to_string(groups);
  });
}

void reset(const Tensor& weight, const Tensor& bias) {
  init::kaiming_uniform_(weight, {.a = std::sqrt(5.0)});
  if (!bias) return;
  const std::int64_t fan = init::calculate_fan_in_and_fan_out(weight).in;
  if (fan > 0) init::uniform_(bias, -1 / std::sqrt(double(fan)), 1 / std::sqrt(double(fan)));
}

bool all_are(const Shape& s, std::int64_t n) {
  for (std::int64_t x : s)
    if (x != n) return false;
  return true;
}

}  // namespace

ConvNd::ConvNd(int rank, std::int64_t in_channels, std::int64_t out_channels, const PerDim& kernel_size,
               const ConvOptions& o)
    : in_channels(in_channels),
      out_channels(out_channels),
      padding(o.padding),
      groups(o.groups),
      padding_mode(o.padding_mode),
      rank_(rank) {
  const std::string name = "Conv" + std::to_string(rank) + "d";
  check_groups(name.c_str(), in_channels, out_channels, groups);
  check<ValueError>(padding.mode != Padding::unknown,
                    [&] { return name + ": expected padding in numbers, \"same\" or \"valid\", got another word"; });
  check<ValueError>(
      padding_mode == "zeros" || padding_mode == "reflect" || padding_mode == "replicate" || padding_mode == "circular",
      [&] { return name + ": expected padding_mode zeros, reflect, replicate or circular, got " + padding_mode; });
  this->kernel_size = per_dim("kernel_size", name, kernel_size, rank);
  stride = per_dim("stride", name, o.stride, rank);
  dilation = per_dim("dilation", name, o.dilation, rank);
  if (padding.mode == Padding::numbers) padding.amount = per_dim("padding", name, padding.amount, rank);
  check<ValueError>(padding.mode != Padding::same || all_are(stride, 1),
                    [&] { return name + ": expected stride 1 with padding \"same\", got " + stride.str(); });
  Shape sizes{out_channels, in_channels / groups};
  for (std::int64_t k : this->kernel_size) sizes.push_back(k);
  const TensorOptions place{.dtype = o.dtype, .device = o.device};
  weight = empty(sizes, place);
  if (o.bias) bias = empty({out_channels}, place);
  reset_parameters();
}

void ConvNd::reset_parameters() { reset(weight, bias); }

Tensor ConvNd::forward(const Tensor& input) const {
  neura::ConvOptions o{.stride = stride, .padding = padding, .dilation = dilation, .groups = groups};
  Tensor x = input;
  if (padding_mode != "zeros") {
    std::vector<std::int64_t> amounts;  // (before, after) from the last dimension to the first
    for (int d = rank_ - 1; d >= 0; --d) {
      const std::int64_t all = padding.mode == Padding::same    ? dilation[d] * (kernel_size[d] - 1)
                               : padding.mode == Padding::valid ? 0
                                                                : 2 * padding.amount[d];
      amounts.push_back(all / 2), amounts.push_back(all - all / 2);
    }
    x = pad(x, amounts, padding_mode);
    o.padding = 0;
  }
  return rank_ == 1 ? conv1d(x, weight, bias, o) : rank_ == 2 ? conv2d(x, weight, bias, o) : conv3d(x, weight, bias, o);
}

std::string ConvNd::extra_repr() const {
  std::string out = std::to_string(in_channels) + ", " + std::to_string(out_channels) +
                    ", kernel_size=" + tuple_text(kernel_size) + ", stride=" + tuple_text(stride);
  if (padding.mode == Padding::same || padding.mode == Padding::valid)
    out += std::string(", padding=") + (padding.mode == Padding::same ? "same" : "valid");
  else if (!all_are(padding.amount, 0)) out += ", padding=" + tuple_text(padding.amount);
  if (!all_are(dilation, 1)) out += ", dilation=" + tuple_text(dilation);
  if (groups != 1) out += ", groups=" + std::to_string(groups);
  if (!bias) out += ", bias=False";
  if (padding_mode != "zeros") out += ", padding_mode=" + padding_mode;
  return out;
}

ConvTransposeNd::ConvTransposeNd(int rank, std::int64_t in_channels, std::int64_t out_channels,
                                 const PerDim& kernel_size, const ConvTransposeOptions& o)
    : in_channels(in_channels), out_channels(out_channels), groups(o.groups), rank_(rank) {
  const std::string name = "ConvTranspose" + std::to_string(rank) + "d";
  check<ValueError>(o.padding_mode == "zeros",
                    [&] { return name + ": expected padding_mode zeros, got " + o.padding_mode; });
  check_groups(name.c_str(), in_channels, out_channels, groups);
  this->kernel_size = per_dim("kernel_size", name, kernel_size, rank);
  stride = per_dim("stride", name, o.stride, rank);
  padding = per_dim("padding", name, o.padding, rank);
  output_padding = per_dim("output_padding", name, o.output_padding, rank);
  dilation = per_dim("dilation", name, o.dilation, rank);
  Shape sizes{in_channels, out_channels / groups};
  for (std::int64_t k : this->kernel_size) sizes.push_back(k);
  const TensorOptions place{.dtype = o.dtype, .device = o.device};
  weight = empty(sizes, place);
  if (o.bias) bias = empty({out_channels}, place);
  reset_parameters();
}

void ConvTransposeNd::reset_parameters() { reset(weight, bias); }

Shape ConvTransposeNd::padding_for(const Tensor& x, const Shape& output_size) const {
  const int extra = output_size.size() - rank_;  // the number of samples and channels, if they are given too
  check<ShapeError>(extra == 0 || (extra == 2 && x.dim() == rank_ + 2) || (extra == 1 && x.dim() == rank_ + 1), [&] {
    return type_name() + ": expected output_size of " + std::to_string(rank_) + " or " + std::to_string(x.dim()) +
           " numbers, got " + output_size.str();
  });
  Shape out;
  for (int d = 0; d < rank_; ++d) {
    const std::int64_t in = x.size(d - rank_), wanted = output_size[extra + d];
    const std::int64_t least = (in - 1) * stride[d] - 2 * padding[d] + dilation[d] * (kernel_size[d] - 1) + 1;
    check<ValueError>(wanted >= least && wanted < least + stride[d], [&] {
      return type_name() + ": expected an output_size from " + std::to_string(least) + " to " +
             std::to_string(least + stride[d] - 1) + " in spatial dimension " + std::to_string(d) + ", got " +
             std::to_string(wanted);
    });
    out.push_back(wanted - least);
  }
  return out;
}

Tensor ConvTransposeNd::forward(const Tensor& x, const std::optional<Shape>& output_size) const {
  check<ShapeError>(!output_size || x.dim() == rank_ + 1 || x.dim() == rank_ + 2, [&] {
    return type_name() + ": expected an input of " + std::to_string(rank_ + 1) + " or " + std::to_string(rank_ + 2) +
           " dimensions, got " + x.shape().str();
  });
  const neura::ConvTransposeOptions o{.stride = stride,
                                      .padding = padding,
                                      .output_padding = output_size ? padding_for(x, *output_size) : output_padding,
                                      .groups = groups,
                                      .dilation = dilation};
  return rank_ == 1   ? conv_transpose1d(x, weight, bias, o)
         : rank_ == 2 ? conv_transpose2d(x, weight, bias, o)
                      : conv_transpose3d(x, weight, bias, o);
}

std::string ConvTransposeNd::extra_repr() const {
  std::string out = std::to_string(in_channels) + ", " + std::to_string(out_channels) +
                    ", kernel_size=" + tuple_text(kernel_size) + ", stride=" + tuple_text(stride);
  if (!all_are(padding, 0)) out += ", padding=" + tuple_text(padding);
  if (!all_are(dilation, 1)) out += ", dilation=" + tuple_text(dilation);
  if (!all_are(output_padding, 0)) out += ", output_padding=" + tuple_text(output_padding);
  if (groups != 1) out += ", groups=" + std::to_string(groups);
  if (!bias) out += ", bias=False";
  return out;
}

Unfold::Unfold(const PerDim& kernel_size, const UnfoldOptions& o)
    : kernel_size(kernel_size), dilation(o.dilation), padding(o.padding), stride(o.stride) {}
Tensor Unfold::forward(const Tensor& input) const { return unfold(input, kernel_size, {dilation, padding, stride}); }
std::string Unfold::extra_repr() const {
  return Repr().add("kernel_size", kernel_size).add("dilation", dilation).add("padding", padding).add("stride", stride);
}

Fold::Fold(const PerDim& output_size, const PerDim& kernel_size, const UnfoldOptions& o)
    : output_size(output_size), kernel_size(kernel_size), dilation(o.dilation), padding(o.padding), stride(o.stride) {}
Tensor Fold::forward(const Tensor& input) const {
  return fold(input, output_size, kernel_size, {dilation, padding, stride});
}
std::string Fold::extra_repr() const {
  return Repr()
      .add("output_size", output_size)
      .add("kernel_size", kernel_size)
      .add("dilation", dilation)
      .add("padding", padding)
      .add("stride", stride);
}

}  // namespace neura::nn
