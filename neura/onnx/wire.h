// The wire format of protocol buffers: tags, varints, fixed numbers, lengths. Every length is compared with what is
// there before anything is allocated; messages are nested at most 64 deep.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "neura/core/error.h"

namespace neura::onnx::wire {

enum Type : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
inline constexpr int kMaxDepth = 64;
inline constexpr std::size_t kMaxMessages = std::size_t{1} << 21;  // an empty one takes two bytes of a file

[[gnu::cold, noreturn]] inline void fail(const std::string& what) {
  throw FormatError("onnx.load: expected a protocol buffer of ONNX, got " + what + "; the file is damaged or another");
}

static_assert(std::endian::native == std::endian::little, "fixed numbers are copied as they lie in memory");

// A message that is being read. A std::string_view that it returns points into the bytes it was given.
class Reader {
 public:
  explicit Reader(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}

  bool done() const { return at_ == end_; }
  std::size_t left() const { return std::size_t(end_ - at_); }

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) fail("a number that is cut off");
      const auto byte = std::uint8_t(*at_++);
      value |= std::uint64_t(byte & 127) << shift;
      if (byte < 128) return value;
    }
    fail("a number of more than 64 bits");
  }
  template <class T> T fixed() {
    if (left() < sizeof(T)) fail("a number that is cut off");
    T value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string_view text() {
    const std::uint64_t n = number();
    if (n > left()) fail("a field of " + std::to_string(n) + " bytes where " + std::to_string(left()) + " are left");
    const std::string_view out(at_, std::size_t(n));
    at_ += n;
    return out;
  }
  // The number and the wire type of the next field.
  std::uint32_t tag(Type& type) {
    const std::uint64_t tag = number();
    type = Type(tag & 7);
    if (tag >> 3 == 0 || tag >> 32) fail("a field of the number " + std::to_string(tag >> 3));
    return std::uint32_t(tag >> 3);
  }
  void skip(Type type) {
    switch (type) {
      case varint:
        number();
        return;
      case fixed64:
        fixed<std::uint64_t>();
        return;
      case fixed32:
        fixed<std::uint32_t>();
        return;
      case bytes:
        text();
        return;
    }
    fail("the wire type " + std::to_string(int(type)));
  }

 private:
  const char *at_, *end_;
};

class Writer {
 public:
  std::string text;
  void number(std::uint64_t value) {
    for (; value > 127; value >>= 7) text.push_back(char(value | 128));
    text.push_back(char(value));
  }
  void tag(std::uint32_t field, Type type) { number(std::uint64_t(field) << 3 | type); }
  template <class T> void fixed(T value) { text.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void field(std::uint32_t number_of_field, std::string_view content) {
    tag(number_of_field, bytes);
    number(content.size());
    text += content;
  }
};

}  // namespace neura::onnx::wire
