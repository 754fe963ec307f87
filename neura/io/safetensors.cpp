#include "neura/io/safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "neura/core/version.h"
#include "neura/io/header.h"

namespace neura {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;                // raised when a reader of today would misread what we write
constexpr const char* kOwnKey = "neura";  // our entry in the metadata
constexpr const char* kMetadata = "__metadata__";

// What the format cannot say of a tensor, as JSON; an empty object for most.
json remarks(const Tensor& t) {
  json r = json::object();
  if (t.device() != Device()) r["device"] = t.device().str();
  if (t.requires_grad()) r["requires_grad"] = true;
  if (is_complex(t.dtype())) r["dtype"] = name(t.dtype());
  return r;
}

struct Plan {  // a file about to be written
  std::string header;
  std::vector<std::size_t> order;  // of the tensors in the data
};

void check_input(const nn::StateDict& tensors, const Metadata& metadata) {
  std::set<std::string_view> names;
  for (const auto& item : tensors) {
    const std::string& name = item.first;
    check<ValueError>(item.second.defined(),
                      [&] { return "save: expected a tensor for \"" + name + "\", got an undefined one"; });
    check<ValueError>(name != kMetadata,
                      [&] { return "save: the name \"__metadata__\" is taken by the file format; choose another"; });
    check<ValueError>(names.insert(name).second,
                      [&] { return "save: expected every name once, got \"" + name + "\" twice"; });
  }
  check<ValueError>(!metadata.count(kOwnKey),
                    [&] { return "save: the metadata key \"neura\" is Neura's own; choose another"; });
}

Plan plan(const nn::StateDict& tensors, const Metadata& metadata) {
  check_input(tensors, metadata);
  io::Header header;
  header.metadata = metadata;
  json own = {{"format", kFormat}, {"version", kVersion}};
  for (const auto& [name, tensor] : tensors) {
    io::TensorEntry e{name, to_real(tensor.dtype()), {}, 0, 0};
    const Shape shape = tensor.shape();
    e.shape.assign(shape.begin(), shape.end());
    if (is_complex(tensor.dtype())) e.shape.push_back(2);
    header.tensors.push_back(std::move(e));
    if (json r = remarks(tensor); !r.empty()) own["tensors"][name] = std::move(r);
  }
  try {
    header.metadata[kOwnKey] = own.dump();
  } catch (const json::type_error&) {
    throw ValueError("save: expected names in UTF-8, got other bytes");
  }
  // Wide elements first: then every tensor is aligned to its own elements, and a mapped file can be used in place.
  Plan p;
  p.order.resize(tensors.size());
  std::iota(p.order.begin(), p.order.end(), 0);
  std::stable_sort(p.order.begin(), p.order.end(), [&](std::size_t a, std::size_t b) {
    return size_of(header.tensors[a].dtype) > size_of(header.tensors[b].dtype);
  });
  std::uint64_t at = 0;
  for (std::size_t i : p.order) {
    header.tensors[i].begin = at;
    header.tensors[i].end = at += (tensors.begin() + std::ptrdiff_t(i))->second.nbytes();
  }
  p.header = io::write_header(header);
  return p;
}

// Calls write(bytes, n) for the header and every tensor.
template <class Write> void write_all(const nn::StateDict& tensors, const Metadata& metadata, Write write) {
  const Plan p = plan(tensors, metadata);
  write(p.header.data(), p.header.size());
  for (std::size_t i : p.order) {
    Tensor t = (tensors.begin() + std::ptrdiff_t(i))->second.detach();
    if (!t.device().is_cpu()) t = t.to(Device());
    t = t.contiguous();
    if (t.nbytes()) write(t.const_raw_data(), t.nbytes());
  }
}

struct NeuraMetadata {  // our entry, read back
  std::string version;
  json tensors = json::object();
};

NeuraMetadata read_neura_metadata(const std::string& file, const Metadata& metadata) {
  const auto it = metadata.find(kOwnKey);
  if (it == metadata.end()) return {};
  const json own = json::parse(it->second, nullptr, false);
  const auto damaged = [&] { return file + ": the metadata entry \"neura\" is damaged"; };
  check<FormatError>(own.is_object() && own.contains("format") && own["format"].is_number_integer(), damaged);
  NeuraMetadata r;
  if (own.contains("version") && own["version"].is_string()) r.version = own["version"];
  check<FormatError>(own["format"].get<std::int64_t>() <= kFormat, [&] {
    return file + ": written by Neura " + (r.version.empty() ? "of a later version" : r.version) + " in file format " +
           own["format"].dump() + ", but this Neura, " + kVersion + ", reads up to " + std::to_string(kFormat) +
           "; update Neura";
  });
  if (own.contains("tensors")) {
    check<FormatError>(own["tensors"].is_object(), damaged);
    r.tensors = own["tensors"];
  }
  return r;
}

// The dtype in memory, and the shape: pairs of floats become complex again.
Spec spec_of(const std::string& file, const io::TensorEntry& e, const json& remark) {
  DType dtype = e.dtype;
  std::size_t rank = e.shape.size();
  if (const auto it = remark.find("dtype"); it != remark.end()) {
    const bool pairs = rank && e.shape.back() == 2 && (e.dtype == float32 || e.dtype == float64);
    check<FormatError>(pairs && *it == name(to_complex(e.dtype)), [&] {
      return file + ": tensor " + io::shown(e.name) + ": expected pairs of floats for a complex tensor, got " +
             info(e.dtype).file_name + " " + str(e.shape);
    });
    dtype = to_complex(e.dtype), --rank;
  }
  check<FormatError>(rank <= std::size_t(kMaxRank), [&] {
    return file + ": tensor " + io::shown(e.name) + ": expected at most " + std::to_string(kMaxRank) +
           " dimensions, got " + std::to_string(rank);
  });
  return Spec::dense(dtype, {e.shape.data(), rank});
}

Device saved_device(const std::string& file, const io::TensorEntry& e, const json& remark) {
  const auto it = remark.find("device");
  if (it == remark.end()) return {};
  try {
    check<FormatError>(it->is_string(), [] { return ""; });
    return Device(it->get<std::string>());
  } catch (const Error&) {
    throw FormatError(file + ": tensor " + io::shown(e.name) + ": expected a device such as \"cuda:0\", got " +
                      it->dump());
  }
}

Tensor to_device(const std::string& file, const std::string& name, const Tensor& t, Device saved, Device device) {
  if (device == t.device()) return t;
  try {
    return t.to(device);
  } catch (const DeviceError& e) {
    throw DeviceError(file + ": tensor " + io::shown(name) + " was saved on " + saved.str() + " and cannot go to " +
                      device.str() + " here (" + e.what() + "); pass map_location \"cpu\"");
  }
}

void check_bools(const std::string& file, const io::Header& header, const io::TensorEntry& e, const Tensor& t) {
  const auto* p = static_cast<const unsigned char*>(t.const_raw_data());
  const auto* bad = std::find_if(p, p + t.nbytes(), [](unsigned char b) { return b > 1; });
  check<FormatError>(bad == p + t.nbytes(), [&] {
    return file + ": tensor " + io::shown(e.name) + ": expected 0 or 1 for a bool at byte " +
           std::to_string(header.data + e.begin + std::uint64_t(bad - p)) + ", got " + std::to_string(*bad);
  });
}

// A tensor over the pages of a mapping, which lives as long as it does; undefined if they are not aligned to its
// elements, which is the writer's choice. Nothing may be touched beyond it: the next tensor begins there.
Tensor in_place(const io::Source& source, std::uint64_t begin, const Spec& spec) {
  const std::byte* at = source.mapping()->data + begin;
  if (!spec.bytes() || reinterpret_cast<std::uintptr_t>(at) % std::size_t(size_of(to_real(spec.dtype)))) return {};
  Storage* pages = io::storage_of(source.mapping(), begin, spec.bytes());
  return Tensor(Ref<TensorImpl>::adopt(TensorImpl::make(spec, pages)));
}

Tensor read_tensor(const io::Source& source, std::uint64_t begin, const Spec& spec) {
  if (source.mapping())
    if (Tensor t = in_place(source, begin, spec)) return t;
  Tensor t = Tensor::empty(spec);
  if (t.nbytes()) source.read(begin, t.impl()->data(), t.nbytes());
  return t;
}

}  // namespace

TensorFile io::read_tensors(const Source& source, const MapLocation& map_location) {
  Header header = read_header(source);
  const std::string& file = source.name();
  const NeuraMetadata remarks = read_neura_metadata(file, header.metadata);
  static const json none = json::object();
  TensorFile result;
  for (const TensorEntry& e : header.tensors) {
    const auto it = remarks.tensors.find(e.name);
    const json& remark = it == remarks.tensors.end() || !it->is_object() ? none : *it;
    Tensor t = read_tensor(source, header.data + e.begin, spec_of(file, e, remark));
    if (t.dtype() == boolean) check_bools(file, header, e, t);
    const Device saved = saved_device(file, e, remark);
    t = to_device(file, e.name, t, saved, map_location(saved));
    if (remark.value("requires_grad", json()) == true && differentiable(t.dtype())) t.requires_grad_();
    result.tensors.append(e.name, t);
  }
  result.metadata = std::move(header.metadata);
  result.metadata.erase(kOwnKey);
  result.version = remarks.version;
  return result;
}

void MapLocation::use(const std::map<std::string, std::string>& devices) {
  std::map<std::string, Device> map;
  for (const auto& [from, to] : devices) map[Device(from).str()] = Device(to);
  function_ = [map](Device d) {
    const auto it = map.find(d.str());
    return it == map.end() ? d : it->second;
  };
}

void save(const std::string& path, const nn::StateDict& tensors, const Metadata& metadata) {
  io::AtomicFile file(path);
  write_all(tensors, metadata, [&](const void* bytes, std::size_t n) { file.write(bytes, n); });
  file.commit();
}

std::string save_bytes(const nn::StateDict& tensors, const Metadata& metadata) {
  std::string out;
  write_all(tensors, metadata,
            [&](const void* bytes, std::size_t n) { out.append(static_cast<const char*>(bytes), n); });
  return out;
}

TensorFile load_file(const std::string& path, const MapLocation& map_location, bool mmap) {
  return io::read_tensors(io::Source(path, mmap), map_location);
}

nn::StateDict load(const std::string& path, const MapLocation& map_location, bool mmap) {
  return load_file(path, map_location, mmap).tensors;
}
nn::StateDict load(std::span<const std::byte> bytes, const MapLocation& map_location) {
  return load_bytes(bytes, map_location).tensors;
}

TensorFile load_bytes(std::span<const std::byte> bytes, const MapLocation& map_location, const std::string& name) {
  return io::read_tensors(io::Source(bytes, name), map_location);
}

}  // namespace neura
