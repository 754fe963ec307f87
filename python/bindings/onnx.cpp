// Models of ONNX files. What they are called with is converted in Python (python/neura/onnx).
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "modules.h"
#include "neura/onnx/export.h"
#include "neura/onnx/model.h"
#include "neura/onnx/row_call.h"

namespace neura::python {
namespace {

const char kModel[] =
    "A model of an ONNX file, which neura.onnx.load returns: a module like every other. Tensors of more than 16\n"
    "elements are its parameters and buffers, under the names of the file.\n"
    "\n"
    "It is called with its inputs by position, by name, or with one dictionary of names. It returns one value, or a\n"
    "tuple; a sequence is a list, texts are str or lists of str.";

// (kind, element type, sizes): kind is "tensor", "sequence", "optional" or "".
nb::object describe(const std::optional<onnx::TypeProto>& type) {
  if (!type) return nb::make_tuple("", "", nb::none());
  for (const auto& [kind, inner] : {std::pair("sequence", &type->sequence_type), {"optional", &type->optional_type}})
    if (*inner) {
      const auto& of = (*inner)->elem_type;
      return nb::make_tuple(kind, describe(of ? std::optional(*of) : std::nullopt), nb::none());
    }
  if (!type->tensor_type) return nb::make_tuple("", "", nb::none());
  const onnx::TensorTypeProto& t = *type->tensor_type;
  nb::object sizes = nb::none();
  if (t.shape) {
    nb::list list;
    for (const onnx::DimensionProto& d : t.shape->dim) {
      if (d.dim_value) list.append(*d.dim_value);
      else list.append(d.dim_param ? nb::object(nb::str(d.dim_param->c_str())) : nb::object(nb::none()));
    }
    sizes = nb::tuple(list);
  }
  return nb::make_tuple("tensor", onnx::name(onnx::Type(t.elem_type)), sizes);
}
nb::dict describe_all(const std::vector<onnx::ValueInfoProto>& values) {
  nb::dict out;
  for (const onnx::ValueInfoProto& v : values) out[nb::str(v.name.data(), v.name.size())] = describe(v.type);
  return out;
}
nb::list operators() {
  nb::list out;
  for (const onnx::Operator* o : onnx::all_operators()) {
    nb::object last = nb::none();
    if (o->last != onnx::kNewest) last = nb::int_(o->last);
    out.append(nb::make_tuple(o->domain, o->name, o->first, last));
  }
  return out;
}
Ref<onnx::Model> load_bytes(const nb::bytes& data) {
  const std::string_view bytes(static_cast<const char*>(data.data()), data.size());
  nb::gil_scoped_release alone;
  return onnx::load_bytes(bytes);
}
Ref<onnx::Model> load(const std::string& path) {
  nb::gil_scoped_release alone;
  return onnx::load(path);
}
std::vector<Tensor> tensors(nb::handle o) {
  std::vector<Tensor> all;
  if (!to_tensors(o.ptr(), all)) throw nb::type_error("onnx.export: expected a model of tensors");
  return all;
}
// f takes the tensors and returns a tuple of some. Options as a dictionary; without a path, the bytes of the file.
nb::object export_model(nb::handle f, nb::handle inputs, nb::list names, std::optional<std::string> path,
                        nb::dict options) {
  onnx::ExportOptions o;
  o.input_names = nb::cast<std::vector<std::string>>(options["input_names"]);
  o.output_names = nb::cast<std::vector<std::string>>(options["output_names"]);
  o.opset_version = nb::cast<std::int64_t>(options["opset_version"]);
  o.export_params = nb::cast<bool>(options["export_params"]);
  o.weights = onnx::Weights(nb::cast<int>(options["weights"]));
  for (nb::handle d : nb::cast<nb::list>(options["dynamic"])) {
    const auto [input, dim, name] = nb::cast<std::tuple<int, int, std::string>>(d);
    o.dynamic.push_back({input, dim, name});
  }
  std::vector<graph::Named> named;
  for (nb::handle pair : names) named.push_back({nb::cast<std::string>(pair[0]), tensors(nb::make_tuple(pair[1]))[0]});
  const auto call = [&](std::span<const Tensor> in) { return tensors(f(*tuple_of(in))); };
  const std::vector<Tensor> in = tensors(inputs);
  if (path) return onnx::export_function(call, in, *path, o, named), nb::none();
  const std::string bytes = onnx::export_bytes(call, in, o, named);
  return nb::bytes(bytes.data(), bytes.size());
}
// (operation, operators of ONNX, version) of what export_model knows.
nb::list exported() {
  nb::list out;
  for (const onnx::RowWriter* w : onnx::all_writers()) out.append(nb::make_tuple(w->row, w->op, w->since));
  return out;
}
Ref<nn::Module> blank() { return nn::make<onnx::Model>(); }
template <class Get> void property(const LayerType& t, const char* name, const char* doc, Get get) {
  nb::handle(reinterpret_cast<PyObject*>(t.type)).attr(name) =
      nb::handle(reinterpret_cast<PyObject*>(&PyProperty_Type))(nb::cpp_function(get, nb::is_method()), nb::none(),
                                                                nb::none(), doc);
}

}  // namespace

void bind_onnx(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_onnx", "Models of ONNX files.");
  const LayerType t = new_layer_type(
      m, {"Model", kModel, typeid(onnx::Model), typeid(nn::Module), &blank, nullptr, "()", "(*args, **kwargs)"});
  property(t, "input_names", "The names of the inputs, in order.",
           [](const onnx::Model& x) { return listed(x.input_names()); });
  property(t, "output_names", "The names of the outputs, in order.",
           [](const onnx::Model& x) { return listed(x.output_names()); });
  property(t, "inputs", "By name: kind, element type and sizes.",
           [](const onnx::Model& x) { return describe_all(x.inputs()); });
  property(t, "outputs", "By name: kind, element type and sizes.",
           [](const onnx::Model& x) { return describe_all(x.outputs()); });
  t.def("_copy", [](const onnx::Model& x) { return x.copy(); });
  m.def("load", &load, "path"_a).def("load_bytes", &load_bytes, "data"_a).def("operators", &operators);
  m.def("export", &export_model).def("exported", &exported);
}

}  // namespace neura::python
