#include "neura/onnx/operators.h"

#include "neura/op/defer.h"

namespace neura::onnx {

Operands::Operands(std::span<const Value> values, const State& state) : values_(values), state_(state) {
  for (const Value& v : values_)
    if (v.tensor && !v.tensor.device().is_cpu()) {
      device_ = v.tensor.device();
      return;
    }
}
const Value& Operands::value(std::size_t i) const {
  check<ValueError>(has(i), [&] {
    return "expected operand " + std::to_string(i) + ", got " + std::to_string(values_.size()) +
           " operands or an empty one";
  });
  return values_[i];
}
Tensor Operands::operator[](std::size_t i) const {
  const Value& v = value(i);
  check<ValueError>(v.tensor.defined(), [&] {
    return "expected a tensor of numbers as operand " + std::to_string(i) + ", got " + v.str();
  });
  return v.tensor.device() == device_ ? v.tensor : v.tensor.to(device_);
}
std::vector<Tensor> Operands::tensors(std::size_t from) const {
  std::vector<Tensor> out;
  for (std::size_t i = from; i < size(); ++i) out.push_back((*this)[i]);
  return out;
}
std::vector<std::int64_t> Operands::integers(std::size_t i) const {
  const Value& v = value(i);
  check<ValueError>(v.tensor && is_integral(v.tensor.dtype()) && v.tensor.numel() <= 1 << 20,
                    [&] { return "expected integers as operand " + std::to_string(i) + ", got " + v.str(); });
  const Untraced alone(v.host);
  return integers_of(v.tensor);
}
std::vector<double> Operands::reals(std::size_t i) const {
  const Value& v = value(i);
  check<ValueError>(v.tensor && v.tensor.numel() <= 1 << 20,
                    [&] { return "expected numbers as operand " + std::to_string(i) + ", got " + v.str(); });
  const Untraced alone(v.host);
  return reals_of(v.tensor);
}
std::int64_t Operands::integer(std::size_t i) const {
  const std::vector<std::int64_t> all = integers(i);
  check<ValueError>(all.size() == 1,
                    [&] { return "expected one integer as operand " + std::to_string(i) + ", got " + value(i).str(); });
  return all[0];
}
double Operands::real(std::size_t i) const {
  const std::vector<double> all = reals(i);
  check<ValueError>(all.size() == 1,
                    [&] { return "expected one number as operand " + std::to_string(i) + ", got " + value(i).str(); });
  return all[0];
}
const Text& Operands::text(std::size_t i) const {
  const Value& v = value(i);
  check<ValueError>(bool(v.text),
                    [&] { return "expected texts as operand " + std::to_string(i) + ", got " + v.str(); });
  return *v.text;
}
const Sequence& Operands::sequence(std::size_t i) const {
  const Value& v = value(i);
  check<ValueError>(bool(v.sequence),
                    [&] { return "expected a sequence as operand " + std::to_string(i) + ", got " + v.str(); });
  return *v.sequence;
}

Results Branch::operator()(Results given, const Operands& node) const {
  for (std::size_t i = 0; i < captured; ++i) given.push_back(node.values()[first + i]);
  return call(Operands(given, node.state()));
}

const AttributeProto* Node::find(const std::string& attribute) const {
  const auto at = attributes.find(attribute);
  return at == attributes.end() ? nullptr : &at->second;
}
void Node::missing(const std::string& attribute, const char* kind) const {
  throw ValueError("onnx.load: " + op + ": expected the attribute " + attribute + " to be " + kind + ", got " +
                   (has(attribute) ? "another kind" : "none") + "; the model is damaged");
}
std::int64_t Node::integer(const std::string& attribute) const {
  const AttributeProto* a = find(attribute);
  if (!a || !a->i) missing(attribute, "an integer");
  return *a->i;
}
std::int64_t Node::integer(const std::string& attribute, std::int64_t otherwise) const {
  const AttributeProto* a = find(attribute);
  if (!a) return otherwise;
  if (a->i) return *a->i;
  if (a->type == int(AttributeProto::Kind::integer)) return 0;  // its default, which some writers leave out
  missing(attribute, "an integer");
}
double Node::real(const std::string& attribute, double otherwise) const {
  const AttributeProto* a = find(attribute);
  if (!a) return otherwise;
  if (a->f) return double(*a->f);
  if (a->type == int(AttributeProto::Kind::real)) return 0;
  missing(attribute, "a number");
}
std::string Node::text(const std::string& attribute, const std::string& otherwise) const {
  const AttributeProto* a = find(attribute);
  if (!a) return otherwise;
  if (a->s) return *a->s;
  if (a->type == int(AttributeProto::Kind::text)) return "";
  missing(attribute, "a text");
}
std::vector<std::int64_t> Node::integers(const std::string& attribute, std::vector<std::int64_t> otherwise) const {
  const AttributeProto* a = find(attribute);
  if (!a) return otherwise;
  if (a->ints.empty() && a->type != int(AttributeProto::Kind::integers)) missing(attribute, "integers");
  return a->ints;
}
std::vector<double> Node::reals(const std::string& attribute) const {
  const AttributeProto* a = find(attribute);
  if (!a) return {};
  if (a->floats.empty() && a->type != int(AttributeProto::Kind::reals)) missing(attribute, "numbers");
  return {a->floats.begin(), a->floats.end()};
}
std::vector<std::string> Node::texts(const std::string& attribute) const {
  const AttributeProto* a = find(attribute);
  if (!a) return {};
  if (a->strings.empty() && a->type != int(AttributeProto::Kind::texts)) missing(attribute, "texts");
  return a->strings;
}
Value Node::tensor(const std::string& attribute) const {
  const AttributeProto* a = find(attribute);
  if (!a || !a->t) missing(attribute, "a tensor");
  return value_of(*a->t);
}
const Branch& Node::graph(const std::string& attribute) const {
  const auto at = graphs.find(attribute);
  if (at == graphs.end()) missing(attribute, "a graph");
  return at->second;
}

BoundNode Operator::bound(const Node& n) const {
  if (bind) return bind(n);
  return run;
}

namespace {
using Families = std::vector<std::span<const Operator>>;
const Families& families() {
  static const Families all = {elementwise_operators(), activation_operators(), cast_operators(),
                               shape_operators(),       index_operators(),      reduce_operators(),
                               product_operators(),     quantised_operators(),  window_operators(),
                               norm_operators(),        control_operators(),    attention_operators(),
                               resize_operators(),      recurrent_operators(),  sequence_operators(),
                               loss_operators(),        signal_operators(),     region_operators(),
                               image_operators(),       text_operators(),       tree_operators()};
  return all;
}
}  // namespace

std::vector<const Operator*> all_operators() {
  std::vector<const Operator*> out;
  for (const auto& family : families())
    for (const Operator& o : family) out.push_back(&o);
  return out;
}

const Operator* find_operator(std::string_view domain, std::string_view name, std::int64_t version) {
  using Key = std::pair<std::string_view, std::string_view>;
  static const std::multimap<Key, const Operator*> by_name = [] {
    std::multimap<Key, const Operator*> map;
    for (const Operator* o : all_operators()) map.emplace(Key(o->domain, o->name), o);
    return map;
  }();
  const auto [from, to] = by_name.equal_range(Key(domain == "ai.onnx" ? "" : domain, name));
  for (auto at = from; at != to; ++at)
    if (at->second->first <= version && version <= at->second->last) return at->second;
  return nullptr;
}

int axis_of(const char* op, std::int64_t axis, int rank) { return wrap_dim(op, axis, rank); }
std::vector<std::int64_t> broadcast_places(const Shape& from, const Shape& to) {
  std::vector<std::int64_t> out(std::size_t(to.numel()), 0);
  std::int64_t step = 1, inner = 1;  // of an element in `from` and in `to`
  for (int i = to.size(); i-- > 0;) {
    const int own = i - (to.size() - from.size());
    const bool moves = own >= 0 && from[own] != 1;
    for (std::size_t k = 0; moves && k < out.size(); ++k) out[k] += std::int64_t(k) / inner % to[i] * step;
    if (own >= 0) step *= from[own];
    inner *= to[i];
  }
  return out;
}
void refuse(const std::string& op, const std::string& expected, const std::string& got) {
  throw ValueError(op + ": expected " + expected + ", got " + got + "; the model is not what this operator takes");
}

}  // namespace neura::onnx
