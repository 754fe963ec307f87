#include "neura/op/destination.h"

#include <string>
#include <utility>

#include "neura/core/state.h"
#include "neura/op/call_error.h"
#include "neura/op/record.h"

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

void check_writes(const Call& call) {
  const bool recording = !kOnlyPrograms && !(state.active & (kNoGrad | kInference));
  for (int i = 0; i < call.inputs; ++i) {
    if (!call.row->writes_input(i) || !call.in[i].is_tensor()) continue;
    TensorImpl* t = call.in[i].tensor;
    if (recording && needs_gradient(t))
      refuse<InplaceError>(call, "expected " + operand_name(*call.row, i) +
                                     ", which it writes, to need no gradient, got one that does; write under NoGrad");
    if (recording && t->inference)
      refuse<InplaceError>(call, "expected " + operand_name(*call.row, i) +
                                     ", which it writes, to be made outside of inference mode, got one made inside; "
                                     "clone() it");
  }
}

void announce_writes(const Call& call) {
  check_writes(call);
  for (int i = 0; i < call.inputs; ++i)  // lazily shared bytes may need memory
    if (call.row->writes_input(i) && call.in[i].is_tensor()) call.in[i].tensor->storage->own();
  for (int i = 0; i < call.inputs; ++i) {
    if (!call.row->writes_input(i) || !call.in[i].is_tensor()) continue;
    TensorImpl* t = call.in[i].tensor;
    t->written(call.row), t->id = ++state.id;
  }
}

}  // namespace neura
