#include "neura/onnx/boxes.h"

#include <algorithm>

#include "neura/ops/create/copy.h"

namespace neura::onnx {
namespace {

[[noreturn]] void refuse_input(const std::string& input, const std::string& expected, const std::string& got) {
  throw ValueError("onnx.Model: expected " + expected + " as the input \"" + input + "\", got " + got +
                   "; pass what input_names lists");
}

void collect_text(const std::string& input, const nn::Value& v, int depth, Text& to) {
  if (const std::string* s = v.get<std::string>()) {
    if (depth != to.shape.size() && !to.items.empty()) refuse_input(input, "texts of equal depth", "others");
    to.items.push_back(*s);
    return;
  }
  const nn::List* list = v.get<nn::List>();
  if (!list) refuse_input(input, "texts", v.type_name());
  const auto n = std::int64_t(list->items.size());
  if (depth == to.shape.size()) to.shape.push_back(n);
  if (to.shape[depth] != n) refuse_input(input, "lists of equal length", "others");
  for (const nn::Value& item : list->items) collect_text(input, item, depth + 1, to);
}

Value unbox(const std::string& input, const std::optional<TypeProto>& type, const nn::Value& v) {
  if (v.is_none()) return {};
  if (type && type->optional_type)
    return unbox(input, type->optional_type->elem_type ? std::optional(*type->optional_type->elem_type) : std::nullopt,
                 v);
  if (type && type->sequence_type) {
    const nn::List* list = v.get<nn::List>();
    if (!list) refuse_input(input, "a list of tensors", v.type_name());
    Sequence s;
    const auto& inner = type->sequence_type->elem_type;
    for (const nn::Value& item : list->items)
      s.push_back(unbox(input, inner ? std::optional(*inner) : std::nullopt, item));
    return Value(std::move(s));
  }
  const Type declared = type && type->tensor_type ? Type(type->tensor_type->elem_type) : Type::undefined;
  if (declared == Type::string) {
    Text t;
    collect_text(input, v, 0, t);
    // An empty list does not say the sizes within: the declared ones, or 0.
    const auto& sizes = type->tensor_type->shape;
    if (t.shape.numel() == 0 && sizes)
      for (std::size_t i = std::size_t(t.shape.size()); i < sizes->dim.size(); ++i)
        t.shape.push_back(std::max<std::int64_t>(sizes->dim[i].dim_value.value_or(0), 0));
    if (t.shape.numel() != std::int64_t(t.items.size())) refuse_input(input, "lists of equal length", "others");
    return Value(std::move(t));
  }
  const Tensor* t = v.get<Tensor>();
  if (!t) refuse_input(input, "a tensor", v.type_name());
  if (!is_foreign(declared)) return Value(*t);
  const bool same = type_of(t->dtype()) == declared;  // float8 as Neura has it
  if (!same && t->dtype() != dtype_for(declared))
    refuse_input(input, std::string("a tensor of ") + neura::name(dtype_for(declared)) + " for " + name(declared),
                 neura::name(t->dtype()));
  return {t->to(dtype_for(declared)), declared};
}

nn::Value box_text(const Text& t, int depth, std::size_t& at) {
  if (depth == t.shape.size()) return nn::Value(t.items[at++]);
  nn::List list{{}, false};
  for (std::int64_t i = 0; i < t.shape[depth]; ++i) list.items.push_back(box_text(t, depth + 1, at));
  return nn::Value(std::move(list));
}

nn::Value box(const Value& v) {
  if (v.text) {
    std::size_t at = 0;
    return box_text(*v.text, 0, at);
  }
  if (v.sequence) {
    nn::List list{{}, false};
    for (const Value& item : *v.sequence) list.items.push_back(box(item));
    return nn::Value(std::move(list));
  }
  return v.tensor ? nn::Value(v.tensor) : nn::Value();
}

}  // namespace

Results unboxed(const nn::Args& args, const std::vector<ValueInfoProto>& inputs) {
  std::vector<const nn::Value*> given(inputs.size(), nullptr);
  const auto put = [&](const std::string& name, const nn::Value& v) {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].name == name) {
        if (given[i]) refuse_input(name, "one value", "two");
        given[i] = &v;
        return;
      }
    throw ValueError("onnx.Model: expected a name of input_names, got \"" + name + "\"");
  };
  const nn::Dict* names = args.positional.size() == 1 ? args.positional[0].get<nn::Dict>() : nullptr;
  if (names)
    for (const auto& [name, v] : names->items) put(name, v);
  else {
    check<ValueError>(args.positional.size() <= inputs.size(), [&] {
      return "onnx.Model: expected " + std::to_string(inputs.size()) + " inputs, got " +
             std::to_string(args.positional.size()) + "; pass them in the order of input_names";
    });
    for (std::size_t i = 0; i < args.positional.size(); ++i) given[i] = &args.positional[i];
  }
  for (const auto& [name, v] : args.named) put(name, v);
  Results out;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!given[i]) refuse_input(inputs[i].name, "a value", "none");
    out.push_back(unbox(inputs[i].name, inputs[i].type, *given[i]));
  }
  return out;
}

nn::Value boxed(const Results& results) {
  if (results.size() == 1) return box(results[0]);
  nn::List out;
  for (const Value& v : results) out.items.push_back(box(v));
  return nn::Value(std::move(out));
}

}  // namespace neura::onnx
