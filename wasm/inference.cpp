// Programs in a browser: the functions that package/index.js calls. A model is a number; what was said last, an error's
// sentence among it, is in memory that the next call may overwrite. No exception leaves this file.
#include <emscripten/emscripten.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "neura/core/error_details.h"
#include "neura/core/version.h"
#include "neura/io/program.h"
#include "neura/ops/create/copy.h"

using namespace neura;
using nlohmann::json;

namespace {

struct Model {
  ProgramFile file;
  std::string about;
  std::vector<Tensor> inputs, outputs;
};

std::string said, kind;

// The error's name among Neura's, of which the more particular come first.
const char* name_of(const std::exception& e) {
  const auto is = [&]<class E>() { return dynamic_cast<const E*>(&e) != nullptr; };
  if (is.operator()<ShapeError>()) return "ShapeError";
  if (is.operator()<DTypeError>()) return "DTypeError";
  if (is.operator()<IndexError>()) return "IndexError";
  if (is.operator()<ValueError>()) return "ValueError";
  if (is.operator()<FormatError>()) return "FormatError";
  if (is.operator()<DeviceError>()) return "DeviceError";
  if (is.operator()<NotImplementedError>()) return "NotImplementedError";
  if (is.operator()<OutOfMemoryError>() || is.operator()<std::bad_alloc>()) return "OutOfMemoryError";
  return "Error";
}

template <class R, class F> R guarded(R failed, const F& f) {
  try {
    return f();
  } catch (const std::exception& e) {
    kind = name_of(e);
    said = dynamic_cast<const std::bad_alloc*>(&e) ? "model: expected memory for it, got none; free other models"
                                                   : e.what();
  }
  return failed;
}

json ports(const std::vector<std::string>& names, const std::vector<Spec>& specs) {
  json all = json::array();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Shape sizes = specs[i].sizes();
    all.push_back({{"name", names[i]},
                   {"dtype", name(specs[i].dtype)},
                   {"shape", std::vector<std::int64_t>(sizes.begin(), sizes.end())}});
  }
  return all;
}

std::unique_ptr<Model> made(ProgramFile file) {
  auto m = std::make_unique<Model>();
  m->file = std::move(file);
  const std::vector<Spec> in = m->file.program.input_specs(), out = m->file.program.output_specs();
  for (const Spec& s : in) m->inputs.push_back(Tensor::empty(Spec::dense(s.dtype, s.sizes())));
  json metadata = json::object();
  for (const auto& [key, text] : m->file.metadata) metadata[key] = text;
  const json about = {{"inputs", ports(m->file.inputs, in)},
                      {"outputs", ports(m->file.outputs, out)},
                      {"metadata", metadata},
                      {"version", m->file.version}};
  m->about = about.dump(-1, ' ', false, json::error_handler_t::replace);
  return m;
}

}  // namespace

extern "C" {

EMSCRIPTEN_KEEPALIVE void* neura_allocate(std::size_t bytes) { return std::malloc(bytes ? bytes : 1); }
EMSCRIPTEN_KEEPALIVE void neura_release(void* p) { std::free(p); }
EMSCRIPTEN_KEEPALIVE const char* neura_version() { return kVersion; }
// Of the last call that failed: its sentence, and the error's name.
EMSCRIPTEN_KEEPALIVE const char* neura_said() { return said.c_str(); }
EMSCRIPTEN_KEEPALIVE const char* neura_error() { return kind.c_str(); }

// A model of a file's bytes, which may go afterwards; null, if there was an error.
EMSCRIPTEN_KEEPALIVE Model* neura_load(const std::byte* bytes, std::size_t size) {
  return guarded<Model*>(nullptr, [&] { return made(load_program(std::span(bytes, size), false, "model")).release(); });
}
EMSCRIPTEN_KEEPALIVE void neura_drop(Model* m) { delete m; }
// Inputs, outputs and metadata, as JSON.
EMSCRIPTEN_KEEPALIVE const char* neura_about(const Model* m) { return m->about.c_str(); }
// Where the numbers of an input are written to.
EMSCRIPTEN_KEEPALIVE void* neura_input(Model* m, std::size_t i) { return m->inputs[i].impl()->data(); }
// False, if there was an error. Results stay until the next run.
EMSCRIPTEN_KEEPALIVE bool neura_run(Model* m) {
  return guarded(false, [&] {
    m->outputs.clear();
    for (const Tensor& t : graph::run(m->file.program, m->inputs)) m->outputs.push_back(contiguous(t));
    return true;
  });
}
EMSCRIPTEN_KEEPALIVE const void* neura_output(const Model* m, std::size_t i) { return m->outputs[i].const_raw_data(); }
}
