// The functions of neura/capi/neura.h: arguments are checked, and what is thrown becomes a code and a sentence.
#include <atomic>
#include <new>

#include "neura/autograd/grad_mode.h"
#include "neura/capi/tensors.h"
#include "neura/core/parallel.h"
#include "neura/core/version.h"

using namespace neura;

struct neura_model {
  std::shared_ptr<const capi::Model> model;
};
struct neura_session {
  std::shared_ptr<const capi::Model> model;
  std::unique_ptr<capi::Runner> runner;
};

namespace {

std::atomic<std::int64_t> live_models{0}, live_sessions{0};

struct AbiError : Error {
  using Error::Error;
};

thread_local std::string message;
thread_local bool out_of_memory = false;  // there is none for the sentence either

int failed(int code, const char* text) noexcept {
  try {
    message = text, out_of_memory = false;
  } catch (...) {
    out_of_memory = true;
  }
  return code;
}
// Of the exception that is being handled.
int failed() noexcept {
  try {
    throw;
  } catch (const AbiError& e) {
    return failed(NEURA_E_ABI, e.what());
  } catch (const ShapeError& e) {
    return failed(NEURA_E_SHAPE, e.what());
  } catch (const DTypeError& e) {
    return failed(NEURA_E_DTYPE, e.what());
  } catch (const DeviceError& e) {
    return failed(NEURA_E_DEVICE, e.what());
  } catch (const CudaError& e) {
    return failed(NEURA_E_DEVICE, e.what());
  } catch (const IndexError& e) {
    return failed(NEURA_E_INDEX, e.what());
  } catch (const ValueError& e) {
    return failed(NEURA_E_VALUE, e.what());
  } catch (const NotImplementedError& e) {
    return failed(NEURA_E_NOT_IMPLEMENTED, e.what());
  } catch (const IoError& e) {
    return failed(NEURA_E_IO, e.what());
  } catch (const FormatError& e) {
    return failed(NEURA_E_FORMAT, e.what());
  } catch (const OutOfMemoryError& e) {
    return failed(NEURA_E_MEMORY, e.what());
  } catch (const std::bad_alloc&) {
    return failed(NEURA_E_MEMORY, "neura: out of memory");
  } catch (const std::exception& e) {
    return failed(NEURA_E_OTHER, e.what());
  } catch (...) {
    return failed(NEURA_E_OTHER, "neura: an unknown exception");
  }
}
template <class F> int guarded(F&& f) noexcept {
  try {
    f();
    return NEURA_DONE;
  } catch (...) {
    return failed();
  }
}
void expect(const void* p, const char* function, const char* what) {
  check<ValueError>(p, [&] { return std::string(function) + ": expected " + what + ", got null"; });
}

template <class Open> int opened(const char* function, std::uint32_t abi, const void* what, const char* name,
                                 const neura_options* o, neura_model** to, Open&& open) noexcept {
  if (to) *to = nullptr;
  return guarded([&] {
    check<AbiError>(abi >= 1 && abi <= NEURA_ABI, [&] {
      return std::string(function) + ": expected a program of version 1 to " + std::to_string(NEURA_ABI) +
             " of this interface (NEURA_ABI), got " + std::to_string(abi) + "; use a library and a header of one Neura";
    });
    expect(what, function, name), expect(to, function, "a place for the model");
    capi::Opening opening;
    if (o) {
      if (o->device) opening.device = o->device;
      opening.trusted = o->trusted, opening.verify = o->verify, opening.borrow = o->borrow;
    }
    auto m = std::make_unique<neura_model>();
    m->model = open(opening);
    *to = m.release(), ++live_models;
  });
}

using Ports = std::vector<capi::Port> capi::Model::*;
int port_of(const char* function, const neura_model* m, Ports ports, std::size_t index, neura_port* to) noexcept {
  return guarded([&] {
    expect(m, function, "a model"), expect(to, function, "a place for the port");
    const std::vector<capi::Port>& all = (*m->model).*ports;
    check<IndexError>(index < all.size(), [&] {
      return std::string(function) + ": expected an index below " + std::to_string(all.size()) + ", got " +
             std::to_string(index);
    });
    const capi::Port& p = all[index];
    *to = {p.name.c_str(), {}, -1, nullptr};
    if (p.declared) to->dtype = capi::dlpack_of(p.dtype), to->ndim = std::int32_t(p.sizes.size());
    if (p.declared) to->sizes = p.sizes.data();
  });
}
std::size_t count_of(const neura_model* m, Ports ports) noexcept { return m ? ((*m->model).*ports).size() : 0; }

void expect_count(std::size_t got, std::size_t want, const char* what) {
  check<ValueError>(got == want, [&] {
    return "neura_run: expected " + std::to_string(want) + " " + what + ", got " + std::to_string(got);
  });
}
void run(neura_session& s, const DLTensor* const* inputs, DLManagedTensorVersioned** outputs) {
  const InferenceMode mode;
  std::vector<Tensor> given;
  for (std::size_t i = 0; i < s.model->inputs.size(); ++i) {
    const capi::Port& p = s.model->inputs[i];
    given.push_back(capi::borrowed(inputs[i], p).to(p.device));
  }
  std::vector<Tensor> results = s.runner->run(given);
  expect_count(results.size(), s.model->outputs.size(), "results of the model");
  std::size_t done = 0;
  try {
    for (; done < results.size(); ++done) outputs[done] = capi::given_out(std::move(results[done]));
  } catch (...) {
    while (done) neura_release(std::exchange(outputs[--done], nullptr));
    throw;
  }
}

}  // namespace

extern "C" {

std::uint32_t neura_abi() { return NEURA_ABI; }
const char* neura_version() { return kVersion; }
const char* neura_message() { return out_of_memory ? "neura: out of memory" : message.c_str(); }

int neura_set_threads(std::int32_t threads) {
  return guarded([&] { set_num_threads(threads); });
}
std::int32_t neura_threads() {
  std::int32_t n = 1;
  guarded([&] { n = get_num_threads(); });
  return n;
}

int neura_open(std::uint32_t abi, const char* path, const neura_options* options, neura_model** model) {
  return opened("neura_open", abi, path, "a path", options, model,
                [&](const capi::Opening& o) { return capi::open(std::string(path), o); });
}
int neura_open_bytes(std::uint32_t abi, const void* bytes, std::size_t size, const neura_options* options,
                     neura_model** model) {
  return opened("neura_open_bytes", abi, bytes, "bytes", options, model, [&](const capi::Opening& o) {
    return capi::open({static_cast<const std::byte*>(bytes), size}, o);
  });
}
void neura_close(neura_model* model) {
  if (!model) return;
  delete model;
  --live_models;
}

std::size_t neura_input_count(const neura_model* model) { return count_of(model, &capi::Model::inputs); }
std::size_t neura_output_count(const neura_model* model) { return count_of(model, &capi::Model::outputs); }
int neura_input(const neura_model* model, std::size_t index, neura_port* port) {
  return port_of("neura_input", model, &capi::Model::inputs, index, port);
}
int neura_output(const neura_model* model, std::size_t index, neura_port* port) {
  return port_of("neura_output", model, &capi::Model::outputs, index, port);
}
int neura_metadata(const neura_model* model, const char* key, const char** value) {
  if (value) *value = nullptr;
  return guarded([&] {
    expect(model, "neura_metadata", "a model"), expect(key, "neura_metadata", "a key");
    expect(value, "neura_metadata", "a place for the text");
    const auto at = model->model->metadata.find(key);
    if (at != model->model->metadata.end()) *value = at->second.c_str();
  });
}

int neura_session_open(const neura_model* model, neura_session** session) {
  if (session) *session = nullptr;
  return guarded([&] {
    expect(model, "neura_session_open", "a model"), expect(session, "neura_session_open", "a place for the session");
    const InferenceMode mode;
    auto s = std::make_unique<neura_session>();
    s->model = model->model, s->runner = model->model->runner();
    *session = s.release(), ++live_sessions;
  });
}
void neura_session_close(neura_session* session) {
  if (!session) return;
  delete session;
  --live_sessions;
}

int neura_run(neura_session* session, const DLTensor* const* inputs, std::size_t input_count,
              DLManagedTensorVersioned** outputs, std::size_t output_count) {
  if (outputs) std::fill(outputs, outputs + output_count, nullptr);
  return guarded([&] {
    expect(session, "neura_run", "a session");
    expect_count(input_count, session->model->inputs.size(), "inputs");
    expect_count(output_count, session->model->outputs.size(), "places for outputs");
    if (input_count) expect(inputs, "neura_run", "inputs");
    if (output_count) expect(outputs, "neura_run", "places for outputs");
    run(*session, inputs, outputs);
  });
}
void neura_release(DLManagedTensorVersioned* tensor) {
  if (tensor && tensor->deleter) tensor->deleter(tensor);
}

std::int64_t neura_live(std::int32_t kind) {
  switch (kind) {
    case NEURA_MODELS:
      return live_models;
    case NEURA_SESSIONS:
      return live_sessions;
    case NEURA_TENSORS:
      return capi::live_tensors();
    default:
      return -1;
  }
}

}  // extern "C"
