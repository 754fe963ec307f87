#include "neura/core/device_api.h"

#include "neura/core/error.h"
#include "neura/core/meta.h"

namespace neura {

const DeviceApi& device_api(Device device) {
  if (is_meta(device)) return meta_api();
  check<DeviceError>(detail::find_device_api, [&] { return "device: expected the cpu, got " + device.str(); });
  return detail::find_device_api(device);
}

void throw_failure(Failed failure, const char* op) {
  if (!failure) return;
  const bool late = failure->kind == DeviceFailure::index;
  if (late && !*failure->op) throw ValueError(failure->text);  // a whole sentence, of ops/reduce/expect.h
  const std::string text = std::string(late ? failure->op : op) + ": " + failure->text;
  if (late) throw IndexError(text);
  if (failure->kind == DeviceFailure::memory) throw OutOfMemoryError(text);
  if (failure->kind == DeviceFailure::absent) throw NotImplementedError(text);
  if (failure->kind == DeviceFailure::singular) throw LinAlgError(text);
  throw CudaError(text);
}

}  // namespace neura
