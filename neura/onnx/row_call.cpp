#include "neura/onnx/row_call.h"

#include <algorithm>
#include <map>

#include "neura/graph/program_internal.h"
#include "neura/onnx/program_state.h"

namespace neura::onnx {

Term call(const char* op, const Term& x, const AttributeList& a) { return {x.to, x.to->add(op, {x.name}, a), x.dtype}; }
Term call(const char* op, const Term& x, const Term& y, const AttributeList& a) {
  return {x.to, x.to->add(op, {x.name, y.name}, a), x.dtype};
}
Term predicate(const char* op, const Term& x) { return {x.to, x.to->add(op, {x.name}), DType::boolean}; }
Term compare(const char* op, const Term& a, const Term& b) {
  return {a.to, a.to->add(op, {a.name, b.name}), DType::boolean};
}
Term where(const Term& c, const Term& a, const Term& b) {
  return {a.to, a.to->add("Where", {c.name, a.name, b.name}), a.dtype};
}
Term operator+(const Term& a, const Term& b) { return call("Add", a, b); }
Term operator-(const Term& a, const Term& b) { return call("Sub", a, b); }
Term operator*(const Term& a, const Term& b) { return call("Mul", a, b); }
Term operator/(const Term& a, const Term& b) { return call("Div", a, b); }

RowCall::RowCall(ProgramState& state, std::size_t index)
    : to(state.to), node(state.program().nodes[index]), state_(state), index_(index) {
  for (const graph::Program& p : state.traces)
    attributes_.push_back(Attributes::of(*node.row, p.nodes[index].op->get()));
}

void RowCall::refuse(const std::string& what, const std::string& advice) const {
  throw NotImplementedError(
      "onnx.export: expected what ONNX has operators for, got the operation " + std::string(node.row->name) +
      (what.empty() ? "" : " with " + what) + " (call " + std::to_string(index_) +
      (state_.module.empty() ? "" : ", in or after the module \"" + state_.module + "\"") + "); " + advice);
}

Term RowCall::in(std::size_t i) {
  const graph::Arg& a = node.in[i];
  if (a.is_value()) return {&to, state_.name_of(a.id), state_.program().values[a.id].dtype};
  const DType dtype = node.row->kind == Row::pointwise ? common() : out().dtype;
  std::vector<std::int64_t> seen;
  for (const graph::Program& p : state_.traces) {
    const Scalar& s = p.nodes[index_].in[i].scalar;
    if (s.category() != Category::integer && s.real() != a.scalar.real())
      refuse("a real number that follows a dynamic size", "make that dimension fixed");
    seen.push_back(s.integer());
  }
  if (a.scalar.category() != Category::integer || std::count(seen.begin(), seen.end(), seen[0]) == long(seen.size()))
    return {&to, to.number(a.scalar, dtype), dtype};
  const std::string size = write_size().one(state_.symbols.explain(seen));
  return Term{&to, to.add("Squeeze", {size, to.integers({0})}), DType::int64}.cast(dtype);
}
Names RowCall::names() {
  Names all;
  for (std::size_t i = 0; i < inputs(); ++i) all.push_back(name(i));
  return all;
}
Term RowCall::self() { return {&to, state_.name_of(node.into), state_.program().values[node.into].dtype}; }

const Spec& RowCall::spec(std::size_t i) const {
  if (!has(i) || !node.in[i].is_value()) refuse("a number as operand " + std::to_string(i), "pass a tensor");
  return state_.program().values[node.in[i].id];
}
Size RowCall::size(std::size_t i, int dim) const { return spec(i), state_.size(node.in[i].id, dim); }
std::vector<Size> RowCall::sizes(std::size_t i) const {
  std::vector<Size> all;
  for (int d = 0; d < spec(i).rank; ++d) all.push_back(size(i, d));
  return all;
}
DType RowCall::common() const { return graph::dtypes_of(state_.program(), node).common; }

Tensor RowCall::constant(std::size_t i) const {
  return has(i) && node.in[i].is_value() && !state_.constants.empty() ? state_.constants[node.in[i].id] : Tensor();
}
const graph::Node* RowCall::maker(std::size_t i) const {
  const std::size_t at = has(i) && node.in[i].is_value() ? state_.makers[node.in[i].id] : std::string::npos;
  return at == std::string::npos ? nullptr : &state_.program().nodes[at];
}
RowCall RowCall::made(std::size_t i) { return RowCall(state_, state_.makers[node.in[i].id]); }

const Attributes::Field& RowCall::find(std::size_t trace, std::string_view path) const {
  const Attributes::Field* f = attributes_[trace].find(path);
  if (!f) throw ValueError("onnx.export: no attribute " + std::string(path) + " of " + node.row->name);
  return *f;
}
const Attributes::Field& RowCall::field(std::string_view path) const {
  const Attributes::Field& f = find(0, path);
  for (std::size_t t = 1; t < attributes_.size(); ++t)
    if (!(find(t, path) == f))
      refuse("a " + std::string(path) + " that follows a dynamic size", "make that dimension fixed");
  return f;
}
std::int64_t RowCall::integer(std::string_view path) const { return field(path).whole; }
double RowCall::real(std::string_view path) const {
  const Attributes::Field& f = field(path);
  return f.kind == Attributes::Kind::real ? f.number : double(f.whole);
}
Scalar RowCall::scalar(std::string_view path) const {
  const Attributes::Field& f = field(path);
  if (f.kind == Attributes::Kind::real) return f.number;
  return f.kind == Attributes::Kind::boolean ? Scalar(f.whole != 0) : Scalar(f.whole);
}
Size RowCall::size(std::string_view path) const {
  std::vector<std::int64_t> seen;
  for (std::size_t t = 0; t < attributes_.size(); ++t) seen.push_back(find(t, path).whole);
  return state_.symbols.explain(seen);
}
std::vector<Size> RowCall::sizes(std::string_view path) const {
  std::vector<std::vector<std::int64_t>> seen;  // by member, by trace
  for (std::size_t t = 0; t < attributes_.size(); ++t) {
    const Attributes::Field* f = &find(t, path);
    seen.resize(f->fields);
    for (std::size_t m = 0; m < seen.size(); ++m) seen[m].push_back(f[1 + m].whole);
  }
  std::vector<Size> all;
  for (const auto& s : seen) all.push_back(state_.symbols.explain(s));
  return all;
}
std::vector<std::int64_t> RowCall::seen(std::string_view path, std::size_t trace) const {
  const Attributes::Field* f = &find(trace, path);
  std::vector<std::int64_t> all;
  for (std::size_t m = 0; m < f->fields; ++m) all.push_back(f[1 + m].whole);
  if (!f->fields) all.push_back(f->whole);
  return all;
}
std::vector<std::int64_t> RowCall::integers(std::string_view path) const {
  std::vector<std::int64_t> all;
  for (const Size& s : sizes(path)) {
    if (!s.fixed()) refuse("a " + std::string(path) + " that follows a dynamic size", "make that dimension fixed");
    all.push_back(s.value);
  }
  return all;
}
std::vector<std::int64_t> RowCall::bits(std::string_view path) const {
  std::vector<std::int64_t> all;
  for (std::int64_t mask = integer(path), i = 0; mask >> i; ++i)
    if (mask >> i & 1) all.push_back(i);
  return all;
}

const Spec& RowCall::out(std::size_t k) const { return state_.program().values[node.out[k]]; }
std::vector<Size> RowCall::out_sizes(std::size_t k) const {
  std::vector<Size> all;
  for (int d = 0; d < out(k).rank; ++d) all.push_back(state_.size(node.out[k], d));
  return all;
}
bool RowCall::wanted(std::size_t k) const { return state_.last[node.out[k]] != std::string::npos; }
void RowCall::result(const Term& t, std::size_t k) { state_.names[node.out[k]] = t.cast(out(k).dtype).name; }
SizeWriter RowCall::write_size() { return SizeWriter(to, state_.symbols, state_.inputs); }

std::vector<const RowWriter*> all_writers() {
  std::vector<const RowWriter*> all;
  for (const auto& family : {pointwise_writers(), formula_writers(), view_writers(), index_writers(), reduce_writers(),
                             layer_writers(), recurrent_writers()})
    for (const RowWriter& w : family) all.push_back(&w);
  return all;
}
const RowWriter* find_writer(std::string_view row) {
  static const auto& table = *[] {
    auto* t = new std::map<std::string_view, const RowWriter*>;
    for (const RowWriter* w : all_writers()) t->emplace(w->row, w);
    return t;
  }();
  const auto at = table.find(row);
  return at == table.end() ? nullptr : at->second;
}

}  // namespace neura::onnx
