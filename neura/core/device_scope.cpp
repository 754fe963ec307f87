#include "neura/core/device_scope.h"

namespace neura {
namespace {

struct Choice {
  Device device;  // the cpu where none is given
  bool given = false;
  operator std::optional<Device>() const { return given ? std::optional(device) : std::nullopt; }
};
Choice choice(std::optional<Device> d) { return {d.value_or(Device()), d.has_value()}; }

struct Choices {
  Choice now, outside;  // of all scopes
  int scopes = 0;
};
constinit thread_local Choices choices;

}  // namespace

Device default_device() { return choices.now.device; }
std::optional<Device> chosen_device() { return choices.now; }

void set_default_device(std::optional<Device> d) {
  choices.outside = choice(d);
  if (!choices.scopes) choices.now = choices.outside;
}

DeviceScope::DeviceScope(Device d) : before_(choices.now) {
  ++choices.scopes;
  choices.now = {d, true};
}
DeviceScope::~DeviceScope() {
  --choices.scopes;
  choices.now = choices.scopes ? choice(before_) : choices.outside;  // which may have changed within
}

}  // namespace neura
