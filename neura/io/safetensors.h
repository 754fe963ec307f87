// Saved tensors: safetensors files, which every other framework reads as well. A file is 8 bytes of header size, a JSON
// header, and the bytes of the tensors. What the format has no word for (device, requires_grad, complex numbers) is
// in its metadata.
#pragma once
#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "neura/nn/state_dict.h"

namespace neura {

using Metadata = std::map<std::string, std::string>;

// Where loaded tensors go: where they were saved (the default), all to one device, by a map from saved to new device
// (devices that are not in it stay), or as a function of the saved device says.
class MapLocation {
 public:
  MapLocation() = default;
  template <std::convertible_to<Device> D>
  requires(!std::is_same_v<std::remove_cvref_t<D>, MapLocation>) MapLocation(const D& device)
      : function_([d = Device(device)](Device) { return d; }) {}
  MapLocation(std::initializer_list<std::pair<std::string, std::string>> devices)
      : MapLocation(std::map<std::string, std::string>(devices.begin(), devices.end())) {}
  template <std::same_as<std::map<std::string, std::string>> M> MapLocation(const M& devices) { use(devices); }
  template <class F>
  requires std::is_invocable_r_v<Device, F, Device> MapLocation(F function) : function_(std::move(function)) {}
  Device operator()(Device saved) const { return function_ ? function_(saved) : saved; }

 private:
  void use(const std::map<std::string, std::string>& devices);
  std::function<Device(Device)> function_;
};

struct TensorFile {
  nn::StateDict tensors;  // in the order of the file's header
  Metadata metadata;      // the user's own; Neura's entry "neura" is taken out
  std::string version;    // of the Neura that wrote the file; empty if something else did
};

// Writes tensors of any dtype, layout and device. The file appears complete or not at all: a failure (IoError) leaves
// an older file of that name untouched. Complex tensors are written as pairs of floats, [..., 2], and read back as
// complex. ValueError: a name that occurs twice, is "__metadata__" or no UTF-8; an undefined tensor; metadata with the
// key "neura".
void save(const std::string& path, const nn::StateDict& tensors, const Metadata& metadata = {});
// Reads a file. IoError if the system refuses; FormatError, with the place, if it is damaged or no safetensors file.
// What a hostile file says about sizes is checked before anything is allocated. DeviceError where a device is not
// there.
// With mmap the tensors are in the file's own pages, which are read when they are first used; what is written into them
// changes no file. The file must not be shortened while they live.
nn::StateDict load(const std::string& path, const MapLocation& map_location = {}, bool mmap = false);
nn::StateDict load(std::span<const std::byte> bytes, const MapLocation& map_location = {});  // of a file in memory
// The same with the file's metadata; `name` is what errors call the bytes.
TensorFile load_file(const std::string& path, const MapLocation& map_location = {}, bool mmap = false);
TensorFile load_bytes(std::span<const std::byte> bytes, const MapLocation& map_location = {},
                      const std::string& name = "safetensors");
std::string save_bytes(const nn::StateDict& tensors, const Metadata& metadata = {});

}  // namespace neura
