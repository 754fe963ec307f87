#include "neura/op/autocast.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "neura/core/device_types.h"
#include "neura/core/graph_api.h"
#include "neura/core/pending.h"
#include "neura/core/stream_api.h"
#include "neura/op/call_error.h"
#include "neura/op/cast_scope.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/record.h"
#include "neura/ops/create/copy.h"

namespace neura::operations {
#define NEURA_OPERATION(identifier, ...) const Row& identifier();
#include "neura/op/all_ops.def"
#undef NEURA_OPERATION
}  // namespace neura::operations

namespace neura::amp {
namespace {

using Policies = std::array<Policy, 2>;  // cpu, cuda
struct Line {
  const char* name;
  Policies by;
};
constexpr Line kFunctions[] = {
#define FUNCTION(name, cpu, cuda) {#name, {Policy::cpu, Policy::cuda}},
#include "neura/op/autocast.def"
};

const Policies* policies_of(const Row& row) {
  static const std::unordered_map<const Row*, Policies> lines = {
#define ROW(name, cpu, cuda) {&rows::name, {Policy::cpu, Policy::cuda}},
#define OPERATION(name, cpu, cuda) {&operations::name(), {Policy::cpu, Policy::cuda}},
#include "neura/op/autocast.def"
  };
  const auto found = lines.find(&row);
  return found == lines.end() ? nullptr : &found->second;
}

// The bytes of a parameter in a half dtype. Its history is made again for each use, so that what was first cast without
// recording does not lose its gradient.
struct CachedCast {
  std::uint64_t id;
  std::uint32_t version;
  void* stream;  // on which the cast was queued; work on another stream may run before it
  Tensor bytes;
  bool is_of(const TensorImpl* t, DType dtype, void* now) const {
    const Spec &of = t->spec, &is = bytes.spec();
    const bool same_layout = is.same_shape(of) && ((is.contiguous && of.contiguous) ||
                                                   std::equal(is.strides, is.strides + is.rank, of.strides));
    return same_layout && id == t->id && version == t->storage->version && is.dtype == dtype && stream == now;
  }
};
void* current_stream(Device d) {
  const StreamApi* streams = d.is_cpu() ? nullptr : device_api(d).streams;
  return streams ? streams->current(d.index) : nullptr;
}

constinit thread_local Modes current{};
constinit thread_local int depth = 0;
thread_local std::unordered_map<const void*, CachedCast> cached_casts;  // by the address of the parameter's elements

constexpr DTypeSet kCast = dtypes::halves | bit(DType::float32);  // what autocast touches

bool has_modes(DeviceType d) { return int(d) < int(std::size(current.on)); }  // devices that are registered have none
bool is_on(DeviceType d) { return has_modes(d) && current.on[int(d)]; }
void check_modes(DeviceType d) {
  check<NotImplementedError>(has_modes(d), [&] {
    return "autocast: expected the cpu or cuda, got " + device_type_name(d) + "; cast its tensors by .to(dtype)";
  });
}
// One of a device where it is on.
bool may_cast(const TensorImpl* t) { return bit(t->spec.dtype) & kCast && is_on(t->spec.device.type); }

bool is_parameter(const TensorImpl* t) {
  if (t->spec.dtype != DType::float32 || t->base) return false;
  const Node* node = wanted(t->history);
  return node && node->leaf;
}

// The cast with a history of its own, over bytes that are there.
Tensor joined(const Tensor& x, const Tensor& bytes) {
  Tensor y(bytes.impl()->alias());
  y.impl()->inference = state.active & kInference;
  if (!(state.active & (kNoGrad | kInference))) join_cast(x, y);
  return y;
}

Tensor cast(const Tensor& x, DType dtype) {
  const TensorImpl* t = x.impl();
  if (t->spec.dtype == dtype || !may_cast(t)) return x;
  const bool kept = depth && current.cache && bit(dtype) & dtypes::halves && is_parameter(t);
  if (!kept || is_captured(t->spec.device)) return to(x, dtype);  // a replay must cast again, not read what it found
  settled(t);
  void* const stream = current_stream(t->spec.device);
  if (const auto found = cached_casts.find(t->data());
      found != cached_casts.end() && found->second.is_of(t, dtype, stream))
    return joined(x, found->second.bytes);
  Tensor y = to(x, dtype);
  cached_casts[t->data()] = {t->id, t->storage->version, stream, Tensor(y.impl()->alias())};
  return y;
}

DeviceType device_of(const Call& call) {  // of the first operand that it may cast
  for (int i = 0; i < call.inputs; ++i)
    if (call.in[i].is_tensor() && may_cast(call.in[i].tensor)) return call.in[i].tensor->spec.device.type;
  return DeviceType::cpu;
}

struct Widest {  // of what autocast may cast; nothing else has a say
  std::optional<DType> dtype;
  void see(const TensorImpl* t) {
    if (may_cast(t)) dtype = dtype ? promote(*dtype, t->spec.dtype) : t->spec.dtype;
  }
};

[[noreturn]] void refuse_unsafe(const char* name) {
  throw ValueError(std::string(name) +
                   ": expected another loss inside autocast, whose halves it is not safe in, got this; use " + name +
                   "_with_logits, or turn autocast off around it");
}

struct AutocastOff {
  AutocastOff() { state.active &= ~std::uint32_t{kAutocast}; }
  ~AutocastOff() { state.active |= kAutocast; }
};

}  // namespace

Policy policy_of(const Row& row, DeviceType device) {
  if (!has_modes(device)) return Policy::keep;
  if (const Policies* p = policies_of(row)) return (*p)[std::size_t(device)];
  return row.under_autocast == Precision::low ? Policy::low : Policy::keep;  // a program's own may say so itself
}

void apply_cast(Call& call) {
  const AutocastOff lifted;
  const DeviceType device = device_of(call);
  const Policy policy = policy_of(*call.row, device);
  if (policy == Policy::keep || call.destination != Destination::fresh || !is_on(device)) return apply(call);
  DType dtype = policy == Policy::low ? current.low[int(device)] : DType::float32;
  if (policy == Policy::promote) {
    Widest widest;
    for (int i = 0; i < call.inputs; ++i)
      if (call.in[i].is_tensor()) widest.see(call.in[i].tensor);
    dtype = widest.dtype.value_or(dtype);
  }
  std::vector<Tensor> casts;  // kept until the call has returned
  std::vector<Operand> in(call.in, call.in + call.inputs);
  for (Operand& o : in) {
    if (!o.is_tensor() || o.tensor->spec.dtype == dtype || !may_cast(o.tensor)) continue;
    casts.push_back(cast(Tensor(Ref<TensorImpl>::share(o.tensor)), dtype));
    o = casts.back();
  }
  Call with_casts = call;
  with_casts.in = in.data();
  apply(with_casts);
}

void CastScope::begin(Name name, std::span<const Tensor* const> operands) {
  const Line& line = kFunctions[int(name)];
  Widest widest;
  const Tensor* first = nullptr;
  for (const Tensor* t : operands)
    if (*t && may_cast(t->impl())) widest.see(t->impl()), first = first ? first : t;
  if (!first) return;
  const DeviceType device = first->device().type;
  const Policy policy = line.by[std::size_t(device)];
  if (policy == Policy::parts) return;
  if (policy == Policy::refuse) refuse_unsafe(line.name);
  here_ = true, state.active &= ~std::uint32_t{kAutocast};
  if (policy == Policy::low) to_ = current.low[int(device)];
  else if (policy == Policy::wide) to_ = DType::float32;
  else if (policy == Policy::promote) to_ = widest.dtype;
}
Tensor CastScope::operator()(const Tensor& t) const { return t && to_ ? cast(t, *to_) : t; }

Modes modes() { return current; }
void set_modes(const Modes& m) {
  current = m;
  if (m.on[0] || m.on[1]) state.active |= kAutocast;
  else state.active &= ~std::uint32_t{kAutocast};
}

bool is_autocast_enabled(DeviceType d) { return is_on(d); }
void set_autocast_enabled(DeviceType d, bool on) {
  check_modes(d);
  Modes m = current;
  m.on[int(d)] = on, set_modes(m);
}
DType get_autocast_dtype(DeviceType d) {
  check_modes(d);
  return current.low[int(d)];
}
void set_autocast_dtype(DeviceType d, DType dtype) {
  check_modes(d);
  check<DTypeError>(bit(dtype) & dtypes::halves, [&] {
    return std::string("autocast: expected float16 or bfloat16, got ") + name(dtype) + "; turn it off for float32";
  });
  current.low[int(d)] = dtype;
}
bool is_autocast_cache_enabled() { return current.cache; }
void set_autocast_cache_enabled(bool on) { current.cache = on; }
void clear_autocast_cache() { cached_casts.clear(); }
int enter_autocast() { return ++depth; }
int leave_autocast() {
  if (--depth == 0) clear_autocast_cache();
  return depth;
}

Autocast::Autocast(Device device, std::optional<DType> dtype, bool enabled, bool cache_enabled) : before_(modes()) {
  check_modes(device.type);
  if (dtype) set_autocast_dtype(device.type, *dtype);
  enter_autocast();
  set_autocast_cache_enabled(cache_enabled), set_autocast_enabled(device.type, enabled);
}
Autocast::~Autocast() {
  set_modes(before_);
  leave_autocast();
}

}  // namespace neura::amp
