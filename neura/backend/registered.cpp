#include "neura/backend/registered.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "neura/backend/border_run.h"
#include "neura/core/error.h"
#include "neura/core/memory.h"

namespace neura {
namespace {

std::atomic<const RegisteredType*> types[kMaxRegistered];

const neura_device_type& table(int slot) { return types[slot].load(std::memory_order_acquire)->table; }
// The functions of core's table get no type: each type has functions of its own. They throw what goes wrong.
template <int slot> struct Api {
  static int count() { return table(slot).devices; }
  static Failed info(int index, DeviceInfo* i) {
    neura_memory m{};
    m.size = sizeof m;
    const neura_device_type& t = table(slot);
    if (t.memory && t.memory(t.self, index, &m)) m.total = 0;
    *i = {{}, 0, 0, 0, 0, 0, std::size_t(m.total)};
    std::snprintf(i->name, sizeof i->name, "%s", t.name);
    return nullptr;
  }
  static Failed allocate(int index, std::size_t bytes, void** data, std::size_t* capacity) {
    const neura_device_type& t = table(slot);
    border_call("allocate", [&](neura_error* e) { return t.allocate(t.self, index, bytes, data, e); });
    return *capacity = bytes, nullptr;
  }
  static void release(int index, void* data) { table(slot).release(table(slot).self, index, data); }
  static Failed copy(Device to_device, void* to, Device from_device, const void* from, std::size_t bytes) {
    const neura_device_type& t = table(slot);
    if (t.copy && to_device == from_device) {
      border_call("copy", [&](neura_error* e) { return t.copy(t.self, to_device.index, to, from, bytes, e); });
      return nullptr;
    }
    std::unique_ptr<char[]> here;  // between two devices: through the host
    if (!from_device.is_cpu() && !to_device.is_cpu()) here.reset(new char[bytes + 1]);
    void* const lands = here ? here.get() : to;
    if (!from_device.is_cpu())
      border_call("copy", [&](neura_error* e) { return t.copy_out(t.self, from_device.index, lands, from, bytes, e); });
    if (!to_device.is_cpu())
      border_call("copy", [&](neura_error* e) {
        return t.copy_in(t.self, to_device.index, to, here ? here.get() : from, bytes, e);
      });
    return nullptr;
  }
  static Failed synchronize(int index) {
    const neura_device_type& t = table(slot);
    if (t.synchronize) border_call("synchronize", [&](neura_error* e) { return t.synchronize(t.self, index, e); });
    return nullptr;
  }
  static Failed memory(int index, DeviceMemory* to) {
    neura_memory m{};
    m.size = sizeof m;
    const neura_device_type& t = table(slot);
    check<NotImplementedError>(t.memory && !t.memory(t.self, index, &m), [&] {
      return std::string("memory: expected a back end that counts its memory, got that of ") + t.name +
             ", which does not";
    });
    const auto held = std::size_t(m.allocated), peak = std::size_t(m.allocated_peak), total = std::size_t(m.total);
    *to = {held, peak, held, peak, total - std::min(held, total), total, 0};
    return nullptr;
  }
  static void reset_peak(int) {}
  static Failed empty_cache() { return nullptr; }
  static constexpr DeviceApi api{count, info, allocate, release, copy, synchronize, memory, reset_peak, empty_cache};
};
template <int... slot> const DeviceApi& api_of(int wanted, std::integer_sequence<int, slot...>) {
  static constexpr const DeviceApi* all[] = {&Api<slot>::api...};
  return *all[wanted];
}

// A table of the border, cut or filled with nulls to the size that is known here.
template <class T> T fitted(const T& theirs) {
  T t{};
  std::memcpy(static_cast<void*>(&t), &theirs, std::min(theirs.size, sizeof t));
  return t;
}

std::map<Device, void*, bool (*)(Device, Device)>& streams() {
  thread_local const auto all = std::make_unique<std::map<Device, void*, bool (*)(Device, Device)>>(
      [](Device a, Device b) { return std::pair(a.type, a.index) < std::pair(b.type, b.index); });
  return *all;
}

void check_entries(const neura_device_type& t) {
  check<ValueError>(t.version == NEURA_BORDER_VERSION, [&] {
    return "add_device_type: expected version " + std::to_string(NEURA_BORDER_VERSION) + " of the border, got " +
           std::to_string(t.version) + "; compile the back end with the border.h of this Neura";
  });
  check<ValueError>(t.name && t.allocate && t.release && t.copy_in && t.copy_out, [] {
    return "add_device_type: expected a name, allocate, release, copy_in and copy_out, got null for one of them";
  });
  check<ValueError>(t.devices > 0 && t.devices <= 255,
                    [&] { return "add_device_type: expected 1 to 255 devices, got " + std::to_string(t.devices); });
  for (std::size_t i = 0; i < t.kernel_count; ++i)
    check<ValueError>(t.kernels && t.kernels[i].name && t.kernels[i].run, [&] {
      return "add_device_type: expected a name and a function for each kernel, got null in number " + std::to_string(i);
    });
}

}  // namespace

DeviceType add_device_type(const neura_device_type& theirs) {
  constexpr std::size_t needed = offsetof(neura_device_type, copy);
  check<ValueError>(theirs.size >= needed, [&] {
    return "add_device_type: expected a table of at least " + std::to_string(needed) + " bytes, got " +
           std::to_string(theirs.size) + "; set its size to sizeof(neura_device_type)";
  });
  auto added = std::make_unique<RegisteredType>();
  added->table = fitted(theirs);
  neura_device_type& t = added->table;
  check_entries(t);
  if (t.streams) added->streams = fitted(*t.streams);
  if (t.collectives) added->collectives = fitted(*t.collectives);
  for (std::size_t i = 0; i < t.kernel_count; ++i)
    check<ValueError>(added->kernels.emplace(t.kernels[i].name, &t.kernels[i]).second, [&] {
      return std::string("add_device_type: expected one kernel of each name, got two named ") + t.kernels[i].name;
    });
  added->name = t.name;
  t.name = added->name.c_str();
  return announce_device_type(added->name, [&](DeviceType type) {
    added->type = type;
    types[registered_slot(type)].store(added.release(), std::memory_order_release);
  });
}

const RegisteredType& registered(DeviceType type) {
  NEURA_ASSERT(registered_slot(type) >= 0 && registered_slot(type) < kMaxRegistered);
  const RegisteredType* t = types[registered_slot(type)].load(std::memory_order_acquire);
  NEURA_ASSERT(t);
  return *t;
}

const DeviceApi& registered_api(Device device) {
  const RegisteredType& t = registered(device.type);
  check<DeviceError>(device.index < t.table.devices, [&] {
    return "device: expected " + t.name + ":0 to " + t.name + ":" + std::to_string(t.table.devices - 1) + ", got " +
           device.str();
  });
  return api_of(registered_slot(device.type), std::make_integer_sequence<int, kMaxRegistered>());
}

const Backend& registered_backend() {
  static const Backend all = [] {
    Backend b = cpu_backend();
    b.name = "registered", b.execute = nullptr;
    b.assign = [](const View& to, const View& from) -> Failed { return assign_registered(to, from), nullptr; };
    return b;
  }();
  return all;
}

void throw_status(int status, const neura_error& e, const char* op) {
  const std::string text = std::string(op) + ": " + (e.text[0] ? e.text : "expected the device to work, got a failure");
  if (status == NEURA_NO_MEMORY) throw OutOfMemoryError(text);
  if (status == NEURA_BAD_INDEX) throw IndexError(text);
  throw DeviceError(text);
}

void* current_border_stream(Device d) {
  const auto found = streams().find(d);
  return found == streams().end() ? nullptr : found->second;
}
void* set_current_border_stream(Device d, void* stream) { return std::exchange(streams()[d], stream); }

}  // namespace neura
