#include "neura/cuda/device.h"

#include "neura/backend/plugin.h"
#include "neura/core/host.h"
#include "neura/cuda/tables.h"

namespace neura::cuda {
namespace {

template <class Table> const Table& table_of(const Table* DeviceApi::*which, Device d, const char* what) {
  check<ValueError>(d.is_cuda(), [&] { return std::string(what) + ": expected a device of CUDA, got " + d.str(); });
  const Table* table = device_api(d).*which;
  check<NotImplementedError>(table, [&] {
    return std::string(what) + ": expected a device that has them, got " + d.str() + " without; use it as it is";
  });
  return *table;
}

}  // namespace

const StreamApi& streams_of(Device d) { return table_of(&DeviceApi::streams, d, "streams"); }
const PinnedApi& pinned() { return table_of(&DeviceApi::pinned, DeviceType::cuda, "pinned memory"); }
const GraphApi& graphs_of(Device d) { return table_of(&DeviceApi::graphs, d, "graphs"); }

bool is_available() { return unavailable(DeviceType::cuda).empty(); }
int device_count() { return is_available() ? device_api(DeviceType::cuda).count() : 0; }
Device current_device() { return {DeviceType::cuda, current_cuda_index()}; }
void set_device(Device d) {
  check<ValueError>(d.is_cuda(), [&] { return "set_device: expected a device of CUDA, got " + d.str(); });
  device_api(d);  // DeviceError if it is not there
  set_current_cuda_index(d.index);
}
void synchronize(Device d) {
  const Unlocked unlocked(true);
  throw_failure(device_api(d).synchronize(d.index), "synchronize");
}

}  // namespace neura::cuda
