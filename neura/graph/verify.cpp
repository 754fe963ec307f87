// Checks of a program.
#include <unordered_set>

#include "neura/graph/program.h"
#include "neura/op/call_error.h"
#include "neura/ops/shape/strided.h"

namespace neura::graph {
namespace {

std::string id(ValueId v) { return "%" + std::to_string(v); }
bool same(const Spec& a, const Spec& b) {
  return a.dtype == b.dtype && a.device == b.device && (a.same_geometry(b) || (a.numel == 0 && a.same_shape(b)));
}
std::string with_strides(const Spec& s) {
  return s.str() + " strides " + Shape(s.strides, s.rank).str() + " offset " + std::to_string(s.offset);
}
// The first and the one after the last byte of what a view shows, from the begin of the memory.
std::pair<std::int64_t, std::int64_t> range(const Spec& s) {
  const std::int64_t size = size_of(s.dtype);
  return {s.offset * size, (s.offset + s.span()) * size};
}
bool is_contained(const Spec& window, const Spec& base) {
  const auto w = range(window), b = range(base);
  return window.offset >= 0 && (window.numel == 0 || (w.first >= b.first && w.second <= b.second));
}

class Verifier {
 public:
  explicit Verifier(const Program& p) : p_(p), root_(p.values.size(), kNoValue) {}

  void externals() {
    expect(p_.externals.size() <= p_.values.size(), "more externals than values");
    for (std::size_t i = 0; i < p_.externals.size(); ++i) {
      const External& e = p_.externals[i];
      const Spec& s = p_.values[i];
      where_ = "external " + id(ValueId(i));
      expect(s.dense() && s.offset == 0, "a dense value at offset 0, got " + with_strides(s));
      if (e.kind == External::input) expect(!e.tensor, "no tensor of an input, got " + s.str());
      if (e.kind == External::constant) expect(e.tensor.defined(), "the value of a constant, got none");
      if (e.tensor)
        expect(same_but_offset(e.tensor.spec(), s), "a tensor of " + s.str() + ", got " + e.tensor.spec().str());
      root_[i] = ValueId(i);
    }
    defined_ = ValueId(p_.externals.size());
  }
  void nodes() {
    for (std::size_t i = 0; i < p_.nodes.size(); ++i) {
      const Node& n = p_.nodes[i];
      where_ = "node " + std::to_string(i);
      expect(n.row && n.op, "an operation with its attributes, got none");
      where_ += std::string(" (") + n.row->name + ")";
      expect(n.varies == varies(*n.row, n.op->get()), n.varies ? "numbers that vary, got none" : "varies, got false");
      operands(n), destination(n), results(n);
    }
    where_ = "the end";
    expect(defined_ == p_.values.size(), std::to_string(defined_) + " values, got " + std::to_string(p_.values.size()));
  }
  void ends() {
    where_ = "return";
    for (const ValueId v : p_.outputs) known(v);
    where_ = "update";
    std::unordered_set<ValueId> seen;
    for (const Update& u : p_.updates) {
      known(u.value);
      expect(u.external < p_.externals.size(), "an external on the left, got " + id(u.external));
      expect(p_.externals[u.external].kind != External::constant, "memory that is written, got a constant");
      expect(seen.insert(u.external).second, "one update of " + id(u.external) + ", got two");
      const Spec &to = p_.values[u.external], &from = p_.values[u.value];
      expect(to.dtype == from.dtype && to.device == from.device && to.same_shape(from),
             "a value of " + to.str() + ", got " + from.str());
    }
  }

 private:
  void expect(bool ok, const std::string& what) const {
    check<ValueError>(ok, [&] { return "verify: " + where_ + ": expected " + what; });
  }
  static bool same_but_offset(Spec a, const Spec& b) { return a.offset = b.offset, same(a, b); }
  void known(ValueId v) const {
    expect(v < defined_, "values that are made before, got " + id(v) + " of " + std::to_string(defined_));
  }

  void count(const Node& n) const {
    const Row& row = *n.row;
    const std::size_t got = n.in.size();
    const std::string tail = ", got " + std::to_string(got);
    if (row.group) {
      const std::size_t first = row.first_of_list;
      expect(got >= first && (got - first) % row.group == 0,
             std::to_string(first) + " operands and groups of " + std::to_string(row.group) + tail);
    } else {
      expect(got == row.inputs, std::to_string(row.inputs) + " operands" + tail);
    }
  }
  void operands(const Node& n) const {
    count(n);
    const Row& row = *n.row;
    const Spec* first = nullptr;
    for (std::size_t i = 0; i < n.in.size(); ++i) {
      const Arg& a = n.in[i];
      const auto which = [&](const char* got) { return "a value as " + operand_name(row, int(i)) + ", got " + got; };
      if (a.kind == Arg::absent && !row.may_be_absent(int(i))) expect(false, which("none"));
      if (a.kind == Arg::number && row.kind != Row::pointwise) expect(false, which("a number"));
      if (!a.is_value()) continue;
      known(a.id);
      const Spec& s = p_.values[a.id];
      const bool number = (row.kind == Row::pointwise || row.kind == Row::slope) && s.rank == 0 && s.device.is_cpu();
      if (row.across_devices || number) continue;
      if (!first) first = &s;
      expect(s.device == first->device,
             "operands on one device, got " + first->device.str() + " and " + s.device.str());
    }
    if (row.kind == Row::slope) expect(n.in[0].is_value(), "the incoming gradient as operand 0, got none");
    if (row.kind == Row::slope) slope_operands(n);
  }
  void slope_operands(const Node& n) const {  // what its kernel reads
    const Row& row = *n.row->of;
    const std::uint16_t reads = row.slopes[n.row->operand].reads;
    for (int i = 0; i < row.inputs; ++i)
      if (reads >> i & 1)
        expect(n.in[std::size_t(i) + 1].is_value(), "operand " + std::to_string(i + 1) + ", got none");
    if (reads >> 8 & 1) expect(n.in.back().is_value(), "the result as the last operand, got none");
    const Spec& g = p_.values[n.in[0].id];
    for (const Arg& a : n.in) {
      if (!a.is_value()) continue;
      const Spec& s = p_.values[a.id];
      expect(broadcast_shapes(n.row->name, g.sizes(), s.sizes()) == g.sizes(),
             "operands that broadcast to " + g.str() + ", got " + s.str());
    }
  }
  void destination(const Node& n) const {
    if (n.destination == Destination::fresh) return expect(n.into == kNoValue, "no destination, got " + id(n.into));
    expect(n.row->kind == Row::pointwise || n.row->kind == Row::structured,
           "a new result of a view, got a destination");
    expect(n.row->outputs == 1 && !n.row->written_inputs, "one result with a destination, got more");
    known(n.into);
  }
  void results(const Node& n) {
    std::vector<Spec> specs;
    try {
      specs = infer(p_, n);
    } catch (const Error& e) {
      throw ValueError("verify: " + where_ + ": " + e.what());
    }
    written(n, specs);
    expect(n.out.size() == specs.size(),
           std::to_string(specs.size()) + " results, got " + std::to_string(n.out.size()));
    for (std::size_t k = 0; k < specs.size(); ++k) {
      expect(n.out[k] == defined_, id(defined_) + " as the next value, got " + id(n.out[k]));
      expect(defined_ < p_.values.size(), "a spec of " + id(defined_) + ", got none");
      expect(same(specs[k], p_.values[defined_]),
             with_strides(specs[k]) + " as " + id(defined_) + ", got " + with_strides(p_.values[defined_]));
      ++defined_;
    }
    const bool view = n.row->kind == Row::view;
    for (const ValueId v : n.out) root_[v] = view ? root_[n.in[0].id] : v;
    if (view)
      expect(is_contained(p_.values[n.out[0]], p_.values[root_[n.out[0]]]),
             "a view within " + id(root_[n.out[0]]) + ", got " + with_strides(p_.values[n.out[0]]));
    if (n.row == &row_of<StridedPut> || n.row == &row_of<StridedGather> || n.row == &row_of<StridedSum>) window(n);
  }
  void window(const Node& n) const {
    const auto fits = [&](const auto& op) {
      Spec view = op.view;
      view.dtype = op.base.dtype;
      expect(is_contained(view, op.base), "a window within its base, got " + with_strides(view));
    };
    if (n.row == &row_of<StridedPut>) fits(*static_cast<const StridedPut*>(n.op->get()));
    else if (n.row == &row_of<StridedGather>) fits(*static_cast<const StridedGather*>(n.op->get()));
    else fits(*static_cast<const StridedSum*>(n.op->get()));
  }
  void written(const Node& n, std::vector<Spec>& specs) const {
    std::unordered_set<ValueId> seen;
    for (const ValueId v : written_by(n)) {
      expect(seen.insert(v).second, "each operand written once, got " + id(v) + " twice");
      expect(!p_.values[v].overlaps(), "a destination whose elements do not share memory, got " + p_.values[v].str());
    }
    if (n.destination == Destination::fresh) return;
    Node fresh = n;
    fresh.destination = Destination::fresh, fresh.into = kNoValue;
    const Spec natural = infer(p_, fresh)[0];
    const Spec& to = p_.values[n.into];
    expect(category(natural.dtype) <= category(to.dtype),
           "a destination that holds " + natural.str() + ", got " + to.str());
    expect(to.same_shape(natural) && to.device == natural.device,
           "a destination of " + natural.str() + ", got " + to.str());
    specs[0].finish();
  }

  const Program& p_;
  std::vector<ValueId> root_;  // of a view: the value whose memory it shows
  ValueId defined_ = 0;
  std::string where_ = "program";
};

}  // namespace

void verify(const Program& p) {
  Verifier v(p);
  v.externals(), v.nodes(), v.ends();
}

}  // namespace neura::graph
