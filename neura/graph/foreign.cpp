#include "neura/graph/foreign.h"

#include <algorithm>

#include "neura/backend/kernels/matmul.h"
#include "neura/backend/kernels/reduce.h"
#include "neura/core/checked_int.h"
#include "neura/graph/program_internal.h"
#include "neura/ops/shape/view.h"

namespace neura::graph {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 31;  // of windows, strides and paddings

bool is_between(std::int64_t x, std::int64_t least, std::int64_t most) { return least <= x && x <= most; }
bool is_vector(const Spec& s, std::int64_t n) { return s.rank == 1 && s.shape[0] == n; }

// One call of a text, and what a rule may ask of it.
class UntrustedCall {
 public:
  UntrustedCall(const Program& p, const Node& n) : p_(p), n_(n), attributes_(Attributes::of(*n.row, n.op->get())) {}

  std::size_t count() const { return n_.in.size(); }
  bool has(std::size_t i) const { return i < n_.in.size() && n_.in[i].is_value(); }
  const Spec& in(std::size_t i) const {
    check<ValueError>(has(i), [&] { return "expected a value as operand " + std::to_string(i) + ", got none"; });
    return p_.values[n_.in[i].id];
  }
  bool absent_or(std::size_t i, std::int64_t n) const { return !has(i) || is_vector(in(i), n); }
  bool contiguous() const {
    return std::all_of(n_.in.begin(), n_.in.end(),
                       [&](const Arg& a) { return !a.is_value() || p_.values[a.id].contiguous; });
  }
  bool one_dtype() const {
    return std::all_of(n_.in.begin(), n_.in.end(),
                       [&](const Arg& a) { return !a.is_value() || p_.values[a.id].dtype == in(0).dtype; });
  }

  // Attributes by name, in any order.
  std::int64_t whole(std::string_view name) const { return field(name)->whole; }
  DType dtype(std::string_view name) const { return DType(whole(name)); }
  std::vector<std::int64_t> numbers(std::string_view name) const {
    const Attributes::Field* f = field(name);
    std::vector<std::int64_t> all;
    if (f->kind == Attributes::Kind::group)
      for (std::size_t i = 1; i <= f->fields; ++i) all.push_back(f[i].whole);
    return all;
  }
  Shape shape(std::string_view name) const { return Shape(std::span<const std::int64_t>(numbers(name))); }
  // `dim` of operand i; a number has one, too.
  bool has_dim(std::size_t i = 0) const { return is_between(whole("dim"), 0, std::max<int>(in(i).rank, 1) - 1); }
  bool has_dims(const Shape& dims) const {  // different ones
    unsigned seen = 0;
    for (const std::int64_t d : dims) {
      if (!is_between(d, 0, in(0).rank - 1) || seen >> d & 1) return false;
      seen |= 1u << d;
    }
    return true;
  }
  bool has_mask() const { return is_between(whole("dims"), 0, (std::int64_t{1} << in(0).rank) - 1); }

 private:
  const Attributes::Field* field(std::string_view name) const {
    for (const Attributes::Field& f : attributes_.fields())
      if (f.name == name) return &f;
    throw ValueError("expected an attribute " + std::string(name) + ", got none");
  }
  const Program& p_;
  const Node& n_;
  const Attributes attributes_;
};

bool always(const UntrustedCall&) { return true; }
bool along_dim(const UntrustedCall& c) { return c.contiguous() && c.has_dim(); }

bool permute(const UntrustedCall& c) {
  const Shape dims = c.shape("dims");
  return dims.size() == c.in(0).rank && c.has_dims(dims);
}
bool select(const UntrustedCall& c) {
  const Spec& x = c.in(0);
  return x.rank && c.has_dim() && is_between(c.whole("index"), 0, x.shape[c.whole("dim")] - 1);
}
bool slice(const UntrustedCall& c) {
  const Spec& x = c.in(0);
  if (!x.rank || !c.has_dim()) return false;
  const std::int64_t d = c.whole("dim"), end = c.whole("end"), step = c.whole("step");
  return is_between(end, 0, x.shape[d]) && is_between(c.whole("start"), 0, end) && is_between(step, 1, kMost) &&
         (CheckedInt(x.strides[d]) * step).fits();
}
bool reshape(const UntrustedCall& c) {
  const Shape to = c.shape("to");
  CheckedInt n = 1;
  for (const std::int64_t size : to) {
    if (size < 0) return false;
    n = n * size;
  }
  const Spec& x = c.in(0);
  return n.fits() && n.of("view") == x.numel && (x.contiguous || view_strides(x, to));
}
bool expand(const UntrustedCall& c) {
  const Shape to = c.shape("to");
  const Spec& x = c.in(0);
  if (to.size() < x.rank) return false;
  for (int d = 0; d < x.rank; ++d)
    if (x.shape[d] != 1 && x.shape[d] != to[to.size() - x.rank + d]) return false;
  return true;
}
bool flip(const UntrustedCall& c) { return c.contiguous() && c.has_dims(c.shape("dims")); }
bool roll(const UntrustedCall& c) {
  const Shape dims = c.shape("dims"), shifts = c.shape("shifts");
  if (!flip(c) || shifts.size() != dims.size()) return false;
  for (int i = 0; i < dims.size(); ++i)
    if (!is_between(shifts[i], 0, std::max<std::int64_t>(c.in(0).shape[dims[i]] - 1, 0))) return false;
  return true;
}
bool triangle(const UntrustedCall& c) {
  return c.contiguous() && c.in(0).rank >= 2 && is_between(c.whole("diagonal"), -kMost, kMost);
}
bool filled(const UntrustedCall& c) {
  const Shape sizes = c.shape("shape");
  return c.whole("offset") == 0 && c.shape("strides") == calculate_strides(sizes);
}
bool range(const UntrustedCall& c) { return bit(c.dtype("dtype")) & dtypes::numbers; }
bool cat(const UntrustedCall& c) {
  const std::vector<std::int64_t> sizes = c.numbers("sizes");
  if (!c.count() || sizes.size() != c.count() || !c.in(0).rank || !c.has_dim() || !c.one_dtype()) return false;
  const std::int64_t dim = c.whole("dim");
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Shape same = c.in(i).sizes();
    if (same.size() != c.in(0).rank || same[int(dim)] != sizes[i]) return false;
    same[int(dim)] = c.in(0).shape[dim];
    if (same != c.in(0).sizes()) return false;
  }
  return true;
}
bool gather(const UntrustedCall& c) { return along_dim(c) && c.in(1).dtype == DType::int64; }
bool embedding(const UntrustedCall& c) { return c.contiguous() && c.in(0).dtype == DType::int64; }

bool is_not_empty(const UntrustedCall& c, std::int64_t dims) {
  const Spec& x = c.in(0);
  for (int d = 0; d < x.rank; ++d)
    if (dims >> d & 1 && !x.shape[d]) return false;
  return true;
}
bool sums(const UntrustedCall& c, ReduceOp fold, DTypeSet results) {
  const DType x = c.in(0).dtype, result = c.dtype("result");
  const bool integral = is_integral(result);
  return c.whole("fold") == std::int64_t(fold) && c.has_mask() && (bit(result) & results) &&
         is_complex(x) <= is_complex(result) && c.dtype("computed") == (integral ? DType::int64 : accumulation(result));
}
bool sum(const UntrustedCall& c) { return sums(c, ReduceOp::sum, dtypes::all); }
bool mean(const UntrustedCall& c) { return sums(c, ReduceOp::mean, dtypes::floating | dtypes::complexes); }
bool prod(const UntrustedCall& c) { return sums(c, ReduceOp::prod, dtypes::all); }
bool extreme(const UntrustedCall& c, ReduceOp fold) {
  const DType x = c.in(0).dtype;
  return c.whole("fold") == std::int64_t(fold) && c.has_mask() && (bit(x) & dtypes::ordered) &&
         c.dtype("result") == x && c.dtype("computed") == accumulation(x) && is_not_empty(c, c.whole("dims"));
}
bool amax(const UntrustedCall& c) { return extreme(c, ReduceOp::amax); }
bool amin(const UntrustedCall& c) { return extreme(c, ReduceOp::amin); }
bool moments(const UntrustedCall& c) { return is_floating(c.in(0).dtype) && c.has_mask(); }
bool logsumexp(const UntrustedCall& c) { return moments(c) && is_not_empty(c, c.whole("dims")); }
bool norm(const UntrustedCall& c) { return logsumexp(c) && c.dtype("result") == c.in(0).dtype; }
bool best(const UntrustedCall& c) {
  return along_dim(c) && (bit(c.in(0).dtype) & dtypes::ordered) &&
         is_not_empty(c, c.in(0).rank ? std::int64_t{1} << c.whole("dim") : 0);
}

bool row_norm(const UntrustedCall& c) {
  const Spec& x = c.in(0);
  const std::int64_t first = c.whole("first");
  if (!c.contiguous() || !is_between(first, 0, x.rank - 1)) return false;
  const Shape row(x.shape + first, std::size_t(x.rank - first));
  for (std::size_t i = 1; i < c.count(); ++i)
    if (c.has(i) && c.in(i).sizes() != row) return false;
  return true;
}
bool channel_norm(const UntrustedCall& c) {
  const Spec& x = c.in(0);
  if (!c.contiguous() || x.rank < 2) return false;
  for (std::size_t i = 1; i < c.count(); ++i)
    if (!c.absent_or(i, x.shape[1])) return false;
  return true;
}
bool group_norm(const UntrustedCall& c) {
  const std::int64_t groups = c.whole("groups");
  return channel_norm(c) && is_between(groups, 1, kMost) && c.in(0).shape[1] % groups == 0;
}
bool batch_norm(const UntrustedCall& c) {
  return channel_norm(c) && is_floating(c.in(3).dtype) && c.in(3).dtype == c.in(4).dtype &&
         (c.in(3).dtype == c.in(0).dtype || c.in(3).dtype == accumulation(c.in(0).dtype));
}

struct Windows {  // the attributes that convolutions share
  std::int64_t dims, groups;
  Shape stride, dilation, before, after;
  explicit Windows(const UntrustedCall& c)
      : dims(c.whole("dims")),
        groups(c.whole("groups")),
        stride(c.shape("stride")),
        dilation(c.shape("dilation")),
        before(c.shape("before")),
        after(c.shape("after")) {}
  bool fit(const UntrustedCall& c) const {
    if (!c.contiguous() || !is_between(dims, 1, 3) || !is_between(groups, 1, kMost)) return false;
    for (const Shape* s : {&stride, &dilation, &before, &after})
      if (s->size() != dims) return false;
    for (int d = 0; d < dims; ++d)
      if (!is_between(stride[d], 1, kMost) || !is_between(dilation[d], 1, kMost) || !is_between(before[d], 0, kMost) ||
          !is_between(after[d], 0, kMost))
        return false;
    return c.in(0).rank == dims + 2 && c.in(1).rank == dims + 2 && c.in(1).numel > 0;
  }
  // Results along a dimension; -1 where the window does not fit in.
  std::int64_t count(int d, std::int64_t in, std::int64_t kernel) const {
    if (!is_between(in, 1, kMost) || !is_between(kernel, 1, kMost)) return -1;
    const std::int64_t room = in + before[d] + after[d] - dilation[d] * (kernel - 1) - 1;
    return room < 0 ? -1 : room / stride[d] + 1;
  }
};
bool convolution(const UntrustedCall& c) {
  const Windows s(c);
  if (!s.fit(c) || !c.one_dtype()) return false;
  const Spec &x = c.in(0), &w = c.in(1);
  for (int d = 0; d < s.dims; ++d)
    if (s.count(d, x.shape[d + 2], w.shape[d + 2]) < 0) return false;
  return (CheckedInt(w.shape[1]) * s.groups).fits() && w.shape[1] * s.groups == x.shape[1] &&
         w.shape[0] % s.groups == 0 && c.absent_or(2, w.shape[0]);
}
bool transposed(const UntrustedCall& c) {  // operand 0 is what a convolution of the result would give
  const Windows s(c);
  const Shape input = c.shape("input");
  if (!s.fit(c) || !c.one_dtype() || input.size() != s.dims) return false;
  const Spec &g = c.in(0), &w = c.in(1);
  for (int d = 0; d < s.dims; ++d)
    if (s.count(d, input[d], w.shape[d + 2]) != g.shape[d + 2]) return false;
  return g.shape[1] == w.shape[0] && w.shape[0] % s.groups == 0 && (CheckedInt(w.shape[1]) * s.groups).fits();
}

// Every window of a pooling has an element of the input.
bool meets(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
           std::int64_t dilation) {
  if (!is_between(kernel, 1, kMost) || !is_between(stride, 1, kMost) || !is_between(dilation, 1, kMost)) return false;
  if (!is_between(padding, 0, ((kernel - 1) * dilation + 1) / 2) || (out - 1) * stride >= in + padding) return false;
  for (std::int64_t o = 0; o < out; ++o) {
    const std::int64_t first = o * stride - padding, end = std::min(in, first + (kernel - 1) * dilation + 1);
    if ((first >= 0 ? first : first + (-first + dilation - 1) / dilation * dilation) >= end) return false;
    if (first >= 0 && dilation == 1) break;  // and so have all after it: the last begins inside
  }
  return true;
}
bool pool(const UntrustedCall& c) {
  const Spec& x = c.in(0);
  const std::int64_t dims = c.whole("dims");
  if (!c.contiguous() || !is_between(dims, 1, 3) || !is_between(x.rank, dims + 1, dims + 2)) return false;
  const auto in = c.numbers("in"), out = c.numbers("out"), kernel = c.numbers("kernel"), stride = c.numbers("stride"),
             padding = c.numbers("padding"), dilation = c.numbers("dilation");
  for (std::size_t d = 0; d < 3; ++d) {
    const int own = int(d) - int(3 - dims);  // leading sizes of 1 make it three dimensions
    if (in[d] != (own < 0 ? 1 : x.shape[x.rank - dims + own]) || !is_between(out[d], 1, own < 0 ? 1 : kMost / 64) ||
        !is_between(in[d], 1, kMost))
      return false;
    if (!c.whole("adaptive") && !meets(in[d], out[d], kernel[d], stride[d], padding[d], dilation[d])) return false;
  }
  return true;
}
bool max_pool(const UntrustedCall& c) {
  if (!pool(c)) return false;
  const auto kernel = c.numbers("kernel");
  return !c.whole("compact") || (!c.whole("adaptive") && std::max({kernel[0], kernel[1], kernel[2]}) <= 256 &&
                                 kernel[0] * kernel[1] * kernel[2] <= 256);
}
bool avg_pool(const UntrustedCall& c) { return pool(c) && is_between(c.whole("divisor"), -kMost, kMost); }

bool attention(const UntrustedCall& c) {
  const Spec &q = c.in(0), &k = c.in(1), &v = c.in(2);
  if (q.rank < 2 || k.rank != q.rank || v.rank != q.rank || !q.numel || !k.numel || !v.numel) return false;
  for (int d = 0; d + 2 < q.rank; ++d)
    if (k.shape[d] != q.shape[d] || v.shape[d] != q.shape[d]) return false;
  if (!c.has(3)) return true;
  const Spec& mask = c.in(3);
  if (mask.rank > q.rank || !mask.numel || (mask.dtype != q.dtype && mask.dtype != accumulation(q.dtype))) return false;
  for (int d = 1; d <= mask.rank; ++d) {
    const std::int64_t size = mask.shape[mask.rank - d], full = d == 1 ? k.shape[k.rank - 2] : q.shape[q.rank - d];
    if (size != 1 && size != full) return false;
  }
  return !mask.rank || mask.shape[mask.rank - 1] == 1 || mask.strides[mask.rank - 1] == 1;
}
bool recurrent(const UntrustedCall& c) {
  const std::int64_t cell = c.whole("cell"), times = c.whole("times");
  if (!is_between(cell, 0, std::int64_t(RecurrentCell::lstm)) || !c.contiguous() || !c.one_dtype()) return false;
  const Spec &x = c.in(0), &h = c.in(1), &w = c.in(3);
  if (x.rank != 2 || h.rank != 2 || w.rank != 2 || !is_floating(x.dtype) || !is_between(times, 1, x.shape[0]))
    return false;
  const std::int64_t batch = h.shape[0], hidden = h.shape[1], gates = gates_of(RecurrentCell(cell));
  const bool fit = is_between(hidden, 1, kMost) && w.shape[0] == gates * hidden && w.shape[1] == hidden &&
                   x.shape[1] == gates * hidden && batch >= 1;
  if (!fit || !c.absent_or(4, gates * hidden)) return false;
  if (c.has(2) != (RecurrentCell(cell) == RecurrentCell::lstm) || (c.has(2) && !c.in(2).same_shape(h))) return false;
  if (c.has(4) && RecurrentCell(cell) != RecurrentCell::gru) return false;
  const std::vector<std::int64_t> sizes = c.numbers("sizes");
  if (sizes.empty()) return x.shape[0] % times == 0 && x.shape[0] / times == batch;
  std::int64_t rows = 0, before = batch;
  for (const std::int64_t n : sizes) {
    if (!is_between(n, 1, before)) return false;
    before = n, rows += n;
  }
  return std::int64_t(sizes.size()) == times && rows == x.shape[0] && sizes[0] == batch;
}

using Rule = bool (*)(const UntrustedCall&);
// By the operations' names in texts, each between spaces. Those listed here have an infer() that checks the rest.
constexpr std::pair<std::string_view, Rule> kRules[] = {
    {" to lazy_clone copy matmul addmm linear ", always},
    {" permute ", permute},
    {" select unbind ", select},
    {" slice split ", slice},
    {" view ", reshape},
    {" expand ", expand},
    {" flip ", flip},
    {" roll ", roll},
    {" tril triu ", triangle},
    {" full zeros ones full_like zeros_like ones_like ", filled},
    {" arange ", range},
    {" cat ", cat},
    {" gather index_select ", gather},
    {" embedding ", embedding},
    {" cumsum softmax log_softmax _safe_softmax ", along_dim},
    {" sum ", sum},
    {" mean ", mean},
    {" prod ", prod},
    {" amax ", amax},
    {" amin ", amin},
    {" var std ", moments},
    {" logsumexp ", logsumexp},
    {" norm ", norm},
    {" max min argmax argmin ", best},
    {" layer_norm rms_norm ", row_norm},
    {" group_norm ", group_norm},
    {" batch_norm_inference ", batch_norm},
    {" convolution ", convolution},
    {" convolution_backward_input ", transposed},
    {" max_pool ", max_pool},
    {" avg_pool ", avg_pool},
    {" scaled_dot_product_attention ", attention},
    {" recurrent_layer ", recurrent},
};

Rule rule_of(const Row& row) {  // null: there is none
  const std::string name = " " + name_of(row) + " ";
  for (const auto& [names, rule] : kRules)
    if (names.find(name) != names.npos) return row.kind == Row::slope ? nullptr : rule;
  return nullptr;
}

void check_node(const Program& p, const Node& n) {
  if (n.row->kind == Row::pointwise) return;
  const Rule rule = rule_of(*n.row);
  check<NotImplementedError>(rule && n.destination == Destination::fresh, [&] {
    return "program: expected operations that are checked in programs of files, got " + text_of(n) +
           "; trust the file, if it is your own";
  });
  std::string why;
  bool fits = false;
  try {
    fits = rule(UntrustedCall(p, n));
  } catch (const Error& e) {
    why = std::string(": ") + e.what();
  }
  check<ValueError>(fits,
                    [&] { return "program: expected attributes and operands that fit, got " + text_of(n) + why; });
}

}  // namespace

bool is_checked(const Row& row) { return row.kind == Row::pointwise || rule_of(row); }

void check_foreign(const Program& p) {
  for (const Node& n : p.nodes) check_node(p, n);
  for (const Update& u : p.updates)
    check<ValueError>(u.external < p.externals.size() && p.externals[u.external].kind == External::captured,
                      [] { return std::string("program: expected updates of captured memory, got one of an input"); });
}

}  // namespace neura::graph
