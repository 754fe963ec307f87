#include "neura/backend/transfer.h"

#include "neura/backend/backend.h"
#include "neura/core/interpreter.h"
#include "neura/core/meta.h"
#include "neura/core/pinned_api.h"
#include "neura/core/storage.h"

namespace neura {
namespace {

struct Staging {  // dense memory of a device for one copy
  Spec spec;
  Storage* storage;
  Staging(DType dtype, const Spec& like, Device device)
      : spec(Spec::dense(dtype, like.sizes(), device)), storage(Storage::make(spec.bytes(), device)) {}
  Staging(const Staging&) = delete;
  ~Staging() { Ref<Storage>::drop(storage); }
  View view() const { return {static_cast<char*>(storage->data), &spec}; }
};

void assign_on(Device device, const View& to, const View& from) {
  if (device.is_cpu()) return assign_on_cpu(to, from);
  if (is_meta(device)) return;
  throw_failure(backend_of(device).assign(to, from), "copy");
}

// Bytes cross as they are, densely; strides and conversions are each device's own work, and the narrower dtype travels.
void cross(const View& to, const View& from, bool non_blocking) {
  const Device there = to.spec->device, here = from.spec->device;
  if (!here.is_cpu() && !there.is_cpu() && here.type != there.type) {  // through the host
    const Staging arrived(from.dtype(), *from.spec, Device());
    cross(arrived.view(), from, false);
    return assign(to, arrived.view());
  }
  const bool narrows = size_of(to.dtype()) < size_of(from.dtype());
  const DType travels = narrows ? to.dtype() : from.dtype();
  if (!from.spec->contiguous || from.dtype() != travels) {
    const Staging packed(travels, *from.spec, here);
    assign_on(here, packed.view(), from);
    return cross(to, packed.view(), non_blocking && !here.is_cpu());  // its bytes go when this returns
  }
  if (!to.spec->contiguous || to.dtype() != travels || !to.spec->same_shape(*from.spec)) {
    const Staging arrived(travels, *from.spec, there);
    cross(arrived.view(), from, non_blocking && !there.is_cpu());
    return assign_on(there, to, arrived.view());
  }
  const DeviceApi& api = device_api(here.is_cpu() ? there : here);
  const std::size_t bytes = to.spec->bytes();
  const auto copy = non_blocking && api.pinned ? api.pinned->copy : api.copy;
  throw_failure(copy(there, to.data, here, from.data, bytes), "copy");
}

}  // namespace

void assign(const View& to, const View& from, bool non_blocking) {
  const Device there = to.spec->device, here = from.spec->device;
  // A number of the host goes as an argument of the kernel: no copy, no waiting, and a graph can capture it.
  if (there == here || (here.is_cpu() && from.numel() == 1)) return assign_on(there, to, from);
  check_values("copy", here, *from.spec);
  if (to.numel() && !is_meta(there)) cross(to, from, non_blocking);
}

}  // namespace neura
