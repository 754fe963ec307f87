// A model is compiled: names become slots, nodes become functions, and what depends on no input is computed once.
#include <algorithm>
#include <cmath>
#include <set>

#include "neura/autograd/grad_mode.h"
#include "neura/core/utf8.h"
#include "neura/onnx/graph.h"
#include "neura/ops/create/create.h"

namespace neura::onnx {
namespace {

constexpr std::int64_t kMemberSize = 16;  // larger tensors belong to the model, smaller ones are constants
constexpr std::int64_t kFoldedOperands = 1024, kFoldedResults = 4096;  // elements
constexpr int kMaxSteps = 1 << 20, kMaxCalls = 64;

using Versions = std::map<std::string, std::int64_t>;
using Attributes = std::map<std::string, AttributeProto>;

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> all) {
  return std::find(all.begin(), all.end(), name) != all.end();
}
// What fills tensors of computed sizes is a part of the computation, but for a size or so for each dimension.
Host host_of(const Operator& op, const Node& n) {
  if (op.name == std::string_view("ConstantOfShape") && n.has("value") && n.tensor("value").type == Type::int64)
    return Host::few;
  if (is_one_of(op.name, {"Shape", "Size"})) return Host::always;
  return op.folding == Folding::allowed ? Host::follows : Host::never;
}

// At most so many elements come out of an operator that fills sizes.
double filled(std::string_view op, std::span<const Value> x) {
  const auto numbers = [&](std::size_t i) {
    return i < x.size() && x[i].tensor ? reals_of(x[i].tensor) : std::vector<double>{NAN};
  };
  const auto number = [&](std::size_t i) {
    const std::vector<double> all = numbers(i);
    return all.empty() ? NAN : all[0];
  };
  if (op == "Range") return (number(1) - number(0)) / number(2);
  double n = op == "ConstantOfShape" ? 1 : double(x[0].tensor.numel());
  if (op != "EyeLike")
    for (const double size : numbers(op == "ConstantOfShape" ? 0 : 1)) n *= std::max(1.0, size);
  return n;
}

// One graph while it is compiled.
struct Scope {
  Scope* outer = nullptr;  // null for the main graph and for functions
  const Versions* versions = nullptr;
  const Attributes* arguments = nullptr;  // of the function that this is a body of
  Graph graph;
  std::unordered_map<std::string, int> names;
  std::map<int, Value> constants;
  std::map<int, std::size_t> members;
  std::vector<int> captured;  // slots of the outer graph
  int depth = 0;

  int slot(const std::string& name) {
    names[name] = graph.slots;
    return graph.slots++;
  }
};

Versions versions_of(const std::vector<OpsetProto>& imports) {
  Versions v;
  for (const OpsetProto& o : imports) v[o.domain == "ai.onnx" ? "" : o.domain] = o.version;
  return v;
}

class Compiler {
 public:
  Compiler(const ModelProto& model, CompiledModel& compiled) : model_(model), compiled_(compiled) {
    for (const FunctionProto& f : model.functions) functions_[key(f.domain, f.name, f.overload)] = &f;
  }
  void compile() {
    const Versions versions = versions_of(model_.opset_import);
    Scope scope;
    scope.versions = &versions;
    add_initializers(scope, model_.graph);
    for (const ValueInfoProto& v : model_.graph.input) {
      if (scope.names.count(v.name)) continue;  // an initializer: IR versions below 4 list them here, too
      compiled_.inputs.push_back(v);
      scope.graph.inputs.push_back(scope.slot(v.name));
    }
    compiled_.outputs = model_.graph.output;
    add_nodes(scope, model_.graph.node);
    if (!unknown_.empty()) refuse_unknown();
    compiled_.main = finish(scope, model_.graph.output);
  }

 private:
  static std::string key(const std::string& domain, const std::string& name, const std::string& overload) {
    return (domain == "ai.onnx" ? "" : domain) + '\n' + name + '\n' + overload;
  }

  void add_initializers(Scope& scope, const GraphProto& g) {
    for (const TensorProto& t : g.initializer) add_known(scope, t.name, value_of(t));
    for (const SparseTensorProto& s : g.sparse_initializer) add_known(scope, s.values.name, value_of(s));
  }

  // A value that is known at load.
  void add_known(Scope& scope, const std::string& name, Value v) {
    const int slot = scope.slot(name);
    if (!v.tensor || is_foreign(v.type) || v.tensor.numel() <= kMemberSize) {
      scope.constants[slot] = std::move(v);
      return;
    }
    add_member(scope, slot, name, v);
  }
  void add_member(Scope& scope, int slot, const std::string& name, const Value& v) {
    scope.members[slot] = compiled_.members.size();
    Member m{name, v, is_floating(v.tensor.dtype()) || is_complex(v.tensor.dtype())};
    for (int i = 2; !member_names_.insert(m.name).second; ++i) m.name = name + "." + std::to_string(i);
    compiled_.members.push_back(std::move(m));
  }

  int find(Scope& scope, const std::string& name) {
    if (const auto at = scope.names.find(name); at != scope.names.end()) return at->second;
    const int outer = scope.outer ? find(*scope.outer, name) : -1;
    if (outer < 0) return -1;
    const int slot = scope.slot(name);
    if (const auto c = scope.outer->constants.find(outer); c != scope.outer->constants.end())
      scope.constants[slot] = c->second;
    else if (const auto m = scope.outer->members.find(outer); m != scope.outer->members.end())
      scope.members[slot] = m->second;
    else scope.captured.push_back(outer), scope.graph.inputs.push_back(slot);
    return slot;
  }
  int require(Scope& scope, const std::string& name, const std::string& where) {
    const int slot = find(scope, name);
    check<ValueError>(slot >= 0, [&] {
      return "onnx.load: expected the value \"" + name + "\" before " + where + ", got none; the graph is not in order";
    });
    return slot;
  }

  void add_nodes(Scope& scope, const std::vector<NodeProto>& nodes) {
    for (const NodeProto& n : nodes) {
      check<FormatError>(++steps_ <= kMaxSteps, [] {
        return "onnx.load: expected at most 1,048,576 nodes with those of functions, got more; the file is damaged";
      });
      add_node(scope, n);
    }
  }

  // The attributes of a node; those that name an argument of the function around it are replaced.
  static Attributes attributes_of(const Scope& scope, const NodeProto& n) {
    Attributes out;
    for (const AttributeProto& a : n.attribute) {
      if (a.ref_attr_name.empty()) out[a.name] = a;
      else if (scope.arguments)
        if (const auto at = scope.arguments->find(a.ref_attr_name); at != scope.arguments->end()) {
          out[a.name] = at->second;
          out[a.name].name = a.name;
        }
    }
    return out;
  }

  void add_node(Scope& scope, const NodeProto& n) {
    Node node;
    node.op = n.op_type, node.name = n.name, node.domain = n.domain == "ai.onnx" ? "" : n.domain;
    node.attributes = attributes_of(scope, n);
    const std::string first_output = n.output.empty() ? "" : n.output[0];
    const std::string where = "node \"" + (n.name.empty() ? first_output : n.name) + "\" (" + n.op_type + ")";
    if (node.domain.empty() && node.op == "Constant") return add_known(scope, first_output, constant(node, where));
    Step step;
    step.where = where;
    for (const std::string& name : n.input) step.in.push_back(name.empty() ? -1 : require(scope, name, where));
    for (const std::string& name : n.input) node.present.push_back(!name.empty());
    for (const std::string& name : n.output) node.wanted.push_back(!name.empty());
    node.inputs = n.input.size();
    if (const auto f = functions_.find(key(n.domain, n.op_type, n.overload)); f != functions_.end())
      step.call = call_of(scope, *f->second, node);
    else bind(scope, node, step);
    if (step.call && fold(scope, step, n)) return;
    for (const std::string& name : n.output) step.out.push_back(name.empty() ? -1 : scope.slot(name));
    if (step.call) scope.graph.steps.push_back(std::move(step));
  }

  void bind(Scope& scope, Node& node, Step& step) {
    const auto version = scope.versions->find(node.domain);
    node.version = version == scope.versions->end() ? 1 : version->second;
    step.op = find_operator(node.domain, node.op, node.version);
    if (!step.op) {
      const std::string what =
          node.op + " (" + (node.domain.empty() ? "ai.onnx" : node.domain) + " version " + std::to_string(node.version);
      unknown_[what].push_back(step.where.substr(5, step.where.rfind(" (") - 5));
      return;
    }
    for (auto& [name, a] : node.attributes)
      if (a.g) node.graphs[name] = branch(scope, *a.g, step);
    step.host = host_of(*step.op, node);
    if (node.op == "BatchNormalization")
      for (std::size_t i = 3; i < std::min<std::size_t>(5, step.in.size()); ++i) keep_as_buffer(scope, step.in[i]);
    try {
      step.call = step.op->bound(node);
    } catch (const ValueError& e) {
      throw ValueError(step.where + ": " + e.what());
    }
  }

  // Statistics are written while training: they belong to the model, however small they are, and are no parameters.
  void keep_as_buffer(Scope& scope, int slot) {
    if (const auto c = scope.constants.find(slot); c != scope.constants.end() && c->second.tensor) {
      const auto named =
          std::find_if(scope.names.begin(), scope.names.end(), [&](const auto& n) { return n.second == slot; });
      add_member(scope, slot, named->first, c->second);
      scope.constants.erase(slot);
    }
    if (const auto m = scope.members.find(slot); m != scope.members.end())
      compiled_.members[m->second].trainable = false;
  }

  Branch branch(Scope& outer, const GraphProto& g, Step& step) {
    Scope scope;
    scope.outer = &outer, scope.versions = outer.versions, scope.arguments = outer.arguments, scope.depth = outer.depth;
    add_initializers(scope, g);
    Branch b;
    for (const ValueInfoProto& v : g.input)
      if (!scope.names.count(v.name)) scope.graph.inputs.push_back(scope.slot(v.name));
    b.inputs = scope.graph.inputs.size(), b.outputs = g.output.size(), b.declared = g.output;
    add_nodes(scope, g.node);
    const auto graph = unknown_.empty() ? finish(scope, g.output) : nullptr;
    b.first = step.in.size(), b.captured = scope.captured.size();
    step.in.insert(step.in.end(), scope.captured.begin(), scope.captured.end());
    b.call = [graph](const Operands& x) { return graph->run(x.values(), x.state()); };
    return b;
  }

  // A function of the model: its body with this node's attributes.
  BoundNode call_of(const Scope& caller, const FunctionProto& f, const Node& node) {
    check<FormatError>(caller.depth < kMaxCalls, [&] {
      return "onnx.load: expected functions that call each other at most 64 deep, got more in " + f.name;
    });
    Attributes arguments = node.attributes;
    for (const AttributeProto& a : f.attribute_proto) arguments.emplace(a.name, a);
    const Versions versions = versions_of(f.opset_import);
    Scope scope;
    scope.versions = &versions, scope.arguments = &arguments, scope.depth = caller.depth + 1;
    for (const std::string& name : f.input) scope.graph.inputs.push_back(scope.slot(name));
    add_nodes(scope, f.node);
    if (!unknown_.empty()) return {};
    std::vector<ValueInfoProto> outputs;
    for (const std::string& name : f.output) outputs.emplace_back().name = name;
    const auto graph = finish(scope, outputs);
    return [graph](const Operands& x) {
      std::vector<Value> given(x.values().begin(), x.values().end());
      check<ValueError>(given.size() <= graph->inputs.size(), [&] {
        return "expected at most " + std::to_string(graph->inputs.size()) + " operands of a function, got " +
               std::to_string(given.size()) + "; the model is damaged";
      });
      given.resize(graph->inputs.size());
      return graph->run(given, x.state());
    };
  }

  static Value constant(const Node& n, const std::string& where) {
    if (n.has("value")) return n.tensor("value");
    if (n.has("value_int")) return Value(integers(std::vector{n.integer("value_int")}).squeeze());
    if (n.has("value_ints")) return Value(integers(n.integers("value_ints")));
    if (n.has("value_string")) return Value(Text{{}, {n.text("value_string", "")}});
    const auto reals = [](const std::vector<double>& v) {
      return tensor(v, {DType::float64, Device(), false}).to(float32);
    };
    if (n.has("value_float")) return Value(reals({n.real("value_float", 0)}).squeeze());
    if (n.has("value_floats")) return Value(reals(n.reals("value_floats")));
    if (n.has("value_strings")) {
      const std::vector<std::string> texts = n.texts("value_strings");
      return Value(Text{{std::int64_t(texts.size())}, texts});
    }
    const auto sparse = n.attributes.find("sparse_value");
    check<ValueError>(sparse != n.attributes.end() && sparse->second.sparse_tensor,
                      [&] { return where + ": expected a value, got none; the model is damaged"; });
    return value_of(*sparse->second.sparse_tensor);
  }

  // Computes a node whose operands are constants. False where that is not for now; an error is left to the run.
  static bool fold(Scope& scope, const Step& step, const NodeProto& n) {
    if (!step.op || step.op->folding == Folding::never || step.in.empty()) return false;
    std::vector<Value> operands;
    std::int64_t elements = 0;
    for (int i : step.in) {
      const auto at = scope.constants.find(i);
      if (i >= 0 && at == scope.constants.end()) return false;
      operands.push_back(i < 0 ? Value() : at->second);
      if (i >= 0 && !at->second.tensor) return false;
      elements += i < 0 ? 0 : at->second.tensor.numel();
    }
    if (elements > kFoldedOperands) return false;
    if (step.op->folding == Folding::small && !(filled(step.op->name, operands) <= kFoldedResults)) return false;
    Graph one;
    one.slots = int(operands.size() + n.output.size());
    for (int i = 0; i < int(operands.size()); ++i) one.inputs.push_back(i);
    one.steps.push_back(step);
    for (std::size_t i = 0; i < operands.size(); ++i) one.steps[0].in[i] = int(i);
    for (std::size_t i = 0; i < n.output.size(); ++i)
      one.outputs.push_back(int(operands.size() + i)), one.steps[0].out.push_back(one.outputs.back());
    Results results;
    try {
      const NoGrad no_grad;
      results = one.run(operands, {});
    } catch (const Error&) {
      return false;
    }
    for (const Value& v : results)
      if (!v.tensor || v.tensor.numel() > kFoldedResults) return false;
    for (std::size_t i = 0; i < n.output.size(); ++i)
      if (!n.output[i].empty()) scope.constants[scope.slot(n.output[i])] = results[i];
    return true;
  }

  std::shared_ptr<const Graph> finish(Scope& scope, const std::vector<ValueInfoProto>& outputs) {
    Graph& g = scope.graph;
    for (const ValueInfoProto& v : outputs) g.outputs.push_back(require(scope, v.name, "the end of the graph"));
    g.constants.assign(scope.constants.begin(), scope.constants.end());
    g.members.assign(scope.members.begin(), scope.members.end());
    std::vector<int> last(std::size_t(g.slots), -1);
    for (std::size_t k = 0; k < g.steps.size(); ++k) {
      for (int i : g.steps[k].in)
        if (i >= 0) last[std::size_t(i)] = int(k);
      for (int i : g.steps[k].out)
        if (i >= 0) last[std::size_t(i)] = int(k);
    }
    for (int i : g.outputs) last[std::size_t(i)] = -1;
    for (int i = 0; i < g.slots; ++i)
      if (last[std::size_t(i)] >= 0) g.steps[std::size_t(last[std::size_t(i)])].last.push_back(i);
    return std::make_shared<const Graph>(std::move(g));
  }

  [[noreturn]] void refuse_unknown() const {
    std::string text;
    for (const auto& [what, nodes] : unknown_) {
      text += (text.empty() ? "" : ", ") + what + ": ";
      for (std::size_t i = 0; i < nodes.size() && i < 8; ++i) text += (i ? ", " : "") + nodes[i];
      text += nodes.size() > 8 ? ", ... " + std::to_string(nodes.size()) + " nodes)" : ")";
    }
    throw NotImplementedError("onnx.load: expected operators of docs/onnx.md, got " + text +
                              "; export the model without them");
  }

  const ModelProto& model_;
  CompiledModel& compiled_;
  std::map<std::string, const FunctionProto*> functions_;
  std::map<std::string, std::vector<std::string>> unknown_;  // operators, and the nodes that have them
  std::set<std::string> member_names_;
  int steps_ = 0;
};

void check_names(const GraphProto& g) {
  const auto checked = [](std::string_view name) {
    check<FormatError>(utf8_prefix(name) == name.size(),
                       [] { return "onnx.load: expected names in UTF-8, got other bytes; the file is damaged"; });
  };
  for (const TensorProto& t : g.initializer) checked(t.name);
  for (const auto* values : {&g.input, &g.output})
    for (const ValueInfoProto& v : *values) {
      checked(v.name);
      if (!v.type || !v.type->tensor_type || !v.type->tensor_type->shape) continue;
      for (const DimensionProto& d : v.type->tensor_type->shape->dim) checked(d.dim_param.value_or(""));
    }
}

}  // namespace

std::shared_ptr<const CompiledModel> compile(const ModelProto& model) {
  check<FormatError>(model.ir_version > 0 && !model.opset_import.empty(), [] {
    return "onnx.load: expected a model with an IR version and operators' sets, got neither; is this an ONNX file?";
  });
  check_names(model.graph);
  auto compiled = std::make_shared<CompiledModel>();
  Compiler(model, *compiled).compile();
  return compiled;
}

}  // namespace neura::onnx
