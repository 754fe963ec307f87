// How attributes are written and read; a part of attributes.cpp.
#pragma once
#include "neura/core/device.h"
#include "neura/op/attributes.h"

namespace neura {

// Fields in order, with the sizes of their groups.
struct FieldList {
  std::vector<Attributes::Field> fields;
  std::vector<std::size_t> groups;  // those that are open
  Attributes::Field& add(std::string name, Attributes::Kind, bool varying);
  void open(std::string name, bool varying) {
    add(std::move(name), Attributes::Kind::group, varying), groups.push_back(fields.size() - 1);
  }
  void close();
};

constexpr std::int64_t packed(Device d) { return std::int64_t(d.type) << 8 | d.index; }
constexpr Device unpacked(std::int64_t v) { return {DeviceType(v >> 8), int(v & 255)}; }

std::string field_text(const Attributes::Field*);  // with its name, and if it is a group with what is in it
std::string fields_text(const std::vector<Attributes::Field>&);
std::vector<Attributes::Field> parse_fields(std::string_view);

}  // namespace neura
