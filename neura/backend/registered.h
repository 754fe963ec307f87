// Device types that back ends registered through the C border (backend/border.h): their tables, as the library sees
// them.
#pragma once
#include <string>
#include <unordered_map>

#include "neura/backend/backend.h"
#include "neura/backend/border.h"
#include "neura/core/device_types.h"

namespace neura {

struct RegisteredType {
  neura_device_type table;  // null where the back end's own is smaller
  neura_streams streams{};
  neura_collectives collectives{};
  DeviceType type;
  std::string name;
  std::unordered_map<std::string, const neura_kernel*> kernels;
};

// Copies the table. ValueError where an entry is missing, the version is another, or the name is taken.
DeviceType add_device_type(const neura_device_type&);
const RegisteredType& registered(DeviceType);  // of a device for which is_registered
// The memory of a registered device as core sees it. DeviceError where there is no device of that index.
const DeviceApi& registered_api(Device);
// Tables of the cpu's kernels, with copies of these devices' own: kernels run by border_run.h.
const Backend& registered_backend();

// Throws what a status of the border means, as "<op>: <the back end's sentence>".
[[noreturn]] void throw_status(int status, const neura_error&, const char* op);
template <class F> void border_call(const char* op, F&& f) {
  neura_error e{};
  if (const int status = f(&e)) throw_status(status, e, op);
}

// This thread's current stream of a registered device, which its kernels get; null: the default one.
void* current_border_stream(Device);
void* set_current_border_stream(Device, void* stream);  // what it was

}  // namespace neura
