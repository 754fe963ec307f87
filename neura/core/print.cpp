#include "neura/core/print.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <ostream>
#include <string_view>

#include "neura/core/extension.h"
#include "neura/core/meta.h"
#include "neura/core/pending.h"

namespace neura {
namespace {

std::mutex lock;
PrintOptions options;  // under the lock

std::string formatted(const char* kind, int precision, double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char text[400];
  std::snprintf(text, sizeof text, kind, precision, v);
  return text;
}

// One notation for all numbers of a tensor: integers, fixed point or scientific, padded to one width.
class Notation {
 public:
  Notation(const std::vector<double>& values, const PrintOptions& o) : o_(o) {
    double least = INFINITY, greatest = 0;
    for (double v : values) {
      if (!std::isfinite(v) || v == 0) continue;
      least = std::min(least, std::abs(v)), greatest = std::max(greatest, std::abs(v));
      whole_ = whole_ && v == std::ceil(v);
    }
    if (greatest == 0) return;
    scientific_ = o.sci_mode.value_or(greatest / least > 1000 || greatest > 1e8 || least < 1e-4);
    for (double v : values)
      if (std::isfinite(v) && v != 0) width_ = std::max(width_, digits(v).size());
  }
  std::string text(double v) const {
    std::string s = digits(v);
    return std::string(width_ > s.size() ? width_ - s.size() : 0, ' ') + s;
  }
  std::size_t width() const { return width_; }

 private:
  std::string digits(double v) const {
    if (scientific_) return formatted("%.*e", o_.precision, v);
    if (whole_) return formatted("%.*f", 0, v) + (std::isfinite(v) ? "." : "");
    return formatted("%.*f", o_.precision, v);
  }
  const PrintOptions& o_;
  bool whole_ = true, scientific_ = false;
  std::size_t width_ = 1;
};

class Printer {
 public:
  Printer(const Tensor& t, const PrintOptions& o) : s_(t.spec()), data_((settled(t.impl()), t.impl()->data())), o_(o) {
    summary_ = s_.numel > o.threshold;
    if (is_complex(s_.dtype)) {
      std::vector<double> real, imag;
      visit(0, 0, [&](const Scalar& v) { real.push_back(v.real()), imag.push_back(v.imag()); });
      first_.emplace(real, o), second_.emplace(imag, o);
    } else if (is_integral(s_.dtype) || is_unsigned_storage(s_.dtype)) {
      visit(0, 0, [&](const Scalar& v) { width_ = std::max(width_, integer(v).size()); });
    } else {
      std::vector<double> values;
      visit(0, 0, [&](const Scalar& v) { values.push_back(v.real()); });
      first_.emplace(values, o);
    }
  }
  std::string text(int d, std::int64_t at, int indent) const {
    if (d == s_.rank) return element(at);
    const bool vector = d == s_.rank - 1, cut = shortened(d);
    std::vector<std::string> parts;
    for (std::int64_t i = 0; i < s_.shape[d]; ++i) {
      if (cut && i == o_.edgeitems) {
        parts.push_back(vector ? " ..." : "...");
        i = s_.shape[d] - o_.edgeitems;
        if (i == s_.shape[d]) break;
      }
      parts.push_back(text(d + 1, at + i * s_.strides[d], indent + 1));
    }
    if (cut && !o_.edgeitems) parts = {"..."};
    const std::string margin(std::size_t(indent) + 1, ' ');
    std::size_t per_line = 1;
    if (vector) {
      const std::size_t one = (first_ ? first_->width() : width_) + 2 + (second_ ? second_->width() + 1 : 0);
      per_line = std::size_t(std::max(1, (o_.linewidth - indent) / int(one)));
    }
    const std::string newline = "," + std::string(vector ? 1 : std::size_t(s_.rank - d - 1), '\n') + margin;
    std::string all = "[";
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i) all += vector && i % per_line ? ", " : newline;
      all += parts[i];
    }
    return all + "]";
  }

 private:
  bool shortened(int d) const { return summary_ && s_.shape[d] > 2 * o_.edgeitems; }
  Scalar load(std::int64_t at) const { return Scalar::load(s_.dtype, data_ + at * size_of(s_.dtype)); }
  template <class F> void visit(int d, std::int64_t at, const F& f) const {  // what is shown
    if (d == s_.rank) return f(load(at));
    for (std::int64_t i = 0; i < s_.shape[d]; ++i) {
      if (shortened(d) && i == o_.edgeitems) i = s_.shape[d] - o_.edgeitems;
      if (i < s_.shape[d]) visit(d + 1, at + i * s_.strides[d], f);
    }
  }
  std::string integer(const Scalar& v) const {
    if (s_.dtype == DType::boolean) return v.integer() ? "True" : "False";
    return v.str();
  }
  std::string element(std::int64_t at) const {
    const Scalar v = load(at);
    if (!first_) {
      const std::string s = integer(v);
      return std::string(width_ - s.size(), ' ') + s;
    }
    if (!second_) return first_->text(v.real());
    std::string imag = second_->text(v.imag()) + "j";
    imag.erase(0, imag.find_first_not_of(' '));
    return first_->text(v.real()) + (imag[0] == '-' || imag[0] == '+' ? "" : "+") + imag;
  }

  const Spec& s_;
  const char* const data_;
  const PrintOptions& o_;
  bool summary_ = false;
  std::optional<Notation> first_, second_;  // of floats, or of real and imaginary parts
  std::size_t width_ = 1;                   // of integers
};

std::string tuple(const Shape& s) {
  std::string text = "(";
  for (int i = 0; i < s.size(); ++i) text += (i ? ", " : "") + std::to_string(s[i]);
  return text + (s.size() == 1 ? ",)" : ")");
}

}  // namespace

PrintOptions get_printoptions() {
  std::lock_guard hold(lock);
  return options;
}
void set_printoptions(const PrintOptions& o) {
  check<ValueError>(o.precision >= 0 && o.precision <= 60 && o.threshold >= 0 && o.edgeitems >= 0 && o.linewidth >= 0,
                    [] { return "set_printoptions: expected numbers of at least 0 and a precision of at most 60"; });
  std::lock_guard hold(lock);
  options = o;
}

std::string repr(const Tensor& t, const PrintOptions& o, const std::string& prefix) {
  if (const Extension* e = t ? extension(t.impl()) : nullptr) return e->repr(t, o, prefix);
  if (is_wrapped(t)) {
    const Wrapped& w = *wrapped(t.impl());
    return (w.is_batch() ? "vmap(" : "transform(") + repr(w.beneath(), o, prefix) + ")";
  }
  if (!t) return "tensor(undefined)";
  const DType d = t.dtype();
  const std::string dtype = "dtype=" + prefix + name(d);
  std::vector<std::string> facts;
  if (!t.device().is_cpu()) facts.push_back("device='" + t.device().str() + "'");
  std::string text = "tensor(";
  const int indent = int(text.size());
  if (is_meta(t.device())) {
    facts.push_back("size=" + tuple(t.shape()));
    if (d != default_dtype()) facts.push_back(dtype);
    text += "...";
  } else if (t.numel() == 0) {
    if (t.dim() != 1) facts.push_back("size=" + tuple(t.shape()));
    if (d != default_dtype()) facts.push_back(dtype);
    text += "[]";
  } else {
    const bool usual =
        d == default_dtype() || d == to_complex(default_dtype()) || d == DType::int64 || d == DType::boolean;
    if (!usual) facts.push_back(dtype);
    const Tensor here = t.device().is_cpu() ? t.detach() : t.detach().to(Device());
    text += Printer(here, o).text(0, 0, indent);
  }
  if (const char* made_by = t.grad_fn()) facts.push_back("grad_fn=<" + backward_name(made_by, t.dim()) + ">");
  else if (t.requires_grad()) facts.push_back("requires_grad=True");
  // rfind's -1 for a single line counts as in PyTorch, so that lines break at the same places.
  const std::size_t newline = text.rfind('\n');
  int line = int(text.size()) - (newline == std::string::npos ? -1 : int(newline)) + 1;
  for (const std::string& fact : facts) {
    if (line + int(fact.size()) + 2 > o.linewidth) {
      text += ",\n" + std::string(std::size_t(indent), ' ') + fact;
      line = indent + int(fact.size());
    } else {
      text += ", " + fact;
      line += int(fact.size()) + 2;
    }
  }
  return text + ")";
}

std::string Tensor::str() const { return repr(*this); }

std::string Tensor::debug_str() const {
  if (!defined()) return "undefined tensor";
  std::string s = str() + "\n" + name(dtype()) + " " + shape().str() + " on " + device().str() + ", strides " +
                  strides().str() + ", offset " + std::to_string(storage_offset()) +
                  (is_contiguous() ? ", contiguous" : "") + "\nstorage of " + std::to_string(p_->storage->bytes) +
                  " bytes, version " + std::to_string(version()) + (p_->base ? ", a view" : "") + "\nrequires_grad " +
                  (requires_grad() ? "true" : "false");
  if (const char* f = grad_fn()) s += std::string(", grad_fn ") + f;
  return s + "\n";
}

namespace {

// What PyTorch calls the node of an operation, where backward_name's own rule gives another name. They belong to no
// table of operations: some are of PyTorch's functions that are several operations here, and the reverse. A test
// (Registry.NodesWithNamesOfTheirOwnAreOperations) finds one that no operation has any more.
struct Named {
  std::string_view op;
  const char* node;
};
constexpr Named kNodes[] = {
    {"batch_norm", "NativeBatchNormBackward0"},
    {"batch_norm_inference", "NativeBatchNormBackward0"},
    {"cholesky", "LinalgCholeskyExBackward0"},
    {"clamp", "ClampBackward1"},
    {"clamp_between", "ClampBackward0"},
    {"conj_physical", "ConjBackward0"},
    {"convolution_backward_input", "ConvolutionBackward0"},
    {"copy", "CopyBackwards"},
    {"copy_slices", "CopySlices"},
    {"cross_entropy", "NllLossBackward0"},
    {"det", "LinalgDetBackward0"},
    {"eig", "LinalgEigBackward0"},
    {"eigh", "LinalgEighBackward0"},
    {"entr", "SpecialEntrBackward0"},
    {"erfcx", "SpecialErfcxBackward0"},
    {"fill", "FillBackward2"},
    {"fill_", "FillBackward3"},
    {"fold", "Col2ImBackward0"},
    {"gelu_tanh", "GeluBackward0"},
    {"group_norm", "NativeGroupNormBackward0"},
    {"householder_product", "LinalgHouseholderProductBackward0"},
    {"i0e", "SpecialI0EBackward0"},
    {"i1", "SpecialI1Backward0"},
    {"i1e", "SpecialI1EBackward0"},
    {"inv", "LinalgInvExBackward0"},
    {"l1_loss", "MeanBackward0"},
    {"layer_norm", "NativeLayerNormBackward0"},
    {"ldl_factor", "LinalgLdlFactorExBackward0"},
    {"leaf", "AccumulateGrad"},
    {"log_ndtr", "SpecialLogNdtrBackward0"},
    {"logsigmoid", "LogSigmoidBackward0"},
    {"lu_factor", "LinalgLuFactorExBackward0"},
    {"median", "MedianBackward1"},
    {"median_of_all", "MedianBackward0"},
    {"ndtri", "SpecialNdtriBackward0"},
    {"norm", "LinalgVectorNormBackward0"},
    {"pinv", "LinalgPinvBackward0"},
    {"prelu", "PreluKernelBackward0"},
    {"qr", "LinalgQrBackward0"},
    {"real_part", "SelectBackward0"},
    {"relu6", "HardtanhBackward0"},
    {"round_decimals", "RoundBackward1"},
    {"scaled_dot_product_attention", "ScaledDotProductFlashAttentionForCpuBackward0"},
    {"selu", "EluBackward0"},
    {"softsign", "DivBackward0"},
    {"solve", "LinalgSolveExBackward0"},
    {"solve_triangular", "LinalgSolveTriangularBackward0"},
    {"square", "PowBackward0"},
    {"strided_gather", "AsStridedBackward0"},
    {"strided_put", "CopySlices"},
    {"strided_sum", "ConstantPadNdBackward0"},
    {"svd", "LinalgSvdBackward0"},
    {"tanhshrink", "SubBackward0"},
    {"to", "ToCopyBackward0"},
    {"xlog1py", "SpecialXlog1PyBackward0"},
};
// Those of which the rank of the result decides; null for others.
const char* node_by_rank(std::string_view op, int rank) {
  constexpr const char* products[] = {"DotBackward0", "MvBackward0", "MmBackward0", "BmmBackward0"};
  if (op == "matmul") return products[std::clamp(rank, 0, 3)];
  if (op == "linear") return rank == 2 ? "AddmmBackward0" : "ViewBackward0";
  if (op == "sum") return rank ? "SumBackward1" : "SumBackward0";
  if (op == "mean") return rank ? "MeanBackward1" : "MeanBackward0";
  if (op == "prod") return rank ? "ProdBackward1" : "ProdBackward0";
  if (op == "amax" && !rank) return "MaxBackward1";
  if (op == "amin" && !rank) return "MinBackward1";
  if (op == "max_pool") return rank == 5 ? "MaxPool3DWithIndicesBackward0" : "MaxPool2DWithIndicesBackward0";
  if (op == "avg_pool") return rank == 5 ? "AvgPool3DBackward0" : "AvgPool2DBackward0";
  if (op == "grid_sample") return rank == 5 ? "GridSampler3DBackward0" : "GridSampler2DBackward0";
  return nullptr;
}

}  // namespace

std::vector<std::string_view> nodes_with_own_names() {
  std::vector<std::string_view> all;
  for (const Named& n : kNodes) all.push_back(n.op);
  return all;
}

std::string backward_name(const char* op, int rank) {
  const std::string name = op;
  if (const char* node = node_by_rank(name, rank)) return node;
  for (const Named& n : kNodes)
    if (n.op == name) return n.node;
  if (name.empty() || (name[0] >= 'A' && name[0] <= 'Z')) return name;  // of a function of the program's own
  std::string s;
  bool capital = true;
  for (const char c : name) {
    if (c != '_') s += capital && c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c;
    capital = c == '_' || (c >= '0' && c <= '9');
  }
  return s + "Backward0";
}

std::ostream& operator<<(std::ostream& out, const Tensor& t) { return out << t.str(); }

}  // namespace neura
