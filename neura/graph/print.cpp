// From a program to text.
#include <cstring>
#include <unordered_map>

#include "neura/core/number_text.h"
#include "neura/graph/program.h"
#include "neura/graph/program_internal.h"
#include "neura/op/registry.h"
#include "neura/ops/create/copy.h"

namespace neura::graph {
namespace {

std::string list(const std::vector<ValueId>& ids) {
  std::string text;
  for (const ValueId v : ids) text += (text.empty() ? "%" : ", %") + std::to_string(v);
  return text;
}
std::string number(const Scalar& s) {
  switch (s.category()) {
    case Category::boolean:
      return s.integer() ? "true" : "false";
    case Category::integer:
      return std::to_string(s.integer());
    case Category::complex: {
      const std::string imag = number_text(s.imag());
      return "(" + number_text(s.real()) + (imag[0] == '-' ? "" : "+") + imag + "j)";
    }
    default:
      return number_text(s.real());
  }
}
std::string spec_text(const Spec& s) {
  std::string text = std::string(name(s.dtype)) + " " + s.sizes().str();
  if (!s.contiguous) text += " strides " + Shape(s.strides, s.rank).str();
  if (s.offset) text += " offset " + std::to_string(s.offset);
  if (!s.device.is_cpu()) text += " on " + s.device.str();
  return text;
}
std::string hex(const Tensor& t) {  // in logical order
  const Tensor here = contiguous(t.detach().to(Device()));
  const auto* p = static_cast<const unsigned char*>(here.const_raw_data());
  std::string text(here.nbytes() * 2, '0');
  for (std::size_t i = 0; i < here.nbytes(); ++i)
    text[2 * i] = "0123456789abcdef"[p[i] >> 4], text[2 * i + 1] = "0123456789abcdef"[p[i] & 15];
  return text;
}
std::string external(const Program& p, std::size_t i, bool with_values) {
  const External& e = p.externals[i];
  constexpr const char* kinds[] = {"input", "captured", "constant"};
  std::string text = "%" + std::to_string(i) + " = " + kinds[e.kind];
  if (!e.name.empty()) text += " " + e.name;
  if (e.tensor && (with_values || e.kind == External::constant)) text += " <" + hex(e.tensor) + ">";
  return text + " : " + spec_text(p.values[i]);
}

}  // namespace

std::string text_of(const Node& n) {
  std::string text = name_of(*n.row) + "(";
  for (std::size_t i = 0; i < n.in.size(); ++i) {
    const Arg& a = n.in[i];
    text += i ? ", " : "";
    text += a.is_value() ? "%" + std::to_string(a.id) : a.kind == Arg::number ? number(a.scalar) : "none";
  }
  text += ")";
  const std::string attributes = Attributes::of(*n.row, n.op->get()).str();
  if (!attributes.empty()) text += " {" + attributes + "}";
  if (n.destination == Destination::in_place) text += " in %" + std::to_string(n.into);
  if (n.destination == Destination::out) text += " into %" + std::to_string(n.into);
  if (n.region) text += " region " + std::to_string(n.region);
  return text;
}

std::string str(const Program& p, bool with_values) {
  std::string text = "program\n";
  for (std::size_t i = 0; i < p.externals.size(); ++i) text += external(p, i, with_values) + "\n";
  for (const Node& n : p.nodes) {
    if (!n.out.empty()) text += list(n.out) + " = ";
    text += text_of(n);
    for (std::size_t k = 0; k < n.out.size(); ++k) text += (k ? "; " : " : ") + spec_text(p.values[n.out[k]]);
    text += "\n";
  }
  for (const Update& u : p.updates)
    text += "update %" + std::to_string(u.external) + " = %" + std::to_string(u.value) + "\n";
  return text + "return" + (p.outputs.empty() ? "" : " " + list(p.outputs)) + "\n";
}

std::string name_of(const Row& row) {
  if (find_operation(row.name) == &row) return row.name;
  throw ValueError(std::string("program: expected an operation of the registry, got ") + row.name +
                   "; call register_operation");
}

}  // namespace neura::graph
