#include "neura/onnx/graph_writer.h"

#include <algorithm>

#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"

namespace neura::onnx {
namespace {

constexpr std::size_t kSmall = 1024;  // bytes of a tensor that is compared with others

AttributeProto named(const char* name, AttributeProto::Kind kind) {
  AttributeProto a;
  a.name = name, a.type = int(kind);
  return a;
}
std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

}  // namespace

AttributeProto attribute(const char* name, std::int64_t value) {
  AttributeProto a = named(name, AttributeProto::Kind::integer);
  a.i = value;
  return a;
}
AttributeProto attribute(const char* name, double value) {
  AttributeProto a = named(name, AttributeProto::Kind::real);
  a.f = float(value);
  return a;
}
AttributeProto attribute(const char* name, const char* text) {
  AttributeProto a = named(name, AttributeProto::Kind::text);
  a.s = text;
  return a;
}
AttributeProto attribute(const char* name, const std::vector<std::int64_t>& values) {
  AttributeProto a = named(name, AttributeProto::Kind::integers);
  a.ints = values;
  return a;
}

std::string GraphWriter::unique(const std::string& wanted) {
  std::string name = wanted;
  while (!used_.try_emplace(name).second) name = wanted + "_" + std::to_string(++used_[wanted]);
  wanted_[name] = wanted;
  return name;
}

void GraphWriter::drop_unread() {
  std::set<std::string> read;
  for (const ValueInfoProto& v : graph.output) read.insert(v.name);
  std::vector<NodeProto> kept;
  for (auto n = graph.node.rbegin(); n != graph.node.rend(); ++n) {
    if (std::none_of(n->output.begin(), n->output.end(), [&](const std::string& o) { return read.count(o); })) continue;
    read.insert(n->input.begin(), n->input.end());
    kept.push_back(std::move(*n));
  }
  graph.node.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  std::erase_if(graph.initializer, [&](const TensorProto& t) { return !read.count(t.name); });
}

void GraphWriter::finish(const std::set<std::string>& fixed) {
  drop_unread();
  used_.clear();
  for (const std::string& name : fixed) reserve(name);
  std::unordered_map<std::string, std::string> names;
  const auto renew = [&](std::string& name) {
    if (fixed.count(name)) return;
    const std::string old = name;
    name = names[old] = unique(wanted_[old]);
  };
  std::vector<TensorProto> given = std::move(graph.initializer);  // those that are read come in the order of reading
  graph.initializer.clear();
  std::unordered_map<std::string, TensorProto*> tensors;  // by their old names
  for (TensorProto& t : given) tensors[t.name] = &t;
  for (NodeProto& n : graph.node) {
    for (std::string& input : n.input) {
      if (const auto t = tensors.find(input); t != tensors.end() && t->second) {
        renew(t->second->name);
        graph.initializer.push_back(std::move(*t->second));
        t->second = nullptr;
      }
      if (const auto at = names.find(input); at != names.end()) input = at->second;
    }
    for (std::string& output : n.output) renew(output);
    n.name = n.output[0];
  }
}

Names GraphWriter::add_many(const char* op, const Names& in, const AttributeList& attributes, std::size_t outputs,
                            const std::string& label) {
  NodeProto node;
  node.op_type = op, node.input = in, node.attribute = attributes;
  const bool draws = node.op_type == "Dropout";
  ModelProto one;
  one.graph.node = {node};
  const std::string text = write(one) + char(outputs);
  if (const auto at = nodes_.find(text); at != nodes_.end() && !draws) return at->second;
  const std::string base = (module.empty() ? "" : module + "/") + (label.empty() ? lower(op) : label);
  node.name = unique(base);
  node.output.push_back(node.name);
  for (std::size_t k = 1; k < outputs; ++k) node.output.push_back(unique(base + "." + std::to_string(k)));
  nodes_[text] = node.output;
  graph.node.push_back(node);
  return graph.node.back().output;
}

std::string GraphWriter::cast(const std::string& x, DType from, DType to) {
  return from == to ? x : add("Cast", {x}, {attribute("to", std::int64_t(type_of(to)))});
}

void GraphWriter::initializer(const std::string& name, const Tensor& t) {
  kept.push_back(contiguous(t.detach().to(Device())));
  graph.initializer.push_back(proto_of(Value(kept.back()), name));
}

std::string GraphWriter::constant(const Tensor& t) {
  const Tensor host = contiguous(t.detach().to(Device()));
  std::string key;
  if (host.nbytes() <= kSmall) {
    key = host.spec().str() + ":";
    key.append(static_cast<const char*>(host.const_raw_data()), host.nbytes());
    if (const auto at = tensors_.find(key); at != tensors_.end()) return at->second;
  }
  const std::string name = unique("constant");
  initializer(name, host);
  if (!key.empty()) tensors_[key] = name;
  return name;
}
std::string GraphWriter::number(Scalar value, DType dtype) { return constant(full({}, value, {.dtype = dtype})); }

}  // namespace neura::onnx
