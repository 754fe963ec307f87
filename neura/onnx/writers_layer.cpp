// Products, convolutions, pooling, normalisation, softmax, attention.
#include <algorithm>
#include <cmath>

#include "neura/onnx/row_call.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/shape/view.h"

namespace neura::onnx {
namespace {

Term transposed(RowCall& c, const Term& x, int rank) {
  std::vector<std::int64_t> perm;
  for (int d = 0; d < rank; ++d) perm.push_back(d);
  std::swap(perm[std::size_t(rank - 1)], perm[std::size_t(rank - 2)]);
  return {&c.to, c.to.add("Transpose", {x.name}, {attribute("perm", perm)}), x.dtype};
}
Term product(const Term& a, const Term& b) { return call("MatMul", a, b); }

void write_matmul(RowCall& c) { c.result(product(c.in(0), c.in(1))); }
void write_addmm(RowCall& c) {
  Term y = product(c.in(1), c.in(2));
  const double alpha = c.real("alpha"), beta = c.real("beta");
  if (alpha != 1) y = y * alpha;
  if (c.has(0) && beta != 0) y = (beta == 1 ? c.in(0) : c.in(0) * beta) + y;
  c.result(y);
}
void write_linear(RowCall& c) {
  if (c.spec(0).rank == 2 && is_floating(c.out().dtype)) {
    Names in{c.name(0), c.name(1)};
    if (c.has(2)) in.push_back(c.name(2));
    return c.result(c.to.add("Gemm", in, {attribute("transB", std::int64_t{1})}));
  }
  const Term y = product(c.in(0), transposed(c, c.in(1), 2));
  c.result(c.has(2) ? y + c.in(2) : y);
}

AttributeList windows(RowCall& c) {
  std::vector<std::int64_t> pads = c.integers("s.before");
  for (const std::int64_t p : c.integers("s.after")) pads.push_back(p);
  return {attribute("strides", c.integers("s.stride")), attribute("dilations", c.integers("s.dilation")),
          attribute("group", c.integer("s.groups")), attribute("pads", pads)};
}
std::vector<std::int64_t> spatial(const Spec& s, std::int64_t dims) {
  return {s.shape + s.rank - dims, s.shape + s.rank};
}
void write_convolution(RowCall& c) {
  AttributeList a = windows(c);
  a.push_back(attribute("kernel_shape", spatial(c.spec(1), c.integer("s.dims"))));
  Names in{c.name(0), c.name(1)};
  if (c.has(2)) in.push_back(c.name(2));
  c.result(c.to.add("Conv", in, a));
}
// The gradient of a convolution is the transposed one.
void write_transposed(RowCall& c) {
  AttributeList a = windows(c);
  const std::int64_t dims = c.integer("s.dims");
  const std::vector<std::int64_t> kernel = spatial(c.spec(1), dims), in = spatial(c.spec(0), dims),
                                  out = spatial(c.out(), dims), stride = c.integers("s.stride"),
                                  dilation = c.integers("s.dilation"), before = c.integers("s.before"),
                                  after = c.integers("s.after");
  std::vector<std::int64_t> more;
  for (std::size_t d = 0; d < kernel.size(); ++d)
    more.push_back(out[d] - ((in[d] - 1) * stride[d] - before[d] - after[d] + dilation[d] * (kernel[d] - 1) + 1));
  a.push_back(attribute("kernel_shape", kernel)), a.push_back(attribute("output_padding", more));
  c.result(c.to.add("ConvTranspose", {c.name(0), c.name(1)}, a));
}

// Patches of an image as columns, [n, c * kernel, windows]: a choice of elements of the padded image.
void write_unfold(RowCall& c) {
  const std::int64_t dims = c.integer("s.dims"), channels = c.spec(0).shape[1];
  std::vector<std::int64_t> pads{0, 0}, sizes = spatial(c.spec(0), dims), column{0, channels, -1};
  const std::vector<std::int64_t> before = c.integers("s.before"), after = c.integers("s.after"),
                                  kernel = c.integers("kernel"), stride = c.integers("s.stride"),
                                  dilation = c.integers("s.dilation");
  pads.insert(pads.end(), before.begin(), before.end()), pads.insert(pads.end(), 2, 0);
  pads.insert(pads.end(), after.begin(), after.end());
  Tensor at = zeros({1, 1}, {.dtype = DType::int64});  // [kernel, windows], one dimension after the other
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (!c.size(0, int(d) + 2).fixed()) c.refuse("a dynamic size", "make that dimension fixed");
    const std::int64_t size = sizes[d] + before[d] + after[d];
    const std::int64_t windows = (size - dilation[d] * (kernel[d] - 1) - 1) / stride[d] + 1;
    const TensorOptions o{.dtype = DType::int64};
    const Tensor in = mul(arange(kernel[d], o), dilation[d]), of = mul(arange(windows, o), stride[d]);
    const Tensor own = add(reshape(in, {1, -1, 1, 1}), reshape(of, {1, 1, 1, -1}));
    at = add(mul(reshape(at, {at.size(0), 1, at.size(1), 1}), size), own);
    at = reshape(at, {at.size(0) * at.size(1), at.size(2) * at.size(3)});
  }
  const std::string flat =
      c.to.add("Reshape", {c.to.add("Pad", {c.name(0), c.to.integers(pads)}), c.to.integers(column)});
  const std::string patches = c.to.add("Gather", {flat, c.to.constant(at)}, {attribute("axis", std::int64_t{2})});
  c.result(c.to.add("Reshape", {patches, c.to.integers({0, channels * at.size(0), at.size(1)})}));
}

std::vector<std::int64_t> last(const std::vector<std::int64_t>& v, std::int64_t dims) {
  std::vector<std::int64_t> part;
  for (std::size_t d = v.size() - std::size_t(dims); d < v.size(); ++d) part.push_back(v[d]);
  return part;
}
std::vector<std::int64_t> values(const std::vector<Size>& sizes, std::int64_t n) {
  std::vector<std::int64_t> all;
  for (const Size& s : sizes) all.push_back(s.value);
  return last(all, n);
}
// Images with a batch and channels, as ONNX wants them.
std::string image(RowCall& c, std::int64_t dims, bool& added) {
  added = c.spec(0).rank == dims + 1;
  return added ? c.to.add("Unsqueeze", {c.name(0), c.to.integers({0})}) : c.name(0);
}
AttributeList pooling(RowCall& c, std::int64_t dims) {
  const std::vector<std::int64_t> in = values(c.sizes("s.in"), dims), out = values(c.sizes("s.out"), dims);
  std::vector<std::int64_t> kernel, stride, padding, dilation;
  bool rounds_up = false;
  if (c.integer("s.adaptive")) {
    for (std::size_t d = 0; d < in.size(); ++d) {
      if (out[d] <= 0 || in[d] % out[d] || !c.size(0, c.spec(0).rank - int(dims) + int(d)).fixed())
        c.refuse("windows of different sizes", "let the output sizes divide fixed input sizes");
      kernel.push_back(in[d] / out[d]), stride.push_back(in[d] / out[d]);
      padding.push_back(0), dilation.push_back(1);
    }
  } else {
    kernel = last(c.integers("s.kernel"), dims), stride = last(c.integers("s.stride"), dims);
    padding = last(c.integers("s.padding"), dims), dilation = last(c.integers("s.dilation"), dims);
    for (std::size_t d = 0; d < in.size(); ++d)
      rounds_up |= out[d] != (in[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d] + 1;
  }
  std::vector<std::int64_t> pads = padding;
  pads.insert(pads.end(), padding.begin(), padding.end());
  AttributeList a{attribute("kernel_shape", kernel), attribute("strides", stride), attribute("pads", pads)};
  if (rounds_up) a.push_back(attribute("ceil_mode", std::int64_t{1}));
  if (std::any_of(dilation.begin(), dilation.end(), [](std::int64_t d) { return d != 1; }))
    a.push_back(attribute("dilations", dilation));
  return a;
}
void finish(RowCall& c, const std::string& y, bool added) {
  c.result(added ? c.to.add("Squeeze", {y, c.to.integers({0})}) : y);
}
// One window over everything.
bool is_global(RowCall& c, std::int64_t dims) {
  return c.integer("s.adaptive") && values(c.sizes("s.out"), dims) == std::vector<std::int64_t>(std::size_t(dims), 1);
}
void write_max_pool(RowCall& c) {
  if (c.wanted(1)) c.refuse("indices of the largest elements", "do without return_indices");
  const std::int64_t dims = c.integer("dims");
  bool added = false;
  const std::string x = image(c, dims, added);
  finish(c, is_global(c, dims) ? c.to.add("GlobalMaxPool", {x}) : c.to.add("MaxPool", {x}, pooling(c, dims)), added);
}
void write_avg_pool(RowCall& c) {
  const std::int64_t dims = c.integer("dims"), divisor = c.integer("s.divisor");
  bool added = false;
  const std::string x = image(c, dims, added);
  if (is_global(c, dims)) return finish(c, c.to.add("GlobalAveragePool", {x}), added);
  AttributeList a = pooling(c, dims);
  if (c.to.opset < 19) std::erase_if(a, [](const AttributeProto& p) { return p.name == "dilations"; });
  const bool counts = divisor || (c.integer("s.count_include_pad") && !c.integer("s.adaptive"));
  a.push_back(attribute("count_include_pad", std::int64_t(counts)));
  Term y{&c.to, c.to.add("AveragePool", {x}, a), c.out().dtype};
  if (divisor) {
    for (const AttributeProto& p : a)
      if (p.name == "ceil_mode") c.refuse("divisor_override and ceil_mode", "use one of them");
    std::int64_t elements = 1;
    for (const std::int64_t k : last(c.integers("s.kernel"), dims)) elements *= k;
    y = y * (double(elements) / double(divisor));
  }
  finish(c, y.name, added);
}

// Normalisation.
std::string or_filled(RowCall& c, std::size_t i, const Shape& sizes, double value) {
  if (c.has(i)) return c.in(i, c.out().dtype).name;
  return c.to.constant(full(sizes, value, {.dtype = c.out().dtype}));
}
void write_batch_norm(RowCall& c) {
  const Shape channels{c.spec(0).shape[1]};
  c.result(c.to.add("BatchNormalization",
                    {c.name(0), or_filled(c, 1, channels, 1), or_filled(c, 2, channels, 0), c.in(3, c.out().dtype).name,
                     c.in(4, c.out().dtype).name},
                    {attribute("epsilon", c.real("eps"))}));
}
Term mean_over_last(RowCall& c, const Term& x, std::int64_t first) {
  std::vector<std::int64_t> axes;
  for (std::int64_t d = first; d < c.spec(0).rank; ++d) axes.push_back(d);
  if (c.to.opset >= 18) return {&c.to, c.to.add("ReduceMean", {x.name, c.to.integers(axes)}), x.dtype};
  return {&c.to, c.to.add("ReduceMean", {x.name}, {attribute("axes", axes)}), x.dtype};
}
void write_layer_norm(RowCall& c) {
  const std::int64_t first = c.integer("first");
  const double eps = c.real("eps");
  if (c.to.opset >= 17) {
    std::vector<std::int64_t> sizes;
    for (int d = int(first); d < c.spec(0).rank; ++d) sizes.push_back(c.spec(0).shape[d]);
    Names in{c.name(0), or_filled(c, 1, shape_from(sizes), 1)};
    if (c.has(2)) in.push_back(c.in(2, c.out().dtype).name);
    return c.result(c.to.add("LayerNormalization", in, {attribute("axis", first), attribute("epsilon", eps)}));
  }
  const DType d = wide(c.spec(0).dtype);
  const Term x = c.in(0, d), away = x - mean_over_last(c, x, first);
  Term y = away / call("Sqrt", mean_over_last(c, away * away, first) + eps);
  if (c.has(1)) y = y * c.in(1, d);
  if (c.has(2)) y = y + c.in(2, d);
  c.result(y);
}
void write_rms_norm(RowCall& c) {
  const DType d = wide(c.spec(0).dtype);
  const Term x = c.in(0, d);
  const Term y = x / call("Sqrt", mean_over_last(c, x * x, c.integer("first")) + c.real("eps"));
  c.result(c.has(1) ? y * c.in(1, d) : y);
}
void write_group_norm(RowCall& c) {
  const std::int64_t groups = c.integer("groups"), channels = c.spec(0).shape[1];
  const DType d = c.out().dtype;
  const AttributeList eps{attribute("epsilon", c.real("eps"))};
  if (groups == channels && c.spec(0).rank > 2)
    return c.result(c.to.add("InstanceNormalization",
                             {c.name(0), or_filled(c, 1, {channels}, 1), or_filled(c, 2, {channels}, 0)}, eps));
  const auto filled = [&](double v) { return c.to.constant(full({groups}, v, {.dtype = d})); };
  const std::string grouped = c.to.add("Reshape", {c.name(0), c.to.integers({0, groups, -1})});
  const std::string normal = c.to.add("InstanceNormalization", {grouped, filled(1), filled(0)}, eps);
  Term y{&c.to, c.to.add("Reshape", {normal, c.write_size().shape(c.sizes(0))}), d};
  std::vector<std::int64_t> column(std::size_t(c.spec(0).rank - 1), 1);
  column[0] = channels;
  const auto per_channel = [&](std::size_t i) {
    return Term{&c.to, c.to.add("Reshape", {c.in(i, d).name, c.to.integers(column)}), d};
  };
  if (c.has(1)) y = y * per_channel(1);
  if (c.has(2)) y = y + per_channel(2);
  c.result(y);
}

Term softmax(const char* op, const Term& x, std::int64_t dim) { return call(op, x, {attribute("axis", dim)}); }
void soft(RowCall& c, const char* op) {
  if (c.spec(0).rank) return c.result(softmax(op, c.in(0, c.out().dtype), c.integer("dim")));
  c.result(c.in(0).number(std::string_view(op) == "Softmax" ? 1 : 0));
}
void write_softmax(RowCall& c) { soft(c, "Softmax"); }
void write_log_softmax(RowCall& c) { soft(c, "LogSoftmax"); }
Term safe(const Term& x) { return where(predicate("IsNaN", x), x.number(0), x); }
void write_safe_softmax(RowCall& c) {
  c.result(safe(softmax("Softmax", c.in(0, c.out().dtype), c.spec(0).rank ? c.integer("dim") : 0)));
}

std::string range(RowCall& c, const Size& n) {
  SizeWriter w = c.write_size();
  const std::string zero = c.to.number(0, DType::int64), one = c.to.number(1, DType::int64);
  return c.to.add("Range", {zero, c.to.add("Squeeze", {w.one(n), c.to.integers({0})}), one});
}
// softmax(scale q k^T + mask) v.
void write_attention(RowCall& c) {
  const int rank = c.spec(0).rank;
  if (c.wanted(1)) c.refuse("its sums", "use the result alone");
  const Term q = c.in(0) * c.real("shape.scale");
  Term scores = product(q, transposed(c, c.in(1), c.spec(1).rank));
  if (c.integer("shape.causal")) {
    const std::string rows = c.to.add("Unsqueeze", {range(c, c.size(0, rank - 2)), c.to.integers({1})});
    const std::string columns = range(c, c.size(1, rank - 2));
    const Term seen{&c.to, c.to.add("GreaterOrEqual", {rows, columns}), DType::boolean};
    scores = where(seen, scores, scores.number(-HUGE_VAL));
  }
  if (c.has(3) && c.spec(3).dtype == DType::boolean) scores = where(c.in(3), scores, scores.number(-HUGE_VAL));
  else if (c.has(3)) scores = scores + c.in(3, scores.dtype);
  const Term weights = softmax("Softmax", scores, -1);
  c.result(product(c.has(3) ? safe(weights) : weights, c.in(2)));
}
void write_dropout(RowCall& c) {
  if (c.integer("group") > 1) c.refuse("whole channels", "export in evaluation mode");
  const std::string ratio = c.to.number(c.real("p"), DType::float32), on = c.to.number(true, DType::boolean);
  c.result(c.to.add("Dropout", {c.name(0), ratio, on}));
}

// Numbers as bytes: operands are x, scale and zero point, attributes the range and the axis.
DType bytes_of(RowCall& c) {
  const std::int64_t low = c.integer("s.low"), high = c.integer("s.high");
  if (low < (low < 0 ? -128 : 0) || high > (low < 0 ? 127 : 255)) c.refuse("a range of more than 8 bits", "use fewer");
  return low < 0 ? DType::int8 : DType::uint8;
}
Names on_grid(RowCall& c, const std::string& x, DType bytes) {  // with the operands that say how
  Names in{x, c.name(1), c.in(2, bytes).name};
  if (c.integer("s.axis") < 0) in[1] = c.to.add("Squeeze", {in[1]}), in[2] = c.to.add("Squeeze", {in[2]});
  return in;
}
AttributeList along(RowCall& c) {
  const std::int64_t axis = c.integer("s.axis");
  return axis < 0 ? AttributeList{} : AttributeList{attribute("axis", axis)};
}
std::string quantised(RowCall& c, DType bytes) {
  std::string q = c.to.add("QuantizeLinear", on_grid(c, c.in(0, DType::float32).name, bytes), along(c));
  const std::int64_t low = c.integer("s.low"), high = c.integer("s.high");
  if (high - low == 255) return q;
  return c.to.add("Clip", {q, c.to.number(low, bytes), c.to.number(high, bytes)});
}
void write_quantize(RowCall& c) { c.result(quantised(c, c.out().dtype)); }
void write_fake_quantize(RowCall& c) {
  const DType bytes = bytes_of(c);
  const std::string y = c.to.add("DequantizeLinear", on_grid(c, quantised(c, bytes), bytes), along(c));
  c.result(Term{&c.to, y, DType::float32}.cast(c.out().dtype));
}
void write_dequantize(RowCall& c) {
  const DType from = c.spec(0).dtype;
  if (from != DType::int32) return c.result(c.to.add("DequantizeLinear", on_grid(c, c.name(0), from), along(c)));
  Term scale = c.in(1), zero = c.in(2);  // sums have no zero point in ONNX
  const std::int64_t axis = c.integer("s.axis");
  std::vector<std::int64_t> shape(std::size_t(c.spec(0).rank), 1);
  if (axis >= 0) shape[std::size_t(axis)] = -1;
  for (Term* t : {&scale, &zero}) t->name = c.to.add("Reshape", {t->name, c.to.integers(shape)});
  c.result((c.in(0) - zero).cast(DType::float32) * scale);
}
void write_integer_matmul(RowCall& c) { c.result(c.to.add("MatMulInteger", {c.name(0), c.name(1)})); }

constexpr RowWriter kWriters[] = {
    {"fake_quantize", write_fake_quantize, "QuantizeLinear, DequantizeLinear", 13},
    {"quantize_affine", write_quantize, "QuantizeLinear", 13},
    {"dequantize_affine", write_dequantize, "DequantizeLinear", 13},
    {"integer_matmul", write_integer_matmul, "MatMulInteger", 13},
    {"matmul", write_matmul, "MatMul"},
    {"addmm", write_addmm, "MatMul, Add"},
    {"linear", write_linear, "Gemm, MatMul, Transpose, Add"},
    {"convolution", write_convolution, "Conv"},
    {"convolution_backward_input", write_transposed, "ConvTranspose"},
    {"im2col", write_unfold, "Pad, Gather, Reshape"},
    {"max_pool", write_max_pool, "MaxPool, GlobalMaxPool"},
    {"avg_pool", write_avg_pool, "AveragePool, GlobalAveragePool"},
    {"batch_norm_inference", write_batch_norm, "BatchNormalization"},
    {"layer_norm", write_layer_norm, "LayerNormalization, ReduceMean"},
    {"rms_norm", write_rms_norm, "ReduceMean, Sqrt"},
    {"group_norm", write_group_norm, "InstanceNormalization, Reshape"},
    {"softmax", write_softmax, "Softmax"},
    {"log_softmax", write_log_softmax, "LogSoftmax"},
    {"_safe_softmax", write_safe_softmax, "Softmax, IsNaN, Where"},
    {"scaled_dot_product_attention", write_attention, "MatMul, Softmax, Where"},
    {"dropout", write_dropout, "Dropout"},
};

}  // namespace

std::span<const RowWriter> layer_writers() { return kWriters; }

}  // namespace neura::onnx
