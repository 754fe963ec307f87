// Where a tensor's bytes are: "cpu", "cuda:0". A value of two bytes.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace neura {

enum class DeviceType : std::uint8_t { cpu, cuda };  // then meta and registered types: device_types.h

#ifdef NEURA_WANTED  // a program for one model, which computes on the cpu: nothing asks for another device
inline constexpr bool kOnlyCpu = true;
#else
inline constexpr bool kOnlyCpu = false;
#endif

struct Device {
  DeviceType type = DeviceType::cpu;
  std::uint8_t index = 0;  // always 0 for the cpu

  constexpr Device() = default;
  constexpr Device(DeviceType t, int i = 0) : type(t), index(std::uint8_t(i)) {}
  // "cpu", "cuda" (index 0) or "cuda:1". Throws DeviceError for any other text.
  Device(std::string_view text);
  Device(const char* text) : Device(std::string_view(text)) {}
  Device(const std::string& text) : Device(std::string_view(text)) {}

  constexpr bool is_cpu() const { return kOnlyCpu || type == DeviceType::cpu; }
  constexpr bool is_cuda() const { return !kOnlyCpu && type == DeviceType::cuda; }
  std::string str() const;
  friend constexpr bool operator==(Device, Device) = default;
};

}  // namespace neura

template <> struct std::hash<neura::Device> {
  std::size_t operator()(neura::Device d) const { return std::size_t(d.type) << 8 | d.index; }
};
