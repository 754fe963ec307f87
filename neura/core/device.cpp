#include "neura/core/device.h"

#include <atomic>
#include <charconv>
#include <mutex>

#include "neura/core/current_device.h"
#include "neura/core/device_types.h"
#include "neura/core/error.h"

namespace neura {
namespace {

thread_local int current = 0;

constexpr int kOwn = 3;  // types that no back end registers

struct Names {  // the first `count` are never changed again
  std::mutex adding;
  std::atomic<int> count{kOwn};
  std::string name[kOwn + kMaxRegistered] = {"cpu", "cuda", "meta"};
};
Names& names() {
  static Names& all = *new Names;  // never gone: tensors may outlive everything
  return all;
}
int find_type(std::string_view name) {
  const int n = names().count.load(std::memory_order_acquire);
  for (int i = 0; i < n; ++i)
    if (names().name[i] == name) return i;
  return -1;
}
[[gnu::cold, noreturn]] void refuse(std::string_view text) {
  std::string known;
  const int n = names().count.load(std::memory_order_acquire);
  for (int i = 0; i < n; ++i) known += "\"" + names().name[i] + "\", ";
  if (n == kOwn) known = "\"cpu\", \"cuda\", \"cuda:<index>\" or \"meta\", ";
  else known += "or one of them with \":<index>\", ";
  throw DeviceError("device: expected " + known + "got \"" + std::string(text) + "\"");
}

}  // namespace

int current_cuda_index() { return current; }
void set_current_cuda_index(int index) { current = index; }

Device::Device(std::string_view text) {
  if (text == "cpu" || text == "cpu:0") return;
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  int found = kind == "cpu" ? -1 : find_type(kind);
  if (found < 0 && detail::load_named_backends) detail::load_named_backends(), found = find_type(kind);
  if (found < 1) refuse(text);
  type = DeviceType(found), index = std::uint8_t(is_cuda() ? current : 0);
  if (colon == std::string_view::npos) return;
  const std::string_view number = text.substr(colon + 1);
  unsigned value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (number.empty() || error != std::errc() || end != number.data() + number.size() ||
      value > (is_meta(*this) ? 0 : 254))
    refuse(text);
  index = std::uint8_t(value);
}

std::string Device::str() const {
  return is_cpu() || is_meta(*this) ? device_type_name(type) : device_type_name(type) + ":" + std::to_string(index);
}

DeviceType announce_device_type(std::string_view name, const std::function<void(DeviceType)>& prepare) {
  bool word = !name.empty() && name[0] >= 'a' && name[0] <= 'z' && name.size() < 64;
  for (const char c : name) word &= (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  check<ValueError>(word, [&] {
    return "add_device_type: expected a name of lower case letters, digits and _, got \"" + std::string(name) + "\"";
  });
  const std::lock_guard hold(names().adding);
  check<ValueError>(find_type(name) < 0, [&] {
    return "add_device_type: expected the name of no other device type, got \"" + std::string(name) +
           "\"; load its back end only once";
  });
  const int n = names().count.load(std::memory_order_relaxed);
  check<ValueError>(n < kOwn + kMaxRegistered, [] {
    return "add_device_type: expected at most " + std::to_string(kMaxRegistered) + " device types, got one more";
  });
  names().name[n] = name;
  prepare(DeviceType(n));
  names().count.store(n + 1, std::memory_order_release);
  return DeviceType(n);
}

const std::string& device_type_name(DeviceType type) {
  NEURA_ASSERT(int(type) < names().count.load(std::memory_order_acquire));
  return names().name[int(type)];
}

std::vector<std::string> device_types() {
  if (detail::load_named_backends) detail::load_named_backends();
  return {names().name, names().name + names().count.load(std::memory_order_acquire)};
}

}  // namespace neura
