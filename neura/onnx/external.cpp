#include "neura/onnx/external.h"

#include <charconv>
#include <filesystem>

#include "neura/core/error.h"

namespace neura::onnx {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_tensor(const TensorProto& t, const std::string& what) {
  throw FormatError("onnx.load: expected the tensor \"" + t.name + "\" in a file next to the model, got " + what);
}

std::uint64_t number(const TensorProto& t, const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) refuse_tensor(t, "\"" + text + "\" for a number");
  return value;
}

}  // namespace

ExternalData::ExternalData(const std::string& model) : folder_(fs::path(model).parent_path().string()) {}

void ExternalData::attach(ModelProto& m) {
  attach(m.graph);
  for (FunctionProto& f : m.functions)
    for (NodeProto& n : f.node) attach(n);
}
void ExternalData::attach(GraphProto& g) {
  for (TensorProto& t : g.initializer) attach(t);
  for (NodeProto& n : g.node) attach(n);
}
void ExternalData::attach(NodeProto& n) {
  for (AttributeProto& a : n.attribute) {
    if (a.t) attach(*a.t);
    if (a.g) attach(*a.g);
    for (GraphProto& g : a.graphs) attach(g);
  }
}

void ExternalData::attach(TensorProto& t) {
  if (t.data_location != 1) return;
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
  for (const EntryProto& e : t.external_data) {
    if (e.key == "location") location = e.value;
    if (e.key == "offset") offset = number(t, e.value);
    if (e.key == "length") length = number(t, e.value);
  }
  const fs::path path(location);
  if (location.empty() || path.is_absolute() || location.find('\0') != std::string::npos)
    refuse_tensor(t, "\"" + location + "\"");
  fs::path at(folder_);
  for (const fs::path& part : path) {
    at /= part;
    if (part == ".." || fs::is_symlink(fs::symlink_status(at)))
      refuse_tensor(t, "\"" + location + "\", which leads elsewhere");
  }
  std::shared_ptr<io::Mapping>& file = files_[at.string()];
  if (!file) file = io::Source(at.string(), true).mapping();
  if (offset > file->size || length.value_or(0) > file->size - offset)
    refuse_tensor(t, "a place beyond the end of \"" + location + "\"");
  t.raw_data = std::string_view(reinterpret_cast<const char*>(file->data) + offset,
                                std::size_t(length.value_or(file->size - offset)));
  t.data_location = 0;
}

}  // namespace neura::onnx
