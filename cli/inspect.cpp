// neura info FILE: what a file of a model holds.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/progress.h"
#include "neura/io/header.h"
#include "neura/io/program.h"
#ifdef NEURA_ONNX
#include "neura/onnx/external.h"
#include "neura/onnx/located.h"
#include "neura/onnx/operators.h"
#endif

namespace neura::cli {
namespace {

constexpr std::size_t kShown = 20;  // tensors

void line(const char* name, const std::string& value) { std::printf("%-12s %s\n", name, value.c_str()); }

std::string bytes_text(std::uint64_t n) {
  char text[32];
  if (n < 10'000) return thousands(std::int64_t(n)) + " bytes";
  std::snprintf(text, sizeof text, n < 10'000'000 ? "%.1f KB" : "%.1f MB",
                n < 10'000'000 ? double(n) / 1e3 : double(n) / 1e6);
  return text;
}

struct Row {
  std::string name, dtype, sizes;
  std::uint64_t bytes = 0, elements = 0;
};
void print_tensors(const std::vector<Row>& rows, bool all) {
  std::uint64_t bytes = 0, elements = 0;
  std::size_t width = 4;
  for (const Row& r : rows) bytes += r.bytes, elements += r.elements, width = std::max(width, r.name.size());
  width = std::min<std::size_t>(width, 60);
  line("tensors", thousands(std::int64_t(rows.size())) + ", " + thousands(std::int64_t(elements)) + " numbers, " +
                      bytes_text(bytes));
  const std::size_t shown = all ? rows.size() : std::min(rows.size(), kShown);
  for (std::size_t i = 0; i < shown; ++i)
    std::printf("  %-*s  %-9s %-20s %12s\n", int(width), rows[i].name.c_str(), rows[i].dtype.c_str(),
                rows[i].sizes.c_str(), bytes_text(rows[i].bytes).c_str());
  if (shown < rows.size())
    std::printf("  and %s more; see them with --all\n", thousands(std::int64_t(rows.size() - shown)).c_str());
}
std::uint64_t count(const std::vector<std::int64_t>& shape) {
  std::uint64_t n = 1;
  for (const std::int64_t d : shape) n *= std::uint64_t(d);
  return n;
}

#ifdef NEURA_ONNX
std::string type_text(const onnx::ValueInfoProto& v) {
  if (!v.type || !v.type->tensor_type) return "";
  const onnx::TensorTypeProto& t = *v.type->tensor_type;
  std::string text = onnx::name(onnx::Type(t.elem_type));
  if (!t.shape) return text;
  text += " [";
  for (std::size_t i = 0; i < t.shape->dim.size(); ++i) {
    const onnx::DimensionProto& d = t.shape->dim[i];
    text += (i ? ", " : "") + (d.dim_value ? std::to_string(*d.dim_value) : d.dim_param.value_or("?"));
  }
  return text + "]";
}
std::uint64_t bytes_of(const onnx::TensorProto& t) {
  if (t.raw_data) return t.raw_data->size();
  for (const onnx::EntryProto& e : t.external_data)
    if (e.key == "length") return std::strtoull(e.value.c_str(), nullptr, 10);
  return t.float_data.size() * 4 + t.int32_data.size() * 4 + t.int64_data.size() * 8 + t.double_data.size() * 8;
}
std::int64_t version_of(const onnx::ModelProto& m, const std::string& domain) {
  for (const onnx::OpsetProto& o : m.opset_import)
    if (o.domain == domain || (domain.empty() && o.domain == "ai.onnx")) return o.version;
  return 1;
}

int onnx_info(const FileOptions& o) {
  const io::Source file(o.file, true);
  check<FormatError>(file.size() > 0, [&] { return o.file + ": expected an ONNX file, got an empty one"; });
  const std::string_view bytes(reinterpret_cast<const char*>(file.mapping()->data), std::size_t(file.size()));
  const onnx::ModelProto m = onnx::of_file(o.file, [&] { return onnx::read_model(bytes); });
  line("file", o.file + ", ONNX, " + bytes_text(file.size()));
  std::string sets;
  for (const onnx::OpsetProto& s : m.opset_import)
    sets += (sets.empty() ? "" : ", ") + (s.domain.empty() ? "ai.onnx" : s.domain) + " " + std::to_string(s.version);
  line("opset", sets + "; IR " + std::to_string(m.ir_version));
  line("producer", m.producer_name + (m.producer_version.empty() ? "" : " " + m.producer_version));
  for (const onnx::ValueInfoProto& v : m.graph.input) line("input", v.name + " : " + type_text(v));
  for (const onnx::ValueInfoProto& v : m.graph.output) line("output", v.name + " : " + type_text(v));
  std::map<std::pair<std::string, std::string>, std::int64_t> operators;
  for (const onnx::NodeProto& n : m.graph.node) ++operators[{n.domain, n.op_type}];
  line("nodes",
       thousands(std::int64_t(m.graph.node.size())) + " of " + std::to_string(operators.size()) + " operators");
  for (const auto& [key, n] : operators) {
    const bool own = std::any_of(m.functions.begin(), m.functions.end(), [&, &k = key](const onnx::FunctionProto& f) {
      return f.domain == k.first && f.name == k.second;
    });
    const bool there = own || (key.second == "Constant" && key.first.empty()) ||
                       onnx::find_operator(key.first, key.second, version_of(m, key.first));
    std::printf("  %-30s %6s%s\n", (key.first.empty() ? key.second : key.first + "." + key.second).c_str(),
                thousands(n).c_str(), there ? "" : "  not implemented");
  }
  std::vector<Row> rows;
  for (const onnx::TensorProto& t : m.graph.initializer)
    rows.push_back({t.name, onnx::name(onnx::Type(t.data_type)), str(t.dims), bytes_of(t), count(t.dims)});
  print_tensors(rows, o.all);
  return kDone;
}
#else
int onnx_info(const FileOptions& o) {
  throw NotImplementedError("info: expected a program with the part ONNX for " + o.file + "; build neura with it");
}
#endif

// The program itself is not checked here: what it calls is counted by the lines of its text.
void print_program(const std::string& text, const std::string& signature) {
  const nlohmann::json s = nlohmann::json::parse(signature, nullptr, false);
  const auto ports = [&](const char* which, const char* name) {
    if (!s.is_object() || !s.contains(which) || !s[which].is_array()) return;
    for (const nlohmann::json& port : s[which])
      if (port.is_object())
        line(name, port.value("name", "") + " : " + port.value("dtype", "") + " " +
                       port.value("sizes", nlohmann::json::array()).dump());
  };
  ports("inputs", "input"), ports("outputs", "output");
  std::map<std::string, std::int64_t> operations;
  std::int64_t nodes = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size()), equals = text.find(" = ", at);
    const std::size_t open = equals < end ? text.find_first_of("(: ", equals + 3) : std::string::npos;
    if (open < end && text[open] == '(') ++operations[text.substr(equals + 3, open - equals - 3)], ++nodes;
    at = end + 1;
  }
  line("nodes", thousands(nodes) + " of " + std::to_string(operations.size()) + " operations");
  for (const auto& [name, n] : operations) std::printf("  %-30s %6s\n", io::shown(name).c_str(), thousands(n).c_str());
}

int safetensors_info(const FileOptions& o) {
  const io::Source file(o.file);
  const io::Header header = io::read_header(file);
  const bool program = is_program_file(header.metadata);
  line("file", o.file + (program ? ", program, " : ", safetensors, ") + bytes_text(file.size()));
  if (program) print_program(header.metadata.at("neura.program"), header.metadata.at("neura.signature"));
  for (const auto& [key, value] : header.metadata)
    if (!program || !key.starts_with("neura."))
      line("metadata", key + " : " + (value.size() > 80 ? value.substr(0, 77) + "..." : value));
  std::vector<Row> rows;
  for (const io::TensorEntry& t : header.tensors)
    rows.push_back({t.name, std::string(name(t.dtype)), str(t.shape), t.end - t.begin, count(t.shape)});
  print_tensors(rows, o.all);
  return kDone;
}

}  // namespace

int file_info(const FileOptions& o) {
  const std::string kind = std::filesystem::path(o.file).extension().string();
  if (kind == ".onnx") return onnx_info(o);
  if (kind == ".safetensors" || kind == ".neura") return safetensors_info(o);
  throw ValueError("info: expected a file .onnx, .neura or .safetensors, got " + o.file +
                   (kind == ".pt" || kind == ".pth" ? "; neura.load of Python reads it" : ""));
}

}  // namespace neura::cli
