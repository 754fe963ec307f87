#include "neura/capi/tensors.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "neura/core/dlpack.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/shape/view.h"

namespace neura::capi {
namespace {

std::atomic<std::int64_t> live{0};

struct Output {
  DLManagedTensorVersioned managed{};
  Tensor tensor;
  std::int64_t shape[kMaxRank], strides[kMaxRank];
};
void release(DLManagedTensorVersioned* m) {
  delete static_cast<Output*>(m->manager_ctx);
  --live;
}

std::string sizes_text(const std::vector<std::int64_t>& sizes) {
  std::string text;
  for (const std::int64_t n : sizes) text += (text.empty() ? "" : ", ") + (n < 0 ? "any" : std::to_string(n));
  return "[" + text + "]";
}
std::string wanted(const Port& p) {
  return "neura_run: expected " + std::string(name(p.dtype)) + " " + sizes_text(p.sizes) + " as \"" + p.name +
         "\", got ";
}
void check_sizes(const DLTensor& t, const Port& p) {
  bool fits = t.ndim >= 0 && t.ndim <= kMaxRank && std::size_t(t.ndim) == p.sizes.size();
  if (t.ndim > 0) check<ValueError>(t.shape, [&] { return wanted(p) + "a tensor whose shape is null"; });
  std::int64_t span = size_of(p.dtype);  // bytes
  for (int d = 0; fits && d < t.ndim; ++d) {
    const std::int64_t n = t.shape[d];
    fits = n >= 0 && (p.sizes[std::size_t(d)] < 0 || p.sizes[std::size_t(d)] == n) &&
           !__builtin_mul_overflow(span, std::max<std::int64_t>(n, 1), &span);
  }
  check<ShapeError>(fits, [&] {
    const auto rank = std::size_t(std::clamp<std::int32_t>(t.ndim, 0, kMaxRank));
    return wanted(p) + (t.ndim > kMaxRank || t.ndim < 0 ? std::to_string(t.ndim) + " dimensions"
                                                        : sizes_text({t.shape, t.shape + rank}));
  });
}
Spec spec_of(const DLTensor& t, const Port& p) {
  Spec s;
  s.dtype = p.dtype, s.rank = std::uint8_t(t.ndim);
  std::int64_t rows = 1;
  for (int d = t.ndim; d-- > 0; rows *= std::max<std::int64_t>(t.shape[d], 1)) {
    s.shape[d] = t.shape[d], s.strides[d] = t.strides ? t.strides[d] : rows;
    check<ValueError>(s.strides[d] >= 0 || s.shape[d] < 2,
                      [&] { return wanted(p) + "a stride of " + std::to_string(s.strides[d]) + "; copy it first"; });
    if (s.shape[d] < 2) s.strides[d] = rows;  // says nothing
  }
  s.finish();
  return s;
}

}  // namespace

DLDataType dlpack_of(DType d) {
  const DlpackCode& c = dlpack_code(d);
  return {c.code, c.bits, 1};
}

Tensor borrowed(const DLTensor* t, const Port& p) {
  check<ValueError>(t, [&] { return wanted(p) + "null"; });
  const DLDataType want = dlpack_of(p.dtype);
  check<DTypeError>(t->dtype.code == want.code && t->dtype.bits == want.bits && t->dtype.lanes == 1, [&] {
    const DlpackCode* c = dlpack_code(t->dtype.code, t->dtype.bits, t->dtype.lanes);
    return wanted(p) + (c ? name(c->dtype)
                          : "DLPack's type of code " + std::to_string(t->dtype.code) + ", " +
                                std::to_string(t->dtype.bits) + " bits, " + std::to_string(t->dtype.lanes) + " lanes");
  });
  check<DeviceError>(t->device.device_type == kDLCPU, [&] {
    return wanted(p) + "memory of device type " + std::to_string(int(t->device.device_type)) + "; copy it to the cpu";
  });
  check_sizes(*t, p);
  const Spec spec = spec_of(*t, p);
  check<ValueError>(t->data || !spec.numel, [&] { return wanted(p) + "a tensor whose data is null"; });
  if (!spec.numel) return Tensor::empty(Spec::dense(p.dtype, spec.sizes()));
  char* data = static_cast<char*>(t->data) + t->byte_offset;
  const auto bytes = std::size_t(spec.span() * size_of(spec.dtype));
  if (reinterpret_cast<std::uintptr_t>(data) % std::uintptr_t(size_of(to_real(spec.dtype))) != 0) {
    const Tensor copied = Tensor::empty(Spec::dense(p.dtype, Shape{spec.span()}));
    std::memcpy(copied.raw_data(), data, bytes);
    return as_strided(copied, spec.sizes(), std::span(spec.strides, spec.rank));
  }
  return Tensor(Ref<TensorImpl>::adopt(TensorImpl::make(spec, Storage::wrap(
                                                                  data, bytes, [](Storage*) {}, nullptr))));
}

DLManagedTensorVersioned* given_out(Tensor t) {
  t = contiguous(t.to(Device()));
  const auto alone = [](const Tensor& x) {
    const Storage& s = *x.impl()->storage;
    return x.impl()->count == 1 && s.count == 1 && !s.release;  // the last: memory from elsewhere
  };
  if (!alone(t)) t = t.clone();
  auto o = std::make_unique<Output>();
  o->tensor = std::move(t);
  const Spec& s = o->tensor.spec();
  std::copy(s.shape, s.shape + s.rank, o->shape), std::copy(s.strides, s.strides + s.rank, o->strides);
  o->managed.version = {1, 0};
  o->managed.manager_ctx = o.get();
  o->managed.deleter = release;
  o->managed.dl_tensor = {o->tensor.raw_data(), {kDLCPU, 0}, s.rank, dlpack_of(s.dtype), o->shape, o->strides, 0};
  ++live;
  return &o.release()->managed;
}

std::int64_t live_tensors() { return live; }

}  // namespace neura::capi
