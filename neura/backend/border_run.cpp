#include "neura/backend/border_run.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "neura/core/error.h"
#include "neura/core/memory.h"
#include "neura/core/settings.h"

namespace neura {
namespace {

constexpr std::size_t kSlack = 256;  // the cpu's kernels touch whole vectors

#define DTYPE(name, ...) static_assert(int(DType::name) < 32);
#include "neura/tables/dtypes.def"
#undef DTYPE
static_assert(int(DType::boolean) == NEURA_BOOL && int(DType::uint8) == NEURA_UINT8 && int(DType::int8) == NEURA_INT8 &&
              int(DType::int16) == NEURA_INT16 && int(DType::int32) == NEURA_INT32 &&
              int(DType::int64) == NEURA_INT64 && int(DType::float16) == NEURA_FLOAT16 &&
              int(DType::bfloat16) == NEURA_BFLOAT16 && int(DType::float32) == NEURA_FLOAT32 &&
              int(DType::float64) == NEURA_FLOAT64 && int(DType::complex64) == NEURA_COMPLEX64 &&
              int(DType::complex128) == NEURA_COMPLEX128 && int(DType::float8_e4m3) == NEURA_FLOAT8_E4M3 &&
              int(DType::float8_e5m2) == NEURA_FLOAT8_E5M2 && int(DType::uint16) == NEURA_UINT16 &&
              int(DType::uint32) == NEURA_UINT32 && int(DType::uint64) == NEURA_UINT64);

// The views of one call, with memory for their strides.
struct Views {
  std::vector<neura_view> all;
  std::vector<std::int64_t> numbers;  // sizes and strides, never moved
  explicit Views(std::size_t views) : all(views), numbers(views * 2 * kMaxRank) {}

  void set(std::size_t k, char* data, DType dtype, int rank, bool on_host) {
    std::int64_t* sizes = &numbers[k * 2 * kMaxRank];
    all[k] = {data,  std::int32_t(dtype), data ? rank : -1, on_host, std::int32_t(size_of(dtype)), 1,
              sizes, sizes + kMaxRank};
  }
  void dimension(std::size_t k, int d, std::int64_t size, std::int64_t stride) {
    std::int64_t* sizes = &numbers[k * 2 * kMaxRank];
    sizes[d] = size, sizes[kMaxRank + d] = stride, all[k].count *= size;
  }
  void set(std::size_t k, const View& v, Device device) {
    if (!v) return set(k, nullptr, DType::float32, -1, false);
    set(k, v.data, v.dtype(), v.rank(), v.spec->device != device);
    for (int d = 0; d < v.rank(); ++d)
      dimension(k, d, v.size(d), all[k].on_host ? 0 : v.stride(d) * size_of(v.dtype()));
  }
  // A number on the host has the dtype of the computation, independent of the dtypes of the kernel.
  bool fit(std::uint32_t dtypes) const {
    for (const neura_view& v : all)
      if (dtypes && v.rank >= 0 && !v.on_host && !(dtypes >> v.dtype & 1)) return false;
    return true;
  }
};

bool run(const RegisteredType& t, const neura_kernel& kernel, Device device, const Views& views, std::size_t inputs,
         bool pointwise, const void* attributes) {
  if (!views.fit(kernel.dtypes)) return false;
  neura_error error{};
  const neura_call call{sizeof(neura_call),
                        kernel.name,
                        device.index,
                        std::int32_t(inputs),
                        std::int32_t(views.all.size() - inputs),
                        pointwise,
                        views.all.data(),
                        views.all.data() + inputs,
                        current_border_stream(device),
                        detail::border_host,
                        attributes,
                        &error};
  const int status = kernel.run(t.table.self, &call);
  if (status == NEURA_NONE) return false;
  if (status) throw_status(status, error, kernel.name);
  return true;
}
const neura_kernel* find(const RegisteredType& t, const char* name) {
  const auto found = t.kernels.find(name);
  return found == t.kernels.end() ? nullptr : found->second;
}

struct Counts {
  std::mutex lock;
  std::map<std::pair<std::string, std::string>, std::int64_t> calls;
};
Counts& counts() {
  static Counts& all = *new Counts;
  return all;
}
std::atomic<bool>& forbidden() {
  static std::atomic<bool> on = setting_on(Setting::forbid_host_fallback, false);
  return on;
}

std::size_t bytes_spanned(const Spec& s) { return std::size_t(s.span()) * std::size_t(size_of(s.dtype)); }
std::size_t bytes_spanned(const Plan& p, int k) {
  if (!p.numel) return 0;
  std::int64_t last = 0;
  for (int d = 0; d < p.rank; ++d) last += (p.shape[d] - 1) * p.strides[d][k];
  return std::size_t(last) + std::size_t(size_of(p.dtype[k]));
}

}  // namespace

bool run_border_kernel(Device device, const char* name, std::span<const View> in, std::span<const View> out,
                       const void* attributes) {
  const RegisteredType& t = registered(device.type);
  const neura_kernel* kernel = find(t, name);
  if (!kernel) return false;
  Views views(in.size() + out.size());
  for (std::size_t k = 0; k < in.size(); ++k) views.set(k, in[k], device);
  for (std::size_t k = 0; k < out.size(); ++k) views.set(in.size() + k, out[k], device);
  return run(t, *kernel, device, views, in.size(), false, attributes);
}

bool run_border_kernel(Device device, const char* name, const Plan& p, const void* attributes) {
  const RegisteredType& t = registered(device.type);
  const neura_kernel* kernel = find(t, name);
  if (!kernel) return false;
  const auto inputs = std::size_t(p.operands - 1);
  Views views(inputs + 1);
  for (int k = 0; k < p.operands; ++k) {
    const std::size_t at = k ? std::size_t(k - 1) : inputs;
    views.set(at, p.data[k], p.dtype[k], p.rank, p.host >> k & 1);
    for (int d = 0; p.data[k] && d < p.rank; ++d)
      views.dimension(at, d, p.shape[d], p.host >> k & 1 ? 0 : p.strides[d][k]);
  }
  return run(t, *kernel, device, views, inputs, true, attributes);
}

void count_host_fallback(Device device, const char* name) {
  const std::string& type = device_type_name(device.type);
  check<NotImplementedError>(!forbidden(), [&] {
    return std::string(name) + ": expected a kernel of the back end of " + type +
           " for these operands, got none, and that the host computes instead is forbidden; add a kernel, or call "
           "forbid_host_fallback(false)";
  });
  const std::lock_guard hold(counts().lock);
  ++counts().calls[{type, name}];
}
std::vector<HostFallback> host_fallbacks() {
  const std::lock_guard hold(counts().lock);
  std::vector<HostFallback> all;
  for (const auto& [key, count] : counts().calls) all.push_back({key.first, key.second, count});
  return all;
}
void reset_host_fallbacks() {
  const std::lock_guard hold(counts().lock);
  counts().calls.clear();
}
bool forbid_host_fallback(bool on) { return forbidden().exchange(on); }

HostCopies::~HostCopies() {
  for (const Block& b : blocks_) memory::release(b.data, b.bytes);
}
char* HostCopies::take(Device device, char* data, std::size_t bytes, bool read) {
  blocks_.push_back({memory::allocate(bytes + kSlack), bytes + kSlack});
  char* here = static_cast<char*>(blocks_.back().data);
  if (read && bytes) throw_failure(registered_api(device).copy(Device(), here, device, data, bytes), "copy");
  return here;
}
View HostCopies::take(const View& v, bool read) {
  if (!v) return v;
  specs_.push_back(std::make_unique<Spec>(*v.spec));
  specs_.back()->device = Device();
  const bool there = is_registered(v.spec->device);  // else a number of the cpu
  return {there ? take(v.spec->device, v.data, bytes_spanned(*v.spec), read) : v.data, specs_.back().get()};
}
void HostCopies::give_back(const View& there, const View& here) const {
  const Device device = there.spec->device;
  if (!is_registered(device)) return;  // a result of the cpu is where it belongs
  const std::size_t bytes = bytes_spanned(*there.spec);
  if (bytes) throw_failure(registered_api(device).copy(device, there.data, Device(), here.data, bytes), "copy");
}

void run_plan_on_host(Device device, const Plan& there, LineFn* fn, const double* attributes, int cost) {
  HostCopies copies;
  Plan here = there;
  here.host = 0;
  for (int k = 0; k < there.operands; ++k)
    if (there.data[k] && !(there.host >> k & 1))
      here.data[k] = copies.take(device, there.data[k], bytes_spanned(there, k), true);
  execute(here, fn, attributes, cost);
  const std::size_t bytes = bytes_spanned(there, 0);
  if (bytes) throw_failure(registered_api(device).copy(device, there.data[0], Device(), here.data[0], bytes), "copy");
}

void assign_registered(const View& to, const View& from) {
  const Device device = to.spec->device;
  if (!to.numel()) return;
  const bool across = from.spec->device != device,
             alike = to.dtype() == from.dtype() && to.spec->same_shape(*from.spec);
  const bool dense = to.spec->contiguous && (across || (alike && from.spec->contiguous));
  if (dense && !across) {
    throw_failure(registered_api(device).copy(device, to.data, device, from.data, to.spec->bytes()), "copy");
    return;
  }
  const DType kept = from.dtype();
  if (run_border_kernel(device, "copy", make_plan(to, to.dtype(), &from, &kept, 1), nullptr)) return;
  if (!dense) count_host_fallback(device, "copy");  // a number in dense memory is a copy to the device like any other
  HostCopies copies;
  const View source = copies.take(from, true), target = copies.take(to, !to.spec->dense());
  assign_on_cpu(target, source);
  copies.give_back(to, target);
}

}  // namespace neura
