#include "neura/op/destination.h"

#include <string>
#include <utility>

#include "neura/op/call_error.h"

namespace neura {

void check_destination(Call& call, const Spec& result) {
  TensorImpl* out = call.out[0].impl();
  const Spec& o = out->spec;
  if (category(result.dtype) > category(o.dtype))
    refuse<DTypeError>(call,
                       std::string("expected a destination that holds ") + name(result.dtype) + ", got " + o.str());
  if (o.device != result.device)
    refuse<DeviceError>(call, "expected a destination on " + result.device.str() + ", got " + o.str());
  if (o.overlaps())
    refuse<ShapeError>(call, "expected a destination whose elements do not share memory, got " + o.str() +
                                 "; write to a clone() of it");
  if (o.same_shape(result)) return;
  if (call.destination == Destination::in_place || out->base)
    refuse<ShapeError>(call, "expected a destination of " + result.sizes().str() + ", got " + o.str());
  Storage* storage = Storage::make(std::size_t(result.numel) * std::size_t(size_of(o.dtype)), o.device);
  out->spec = Spec::dense(o.dtype, result.sizes(), o.device);
  Ref<Storage>::drop(std::exchange(out->storage, storage));
}

}  // namespace neura
