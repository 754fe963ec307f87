#include "neura/cuda/device.h"

#include "neura/backend/plugin.h"
#include "neura/core/interpreter.h"
#include "neura/cuda/tables.h"
#include "neura/op/defer.h"
#include "neura/op/launch.h"

namespace neura::cuda {
namespace {

const DeviceApi& api_of(Device d, const char* what) {
  check<ValueError>(d.is_cuda(), [&] { return std::string(what) + ": expected a device of CUDA, got " + d.str(); });
  return device_api(d);
}
template <class Table> const Table& there(const Table* table, Device d, const char* what) {
  check<NotImplementedError>(table, [&] {
    return std::string(what) + ": expected a device that has them, got " + d.str() + " without; use it as it is";
  });
  return *table;
}

// Calls of a compiled function belong on the stream that was current when they were made, before what is asked of it.
void run_what_waits() {
  if (Deferral* d = deferral()) d->flush("a stream is asked");
  flush_launches("a stream is asked");
}

}  // namespace

const StreamApi& streams_of(Device d) {
  run_what_waits();
  return there(api_of(d, "streams").streams, d, "streams");
}
const PinnedApi& pinned() {
  const Device d = DeviceType::cuda;
  return there(api_of(d, "pinned memory").pinned, d, "pinned memory");
}
const GraphApi& graphs_of(Device d) {
  run_what_waits();
  return there(api_of(d, "graphs").graphs, d, "graphs");
}
const LibraryApi& libraries_of(Device d) { return there(streams_of(d).libraries, d, "kernels"); }

bool is_available() { return unavailable(DeviceType::cuda).empty(); }
int device_count() { return is_available() ? device_api(DeviceType::cuda).count() : 0; }
Device current_device() { return {DeviceType::cuda, current_cuda_index()}; }
void set_device(Device d) {
  check<ValueError>(d.is_cuda(), [&] { return "set_device: expected a device of CUDA, got " + d.str(); });
  device_api(d);  // DeviceError if it is not there
  set_current_cuda_index(d.index);
}
void synchronize(Device d) {
  run_what_waits();
  const GilRelease unlocked(true);
  throw_failure(device_api(d).synchronize(d.index), "synchronize");
}

}  // namespace neura::cuda
