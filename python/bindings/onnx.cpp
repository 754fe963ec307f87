// Models of ONNX files. What they are called with is converted in Python (python/neura/onnx).
#include "modules.h"
#include "neura/onnx/model.h"

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
nb::list names(const std::vector<std::string>& all) {
  nb::list out;
  for (const std::string& n : all) out.append(nb::str(n.data(), n.size()));
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
           [](const onnx::Model& x) { return names(x.input_names()); });
  property(t, "output_names", "The names of the outputs, in order.",
           [](const onnx::Model& x) { return names(x.output_names()); });
  property(t, "inputs", "By name: kind, element type and sizes.",
           [](const onnx::Model& x) { return describe_all(x.inputs()); });
  property(t, "outputs", "By name: kind, element type and sizes.",
           [](const onnx::Model& x) { return describe_all(x.outputs()); });
  t.def("_copy", [](const onnx::Model& x) { return x.copy(); });
  m.def("load", &load, "path"_a).def("load_bytes", &load_bytes, "data"_a).def("operators", &operators);
}

}  // namespace neura::python
