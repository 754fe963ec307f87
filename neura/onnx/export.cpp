#include "neura/onnx/export.h"

#include <algorithm>
#include <set>

#include "neura/autograd/grad_mode.h"
#include "neura/core/file.h"
#include "neura/core/version.h"
#include "neura/graph/passes.h"
#include "neura/onnx/export_weights.h"
#include "neura/onnx/row_call.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"

namespace neura::onnx {
namespace {

using graph::External;

std::int64_t ir_version(std::int64_t opset) {
  return opset >= 24 ? 12 : opset == 23 ? 11 : opset >= 21 ? 10 : opset >= 19 ? 9 : opset >= 15 ? 8 : 7;
}

void check_options(std::span<const Tensor> inputs, const ExportOptions& o) {
  check<ValueError>(o.opset_version >= kFirstOpset && o.opset_version <= kLastOpset, [&] {
    return "onnx.export: expected an opset_version from 13 to 24, got " + std::to_string(o.opset_version);
  });
  check<ValueError>(o.input_names.size() <= inputs.size(), [&] {
    return "onnx.export: expected at most " + std::to_string(inputs.size()) + " input_names, got " +
           std::to_string(o.input_names.size());
  });
  std::set<std::string> seen;
  for (const Names* names : {&o.input_names, &o.output_names})
    for (const std::string& n : *names)
      check<ValueError>(!n.empty() && seen.insert(n).second, [&] {
        return "onnx.export: expected names of inputs and outputs that differ, got \"" + n + "\" twice or empty";
      });
  for (const DynamicSize& d : o.dynamic)
    check<IndexError>(d.input >= 0 && std::size_t(d.input) < inputs.size() && d.dim >= 0 &&
                          d.dim < inputs[std::size_t(d.input)].dim(),
                      [&] {
                        return "onnx.export: expected a dynamic dimension of an input, got dimension " +
                               std::to_string(d.dim) + " of input " + std::to_string(d.input);
                      });
}

int symbol_of(const Symbols& s, const std::string& name) {
  for (std::size_t i = 0; i < s.all.size(); ++i)
    if (s.all[i].name == name) return int(i);
  return -1;
}

// The sizes of each trace: those of the example, each doubled alone, all of them tripled; or one and two more or less.
Symbols symbols_of(std::span<const Tensor> inputs, const ExportOptions& o, int attempt) {
  Symbols s;
  std::vector<std::int64_t> sizes;
  for (const DynamicSize& d : o.dynamic) {
    check<ValueError>(!d.name.empty(), [] { return "onnx.export: expected a name of a dynamic size, got none"; });
    const std::int64_t size = inputs[std::size_t(d.input)].size(d.dim);
    const int at = symbol_of(s, d.name);
    if (at < 0) s.all.push_back({d.name, d.input, d.dim}), sizes.push_back(size);
    check<ValueError>(at < 0 || sizes[std::size_t(at)] == size, [&] {
      return "onnx.export: expected equal sizes of \"" + d.name + "\" in the example, got " +
             std::to_string(sizes[std::size_t(at)]) + " and " + std::to_string(size);
    });
  }
  const auto changed = [&](std::int64_t n, int step) {
    return attempt == 0 ? n * (1 + step) : attempt == 1 ? n + step : std::max<std::int64_t>(n - step, 1);
  };
  for (std::int64_t& n : sizes) n = std::max<std::int64_t>(n, 2);  // sizes of 1 are often special cases
  s.values.push_back(sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    s.values.push_back(sizes);
    s.values.back()[i] = changed(sizes[i], 1);
  }
  if (!sizes.empty()) s.values.push_back(sizes);
  if (!sizes.empty())
    for (std::int64_t& n : s.values.back()) n = changed(n, 2);
  return s;
}

// The example with other sizes: its elements again, from the beginning.
std::vector<Tensor> resized(std::span<const Tensor> inputs, const ExportOptions& o, const Symbols& s,
                            std::size_t trace) {
  std::vector<Tensor> all(inputs.begin(), inputs.end());
  for (const DynamicSize& d : o.dynamic) {
    Tensor& t = all[std::size_t(d.input)];
    const std::int64_t size = s.values[trace][std::size_t(symbol_of(s, d.name))], old = t.size(d.dim);
    if (size == old) continue;
    check<ValueError>(old > 0, [] { return "onnx.export: expected an example with elements, got an empty one"; });
    const Tensor places = remainder(arange(0, size, 1, {.dtype = DType::int64, .device = t.device()}), old);
    t = index_select(t, d.dim, places);
  }
  return all;
}

// Tensors that the function holds and no name is known for, such as its constants.
void freeze_unnamed(graph::Program& p) {
  std::vector<bool> updated(p.externals.size());
  for (const graph::Update& u : p.updates) updated[u.external] = true;
  for (std::size_t i = 0; i < p.externals.size(); ++i)
    if (External& e = p.externals[i]; e.kind == External::captured && e.name.empty() && !updated[i])
      e.kind = External::constant;
}

struct Traced {
  Symbols symbols;
  std::vector<graph::Program> programs;
};
Traced traced(const graph::Function& f, std::span<const Tensor> inputs, const ExportOptions& o,
              std::span<const graph::Named> names, int attempt = 0) {
  Traced t;
  t.symbols = symbols_of(inputs, o, attempt);
  try {
    for (std::size_t i = 0; i < t.symbols.traces(); ++i) {
      const std::vector<Tensor> in = resized(inputs, o, t.symbols, i);
      t.programs.push_back(graph::without_checks(graph::trace(f, in, names)));
    }
  } catch (const std::exception&) {  // a longest sequence, perhaps
    if (attempt == 2 || t.programs.empty()) throw;
    return traced(f, inputs, o, names, attempt + 1);
  }
  for (graph::Program& p : t.programs) freeze_unnamed(p);
  if (o.dynamic.empty()) t.programs[0] = graph::folded(t.programs[0]);
  return t;
}

void check_updates(const graph::Program& p) {
  for (const graph::Update& u : p.updates)
    check<ValueError>(p.externals[u.external].kind != External::captured, [&] {
      const std::string& name = p.externals[u.external].name;
      return "onnx.export: expected a model that writes no memory of its own, got a write of " +
             (name.empty() ? p.values[u.external].str() : "\"" + name + "\"") + "; export it in evaluation mode";
    });
}

ValueInfoProto declared(const std::string& name, DType dtype, const std::vector<Size>& sizes, const Symbols& symbols) {
  TensorTypeProto t;
  t.elem_type = int(type_of(dtype));
  t.shape.emplace();
  for (const Size& s : sizes) {
    DimensionProto& d = t.shape->dim.emplace_back();
    if (s.fixed()) d.dim_value = s.value;
    else if (s.known && s.symbols.size() == 1 && s.factor == 1 && s.divisor == 1 && !s.offset)
      d.dim_param = symbols.all[std::size_t(s.symbols[0])].name;
  }
  ValueInfoProto v;
  v.name = name, v.type.emplace(), v.type->tensor_type = t;
  return v;
}
std::vector<Size> sizes_of(const Traced& t, graph::ValueId v) {
  std::vector<Size> all;
  for (int d = 0; d < t.programs[0].values[v].rank; ++d) {
    std::vector<std::int64_t> seen;
    for (const graph::Program& p : t.programs) seen.push_back(p.values[v].shape[d]);
    all.push_back(t.symbols.explain(seen));
  }
  return all;
}

bool rename(GraphProto& g, const std::string& from, const std::string& to) {
  bool found = false;
  for (NodeProto& n : g.node)
    for (std::string& name : n.output)
      if (name == from) name = to, found = true;
  for (NodeProto& n : g.node)
    for (std::string& name : n.input)
      if (found && name == from) name = to;
  return found;
}

class Exporter {
 public:
  Exporter(const graph::Function& f, std::span<const Tensor> inputs, const ExportOptions& o,
           std::span<const graph::Named> names)
      : options_(o), writer_(o.opset_version), inputs_(o.input_names) {
    check_options(inputs, o);
    const NoGrad off;
    std::vector<graph::Named> reversed(names.rbegin(), names.rend());  // the first name of a tensor is its name
    traced_ = traced(f, inputs, o, reversed);
    check_updates(traced_.programs[0]);
    for (std::size_t i = inputs_.size(); i < inputs.size(); ++i) inputs_.push_back("input_" + std::to_string(i));
    for (const graph::Named& n : names) known_.emplace_back(n.name, n.tensor);
    for (const Names* all : std::initializer_list<const Names*>{&inputs_, &o.output_names})
      for (const std::string& n : *all) writer_.reserve(n);
    for (auto& [name, tensor] : known_) {
      check<ValueError>(std::find(inputs_.begin(), inputs_.end(), name) == inputs_.end(), [&, &n = name] {
        return "onnx.export: expected names of inputs that no parameter has, got \"" + n + "\"; pass input_names";
      });
      writer_.reserve(name);
    }
  }

  ModelProto model() {
    const graph::Program& p = traced_.programs[0];
    Names externals(p.externals.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < externals.size(); ++i)
      if (p.externals[i].kind == External::input) {
        externals[i] = inputs_[next++];
        writer_.graph.input.push_back(
            declared(externals[i], p.values[i].dtype, sizes_of(traced_, graph::ValueId(i)), traced_.symbols));
      }
    const Names results = write_program(writer_, traced_.symbols, inputs_, traced_.programs, known_, externals);
    outputs(results);
    std::set<std::string> fixed(inputs_.begin(), inputs_.end());
    for (const ValueInfoProto& v : writer_.graph.output) fixed.insert(v.name);
    for (const auto& [name, tensor] : known_) fixed.insert(name);
    writer_.finish(fixed);
    if (!options_.export_params) parameters_as_inputs();
    ModelProto m;
    m.ir_version = ir_version(options_.opset_version), m.producer_name = "neura", m.producer_version = kVersion;
    m.opset_import.push_back({"", options_.opset_version});
    writer_.graph.name = "main";
    m.graph = std::move(writer_.graph);
    return m;
  }

 private:
  void outputs(const Names& results) {
    const graph::Program& p = traced_.programs[0];
    check<ValueError>(options_.output_names.size() <= results.size(), [&] {
      return "onnx.export: expected at most " + std::to_string(results.size()) + " output_names, got " +
             std::to_string(options_.output_names.size());
    });
    std::set<std::string> taken;
    for (std::size_t k = 0; k < results.size(); ++k) {
      const std::string name =
          k < options_.output_names.size() ? options_.output_names[k] : writer_.unique("output_" + std::to_string(k));
      // One that is an input, a tensor of the model or another output is copied.
      if (!taken.insert(results[k]).second || !rename(writer_.graph, results[k], name)) {
        const auto before = std::find(results.begin(), results.end(), results[k]) - results.begin();
        NodeProto copy;
        copy.op_type = "Identity", copy.name = writer_.unique("identity"), copy.output = {name};
        copy.input = {std::size_t(before) < k ? writer_.graph.output[std::size_t(before)].name : results[k]};
        writer_.graph.node.push_back(copy);
      }
      const graph::ValueId v = p.outputs[k];
      writer_.graph.output.push_back(declared(name, p.values[v].dtype, sizes_of(traced_, v), traced_.symbols));
    }
  }
  // Named tensors become inputs after the others.
  void parameters_as_inputs() {
    GraphProto& g = writer_.graph;
    const auto is_parameter = [&](const TensorProto& t) {
      return std::any_of(known_.begin(), known_.end(), [&](const auto& k) { return k.first == t.name; });
    };
    for (const TensorProto& t : g.initializer) {
      if (!is_parameter(t)) continue;
      std::vector<Size> sizes;
      for (const std::int64_t d : t.dims) sizes.push_back(Size{d});
      g.input.push_back(declared(t.name, dtype_for(Type(t.data_type)), sizes, traced_.symbols));
    }
    std::erase_if(g.initializer, is_parameter);
  }

  const ExportOptions& options_;
  GraphWriter writer_;
  Names inputs_;
  Traced traced_;
  std::vector<std::pair<std::string, Tensor>> known_;
};

std::vector<graph::Named> named_tensors(const nn::Module& m) {
  std::vector<graph::Named> all;
  for (const auto& [name, tensor] : m.named_parameters("", true, false)) all.push_back({name, tensor});
  for (const auto& [name, tensor] : m.named_buffers("", true, false)) all.push_back({name, tensor});
  return all;
}
void collect(const nn::Value& v, std::vector<Tensor>& to) {
  if (const Tensor* t = v.get<Tensor>()) to.push_back(*t);
  if (const nn::List* l = v.get<nn::List>())
    for (const nn::Value& item : l->items) collect(item, to);
  if (const nn::Dict* d = v.get<nn::Dict>())
    for (const auto& [key, item] : d->items) collect(item, to);
}

struct Evaluation {  // each module's mode comes back
  explicit Evaluation(nn::Module& m) : all(m.modules()) {
    for (const auto& part : all) modes.push_back(part->is_training());
    m.eval();
  }
  ~Evaluation() {
    for (std::size_t i = 0; i < all.size(); ++i) all[i]->training = modes[i];
  }
  std::vector<Ref<nn::Module>> all;
  std::vector<bool> modes;
};

}  // namespace

void export_function(const graph::Function& f, std::span<const Tensor> inputs, const std::string& path,
                     const ExportOptions& o, std::span<const graph::Named> names) {
  Exporter exporter(f, inputs, o, names);
  ModelProto m = exporter.model();
  move_weights(m, path, o.weights);
  io::write_file(path, write(m));
}

void export_model(nn::Module& module, std::span<const Tensor> inputs, const std::string& path, const ExportOptions& o) {
  const Evaluation mode(module);
  const auto call = [&](std::span<const Tensor> in) {
    nn::Args args;
    for (const Tensor& t : in) args.positional.emplace_back(t);
    std::vector<Tensor> out;
    collect(module.forward_boxed(args), out);
    return out;
  };
  export_function(call, inputs, path, o, named_tensors(module));
}

std::string export_bytes(const graph::Function& f, std::span<const Tensor> inputs, const ExportOptions& o,
                         std::span<const graph::Named> names) {
  Exporter exporter(f, inputs, o, names);
  return write(exporter.model());
}

}  // namespace neura::onnx
