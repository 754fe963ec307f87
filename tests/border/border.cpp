#include "tests/border/border.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

namespace neura::test {
namespace {

[[maybe_unused]] const bool named =
    (setenv("NEURA_BACKENDS", NEURA_NPU, 1), setenv("NEURA_CUDA_LIBRARY", NEURA_HOST_DEVICE, 1), true);

template <class F> F* symbol(const char* name) {
  (void)Device("npu");  // loads it
  static void* library = dlopen(NEURA_NPU, RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<F*>(dlsym(library, name));
}

int allocate(void*, int32_t, std::size_t bytes, void** data, neura_error*) {
  return *data = std::malloc(bytes + 1), NEURA_OK;
}
void release(void*, int32_t, void* data) { std::free(data); }
int copy(void*, int32_t, void* to, const void* from, std::size_t bytes, neura_error*) {
  return std::memcpy(to, from, bytes), NEURA_OK;
}

}  // namespace

long long kernel_calls() { return symbol<long long()>("npu_kernel_calls")(); }
void let_npu_fail(bool on) { symbol<void(int)>("npu_fail")(on); }

std::int64_t fallbacks(const std::string& device, const std::string& operation) {
  for (const HostFallback& f : host_fallbacks())
    if (f.device == device && f.operation == operation) return f.count;
  return 0;
}

neura_device_type plain_type(const char* name) {
  neura_device_type t{};
  t.size = sizeof t, t.version = NEURA_BORDER_VERSION, t.name = name, t.devices = 1;
  t.allocate = allocate, t.release = release, t.copy_in = copy, t.copy_out = copy;
  return t;
}
std::string refusal_of(const neura_device_type& t) {
  neura_error e{};
  return neura_add_device_type(&t, &e) ? e.text : "";
}

}  // namespace neura::test
