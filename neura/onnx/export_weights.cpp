#include "neura/onnx/export_weights.h"

#include <filesystem>
#include <map>

#include "neura/io/header.h"
#include "neura/onnx/value.h"

namespace neura::onnx {
namespace {

constexpr std::uint64_t kMost = 1'900'000'000;  // bytes; a protocol buffer ends at 2^31
constexpr std::size_t kSmall = 1024;            // what is smaller stays in the model
constexpr std::uint64_t kPage = 4096;           // tensors begin at its multiples, so that they can be mapped

bool moves(const TensorProto& t) { return t.raw_data && t.raw_data->size() >= kSmall; }

void refer(TensorProto& t, const std::string& file, std::uint64_t offset) {
  t.external_data = {
      {"location", file}, {"offset", std::to_string(offset)}, {"length", std::to_string(t.raw_data->size())}};
  t.data_location = 1;
  t.raw_data.reset();
}

// `head`, then the tensors, each at a multiple of `step`; the model refers to them.
void write_tensors(ModelProto& m, const std::filesystem::path& path, std::string_view head, std::uint64_t step) {
  io::AtomicFile file(path.string());
  file.write(head);
  std::uint64_t at = head.size();
  for (TensorProto& t : m.graph.initializer) {
    if (!moves(t)) continue;
    const std::string gap(std::size_t((step - at % step) % step), '\0');
    file.write(gap), file.write(*t.raw_data);
    const std::uint64_t begin = at + gap.size();
    at = begin + t.raw_data->size();
    refer(t, path.filename().string(), begin);
  }
  file.commit();
}

void write_safetensors(ModelProto& m, const std::filesystem::path& path) {
  io::Header header;
  header.metadata["format"] = "pt";
  std::uint64_t at = 0;
  for (const TensorProto& t : m.graph.initializer) {
    if (!moves(t)) continue;
    header.tensors.push_back({t.name, dtype_for(Type(t.data_type)), t.dims, at, at + t.raw_data->size()});
    at = header.tensors.back().end;
  }
  write_tensors(m, path, io::write_header(header), 1);
}

}  // namespace

void move_weights(ModelProto& m, const std::string& path, Weights where) {
  std::uint64_t bytes = 0;
  for (const TensorProto& t : m.graph.initializer) bytes += t.raw_data ? t.raw_data->size() : 0;
  check<NotImplementedError>(where != Weights::inside || bytes <= kMost, [&] {
    return "onnx.export: expected at most 1.9 GB of weights inside a file, got " + std::to_string(bytes) +
           " bytes; write them as external data";
  });
  if (where == Weights::automatic) where = bytes > kMost ? Weights::data : Weights::inside;
  if (where == Weights::data) write_tensors(m, path + ".data", "", kPage);
  if (where == Weights::safetensors)
    write_safetensors(m, std::filesystem::path(path).replace_extension(".safetensors"));
}

}  // namespace neura::onnx
