#include "neura/op/border.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <optional>
#include <utility>

#ifndef __EMSCRIPTEN__
#include <dlfcn.h>
#endif

#include "neura/core/error.h"
#include "neura/core/meta.h"
#include "neura/core/settings.h"
#include "neura/op/attributes.h"
#include "neura/op/call_error.h"

namespace neura {
namespace {

struct CallAttributes {  // what neura_call::attributes points to
  const Row* row;
  const void* op;
  mutable std::optional<Attributes> read;
  const Attributes& get() const {
    if (!read) read = Attributes::of(*row, op);
    return *read;
  }
};
const Attributes& attributes_of(const neura_call* call) {
  return static_cast<const CallAttributes*>(call->attributes)->get();
}
using Field = Attributes::Field;
const Field* find(const neura_call* call, std::string_view path) {
  return call->attributes ? attributes_of(call).find(path) : nullptr;
}
bool is_whole(const Field& f) {
  return f.kind == Attributes::Kind::boolean || f.kind == Attributes::Kind::integer ||
         f.kind == Attributes::Kind::dtype;
}

int integer(const neura_call* call, const char* name, std::int64_t* value) {
  const Field* f = find(call, name);
  if (!f || !is_whole(*f)) return 0;
  return *value = f->whole, 1;
}
int real(const neura_call* call, const char* name, double* value) {
  const Field* f = find(call, name);
  if (!f || !(is_whole(*f) || f->kind == Attributes::Kind::real)) return 0;
  return *value = is_whole(*f) ? double(f->whole) : f->number, 1;
}
std::int64_t integers(const neura_call* call, const char* name, std::int64_t* values, std::size_t most) {
  const Field* f = find(call, name);
  if (!f || f->kind != Attributes::Kind::group) return -1;
  for (std::size_t i = 0; i < f->fields; ++i)
    if (!is_whole(f[1 + i])) return -1;
  for (std::size_t i = 0; i < std::min(most, f->fields); ++i) values[i] = f[1 + i].whole;
  return std::int64_t(f->fields);
}
std::size_t text(const neura_call* call, char* to, std::size_t most) {
  const std::string all = call->attributes ? attributes_of(call).str() : "";
  if (most) std::snprintf(to, most, "%s", all.c_str());
  return all.size();
}
double number(const neura_view* v) {
  return v->on_host ? Scalar::load(DType(v->dtype), static_cast<const char*>(v->data)).real() : 0;
}

int add(const neura_device_type* t, neura_error* error) {
  try {
    check<ValueError>(t, [] { return "add_device_type: expected a table, got null"; });
    return add_device_type(*t), NEURA_OK;
  } catch (const std::exception& e) {
    if (error) std::snprintf(error->text, sizeof error->text, "%s", e.what());
    return NEURA_FAILED;
  }
}

constexpr neura_host kHost{sizeof(neura_host), NEURA_BORDER_VERSION, add, integer, real, integers, text, number};

// Of copies alone, which are each device's own: they run as they are.
bool only_copies(const Row& row) { return row.across_devices || row.is_copy; }

void run_on_host(const Call& call, Device device, const View* in, const View* out) {
  const Row& row = *call.row;
  count_host_fallback(device, row.name);
  HostCopies copies;
  std::vector<View> here(std::size_t(call.inputs));
  View results[kMaxOutputs];
  for (int i = 0; i < call.inputs; ++i) here[std::size_t(i)] = copies.take(in[i], true);
  for (int i = 0; i < row.outputs; ++i) results[i] = copies.take(out[i], !out[i].spec->dense());
  Context context(cpu_backend(), Device(), row.name);
  row.run(call.op, context, here.data(), call.inputs, results);
  report_failure(call, context);
  for (int i = 0; i < row.outputs; ++i) copies.give_back(out[i], results[i]);
  for (int i = 0; i < call.inputs; ++i)
    if (in[i] && row.writes_input(i)) copies.give_back(in[i], here[std::size_t(i)]);
}

std::recursive_mutex& loading() {
  static std::recursive_mutex& lock = *new std::recursive_mutex;
  return lock;
}
void load_named() {
  static bool done = false;  // under the lock
  const std::lock_guard hold(loading());
  const char* named = setting(Setting::backends);
  if (std::exchange(done, true) || !named) return;
  std::string_view rest = named;
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    if (colon) load_backend(std::string(rest.substr(0, colon)));
    rest = colon == std::string_view::npos ? "" : rest.substr(colon + 1);
  }
}
[[maybe_unused]] const bool known =
    kOnlyCpu || (detail::border_host = &kHost, detail::load_named_backends = load_named, true);

}  // namespace

void load_backend(const std::string& path) {
#ifdef __EMSCRIPTEN__
  throw NotImplementedError("load_backend: expected a system with shared libraries, got WebAssembly (" + path + ")");
#else
  const std::lock_guard hold(loading());
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  check<IoError>(library, [&] {
    const char* why = dlerror();
    return "load_backend: expected a library that can be loaded, got " + path + " (" + (why ? why : "no reason") + ")";
  });
  const auto entry = reinterpret_cast<neura_backend_entry*>(dlsym(library, "neura_backend"));
  if (!entry) {
    dlclose(library);
    throw FormatError("load_backend: expected a library that exports neura_backend, got " + path +
                      "; see docs/backend.md");
  }
  neura_error error{};
  check<ValueError>(entry(&kHost, &error) == NEURA_OK, [&] {  // never unloaded: it may have registered something
    return "load_backend: expected " + path + " to register its device types, got \"" + error.text + "\"";
  });
#endif
}

// On meta there is nothing to run, unless a result is a number of the host's.
static bool run_nothing(const Call& call, const View* out) {
  for (int i = 0; i < call.row->outputs; ++i)
    for (int k = 0; k < call.inputs && !is_meta(out[i].spec->device); ++k)
      if (call.in[k].is_tensor()) refuse_values(call.row->name, call.in[k].tensor->spec);
  return true;
}

bool run_registered(Call& call, Device device, const View* in, const View* out) {
  const Row& row = *call.row;
  if (is_meta(device)) return run_nothing(call, out);
  if (only_copies(row)) {
    Context context(registered_backend(), device, row.name);
    row.run(call.op, context, in, call.inputs, out);
    report_failure(call, context);
    return true;
  }
  const CallAttributes attributes{&row, call.op, {}};
  if (run_border_kernel(device, row.name, {in, std::size_t(call.inputs)}, {out, row.outputs}, &attributes)) return true;
  if (row.define && call.destination == Destination::fresh && !row.written_inputs) return false;
  return run_on_host(call, device, in, out), true;
}

void run_registered_row(const Row& row, Device device, const Plan& plan, LineFn* fn, const double* values) {
  if (!plan.numel || is_meta(device)) return;
  const CallAttributes attributes{&row, values, {}};
  if (run_border_kernel(device, row.name, plan, &attributes)) return;
  count_host_fallback(device, row.name);
  run_plan_on_host(device, plan, fn, values, row.cost);
}

void report_failure(const Call& call, const Context& context) {
  if (context.failed)
    refuse<IndexError>(call, "expected indices from 0 to " + std::to_string(context.bound() - 1) + ", got " +
                                 std::to_string(context.value()));
  throw_failure(context.failure, call.row->name);
}

}  // namespace neura

extern "C" int neura_add_device_type(const neura_device_type* type, neura_error* error) {
  return neura::detail::border_host->add_device_type(type, error);
}
