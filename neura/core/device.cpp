#include "neura/core/device.h"

#include <charconv>

#include "neura/core/current_device.h"
#include "neura/core/error.h"

namespace neura {
namespace {
thread_local int current = 0;
}

int current_cuda_index() { return current; }
void set_current_cuda_index(int index) { current = index; }

Device::Device(std::string_view text) {
  const auto refuse = [&] {
    fail_with<DeviceError>(
        [&] { return "device: expected \"cpu\", \"cuda\" or \"cuda:<index>\", got \"" + std::string(text) + "\""; });
  };
  if (text == "cpu" || text == "cpu:0") return;
  if (!text.starts_with("cuda")) refuse();
  type = DeviceType::cuda, index = std::uint8_t(current);
  std::string_view rest = text.substr(4);
  if (rest.empty()) return;
  unsigned value = 0;
  const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), value);
  if (rest[0] != ':' || error != std::errc() || end != rest.data() + rest.size() || rest.size() < 2 || value > 254)
    refuse();
  index = std::uint8_t(value);
}

std::string Device::str() const { return is_cpu() ? "cpu" : "cuda:" + std::to_string(index); }

}  // namespace neura
