#include "neura/io/program.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "neura/core/version.h"
#include "neura/graph/foreign.h"
#include "neura/io/header.h"
#include "neura/io/sha256.h"
#include "neura/ops/create/copy.h"

namespace neura {
namespace {

using graph::External;
using graph::Program;
using nlohmann::json;

constexpr int kFormat = 1;  // raised when a reader of today would misread what we write
constexpr const char* kText = "neura.program";
constexpr const char* kSignature = "neura.signature";

// Given names, then the program's own, then input_0; each once.
std::vector<std::string> filled(const char* what, const std::vector<std::string>& given,
                                const std::vector<std::string>& own) {
  check<ValueError>(given.size() <= own.size(), [&] {
    return std::string("save_program: expected names of ") + std::to_string(own.size()) + " " + what + "s, got " +
           std::to_string(given.size());
  });
  std::vector<std::string> all;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < own.size(); ++i) {
    std::string name = i < given.size() ? given[i] : own[i];
    if (name.empty()) name = std::string(what) + "_" + std::to_string(i);
    check<ValueError>(name.find_first_of(" <:\r\n") == std::string::npos && seen.insert(name).second, [&] {
      return std::string("save_program: expected names of ") + what +
             "s that differ, without spaces, <, : and lines, " + "got \"" + name + "\"";
    });
    all.push_back(std::move(name));
  }
  return all;
}

std::string sha256(std::string_view text) {
  io::Sha256 hash;
  return hash.add(text.data(), text.size()), hash.hex();
}
// Of the tensors' bytes, in the order of the text.
std::string sha256(const nn::StateDict& tensors) {
  io::Sha256 hash;
  for (const auto& item : tensors) {
    const Tensor here = contiguous(item.second.detach().to(Device()));
    if (here.nbytes()) hash.add(here.const_raw_data(), here.nbytes());
  }
  return hash.hex();
}
json ports(const std::vector<std::string>& names, const std::vector<Spec>& specs) {
  json all = json::array();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Shape sizes = specs[i].sizes();
    all.push_back({{"name", names[i]},
                   {"dtype", name(specs[i].dtype)},
                   {"sizes", std::vector<std::int64_t>(sizes.begin(), sizes.end())}});
  }
  return all;
}
json signature(const Program& p, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  return {{"inputs", ports(inputs, p.input_specs())}, {"outputs", ports(outputs, p.output_specs())}};
}

struct Parts {
  nn::StateDict tensors;
  Metadata metadata;
};
bool is_in_file(const External& e, const Spec& s) {
  return e.kind == External::captured || (e.kind == External::constant && s.bytes() > kInText);
}
Parts parts(const Program& program, const ProgramNames& names) {
  Parts to;
  to.metadata = names.metadata;
  for (const auto& item : names.metadata)
    check<ValueError>(!item.first.starts_with("neura"), [&] {
      return "save_program: expected metadata keys that do not begin with \"neura\", got \"" + item.first + "\"";
    });
  std::vector<std::string> own;
  for (const External& e : program.externals)
    if (e.kind == External::input) own.push_back(e.name);
  const auto inputs = filled("input", names.inputs, own);
  const auto outputs = filled("output", names.outputs, std::vector<std::string>(program.outputs.size()));
  Program p = program;
  std::set<std::string> taken;
  std::size_t next = 0;
  for (std::size_t i = 0; i < p.externals.size(); ++i) {
    External& e = p.externals[i];
    if (e.kind == External::input) e.name = inputs[next++];
    if (!is_in_file(e, p.values[i])) continue;
    check<ValueError>(e.tensor.defined(),
                      [&] { return "save_program: expected a tensor for " + e.name + ", got none; set it"; });
    if (e.name.empty()) e.name = (e.kind == External::captured ? "captured." : "constant.") + std::to_string(i);
    while (!taken.insert(e.name).second) e.name += "_";
    to.tensors.append(e.name, e.tensor.detach());
    if (e.kind == External::constant) e.tensor = {};
  }
  const std::string text = graph::str(p);
  json s = signature(p, inputs, outputs);
  s["format"] = kFormat, s["version"] = kVersion;
  s["program_sha256"] = sha256(text), s["weights_sha256"] = sha256(to.tensors);
  to.metadata[kText] = text;
  try {
    to.metadata[kSignature] = s.dump();
  } catch (const json::type_error&) {
    throw ValueError("save_program: expected names in UTF-8, got other bytes");
  }
  return to;
}

class FileReader {
 public:
  FileReader(const std::string& name, TensorFile file) : name_(name), file_(std::move(file)) {}

  ProgramFile all(bool trusted, bool with_weights) {
    const std::string text = taken(kText);
    const json s = json::parse(taken(kSignature), nullptr, false);
    check_version(s);
    ProgramFile f;
    expect(s.value("program_sha256", json()) == sha256(text), "a text with the hash of its signature, got another");
    try {
      f.program = graph::parse(text, [&](Program& p) {
        give(p);
        if (!trusted) graph::check_foreign(p);
      });
    } catch (const NotImplementedError& e) {
      throw NotImplementedError(name_ + ": " + e.what());
    } catch (const Error& e) {
      throw FormatError(name_ + ": " + e.what());
    }
    for (const External& e : f.program.externals)
      if (e.kind == External::input) f.inputs.push_back(e.name);
    f.outputs = output_names(s, f.program.outputs.size());
    const json want = signature(f.program, f.inputs, f.outputs);
    expect(s["inputs"] == want["inputs"] && s["outputs"] == want["outputs"],
           "the inputs and outputs of its program in its signature, got others");
    if (with_weights)
      expect(s.value("weights_sha256", json()) == sha256(weights_),
             "weights with the hash of its signature, got others");
    f.metadata = std::move(file_.metadata), f.version = file_.version;
    return f;
  }

 private:
  void expect(bool ok, const std::string& what) const {
    check<FormatError>(ok, [&] { return name_ + ": expected " + what; });
  }
  std::string taken(const char* key) {
    const auto at = file_.metadata.find(key);
    expect(at != file_.metadata.end(), std::string("a program, metadata \"") + key + "\", got none");
    std::string text = std::move(at->second);
    return file_.metadata.erase(at), text;
  }
  void check_version(const json& s) const {
    expect(s.is_object() && s.contains("format") && s["format"].is_number_integer(), "a signature, got a damaged one");
    check<NotImplementedError>(s["format"].get<std::int64_t>() <= kFormat, [&] {
      return name_ + ": expected a program in file format " + std::to_string(kFormat) + " at most, got " +
             s["format"].dump() + "; update Neura, this is " + kVersion;
    });
  }
  // Every tensor of the file belongs to an external of the text, and the other way round.
  void give(Program& p) {
    std::map<std::string, Tensor> all(file_.tensors.begin(), file_.tensors.end());
    for (std::size_t i = 0; i < p.externals.size(); ++i) {
      External& e = p.externals[i];
      const Spec& want = p.values[i];
      if (e.kind == External::input || e.tensor) continue;
      const auto at = all.find(e.name);
      expect(at != all.end(), "one tensor \"" + e.name + "\" for each use, got none");
      const Spec& got = at->second.spec();
      expect(want.dense() && !want.offset, "a dense value at offset 0 as \"" + e.name + "\", got another");
      expect(got.dtype == want.dtype && got.device == want.device && got.same_shape(want),
             want.str() + " as \"" + e.name + "\", got " + got.str());
      weights_.append(e.name, at->second);
      e.tensor = got.same_geometry(want) ? at->second : Tensor::empty(want).copy_(at->second);
      all.erase(at);
    }
    expect(all.empty(), "no tensors but the program's, got " + std::to_string(all.size()) + " more");
  }
  std::vector<std::string> output_names(const json& s, std::size_t n) const {
    std::vector<std::string> names;
    const json none = json::array();
    for (const json& o : s.contains("outputs") && s["outputs"].is_array() ? s["outputs"] : none)
      if (o.is_object() && o.contains("name") && o["name"].is_string()) names.push_back(o["name"]);
    expect(names.size() == n && s.contains("inputs"), "names of " + std::to_string(n) + " outputs, got others");
    return names;
  }

  const std::string name_;
  TensorFile file_;
  nn::StateDict weights_;  // in the order of the text
};

}  // namespace

void save_program(const std::string& path, const Program& p, const ProgramNames& names) {
  const Parts all = parts(p, names);
  save(path, all.tensors, all.metadata);
}
std::string save_program_bytes(const Program& p, const ProgramNames& names) {
  const Parts all = parts(p, names);
  return save_bytes(all.tensors, all.metadata);
}

ProgramFile load_program(const std::string& path, const ProgramOptions& o) {
  return FileReader(path, load_file(path, {}, o.mmap)).all(o.trusted, !o.mmap);
}
ProgramFile load_program(std::span<const std::byte> bytes, bool trusted, const std::string& name) {
  return FileReader(name, load_bytes(bytes, {}, name)).all(trusted, true);
}
ProgramFile load_program(const io::Source& source, bool trusted) {
  return FileReader(source.name(), io::read_tensors(source, {})).all(trusted, !source.mapping());
}
bool is_program_file(const Metadata& metadata) { return metadata.count(kText) && metadata.count(kSignature); }

}  // namespace neura
