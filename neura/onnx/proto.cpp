#include "neura/onnx/proto.h"

#include <type_traits>

#include "neura/onnx/wire.h"

namespace neura::onnx {
namespace {

using wire::Reader;
using wire::Writer;

struct Limits {
  int depth = 0;
  std::size_t messages = 0;
};

template <class T> inline constexpr bool is_number = std::is_arithmetic_v<T>;

template <class T> constexpr wire::Type wire_type() {
  return std::is_same_v<T, float> ? wire::fixed32 : std::is_same_v<T, double> ? wire::fixed64 : wire::varint;
}

[[gnu::cold, noreturn]] void wrong_type(std::uint32_t field) {
  wire::fail("field " + std::to_string(field) + " of another wire type");
}

// visit() calls it for every field of a message; it reads the one whose number is on the wire.
class Field {
 public:
  Field(Reader& reader, Limits& limits, std::uint32_t number, wire::Type type)
      : reader_(reader), limits_(limits), number_(number), type_(type) {}

  template <class T> void operator()(std::uint32_t number, T& to) {
    if (number == number_) read(to), found_ = true;
  }
  bool found() const { return found_; }

 private:
  void expect(wire::Type type) const {
    if (type_ != type) wrong_type(number_);
  }
  template <class T> static T take(Reader& from) {
    if constexpr (wire_type<T>() == wire::varint) return T(from.number());
    else return from.fixed<T>();
  }
  void read(std::string& to) { expect(wire::bytes), to = reader_.text(); }
  void read(std::string_view& to) { expect(wire::bytes), to = reader_.text(); }
  template <class T>
  requires is_number<T>
  void read(T& to) { expect(wire_type<T>()), to = take<T>(reader_); }
  template <class T>
  requires requires(T& t, Field& f) { t.visit(f); }
  void read(T& to);
  template <class T> void read(std::optional<T>& to) {
    if (!to) to.emplace();
    read(*to);
  }
  template <class T> void read(std::shared_ptr<T>& to) {
    if (!to) to = std::make_shared<T>();
    read(*to);
  }
  template <class T> void read(std::vector<T>& to) {
    if constexpr (is_number<T>) {
      if (type_ != wire::bytes) return read(to.emplace_back());
      Reader packed(reader_.text());
      if constexpr (wire_type<T>() != wire::varint) to.reserve(to.size() + packed.left() / sizeof(T));
      while (!packed.done()) to.push_back(take<T>(packed));
    } else {
      if (++limits_.messages > wire::kMaxMessages) wire::fail("more than 2,097,152 messages");
      read(to.emplace_back());
    }
  }

  Reader& reader_;
  Limits& limits_;
  std::uint32_t number_;
  wire::Type type_;
  bool found_ = false;
};

template <class T> void read_message(std::string_view bytes, T& to, Limits& limits) {
  if (++limits.depth > wire::kMaxDepth) wire::fail("messages more than 64 deep");
  Reader reader(bytes);
  while (!reader.done()) {
    wire::Type type;
    const std::uint32_t number = reader.tag(type);
    Field field(reader, limits, number, type);
    to.visit(field);
    if (!field.found()) reader.skip(type);
  }
  --limits.depth;
}

template <class T>
requires requires(T& t, Field& f) { t.visit(f); }
void Field::read(T& to) {
  expect(wire::bytes);
  read_message(reader_.text(), to, limits_);
}

// And the other way: every field that is not empty.
class Fields {
 public:
  explicit Fields(Writer& writer) : writer_(writer) {}
  template <class T> void operator()(std::uint32_t number, T& from) {
    if constexpr (is_number<T>) {
      if (from) write(number, from);
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!from.empty()) write(number, from);
    } else write(number, from);
  }

 private:
  template <class T> void put(T value) {
    if constexpr (wire_type<T>() == wire::varint) writer_.number(std::uint64_t(std::int64_t(value)));
    else writer_.fixed(value);
  }
  void write(std::uint32_t number, const std::string& from) { writer_.field(number, from); }
  void write(std::uint32_t number, const std::string_view& from) { writer_.field(number, from); }
  template <class T>
  requires is_number<T>
  void write(std::uint32_t number, T from) {
    writer_.tag(number, wire_type<T>());
    put(from);
  }
  template <class T>
  requires requires(T& t, Fields& f) { t.visit(f); }
  void write(std::uint32_t number, T& from) {
    Writer inner;
    Fields fields(inner);
    from.visit(fields);
    writer_.field(number, inner.text);
  }
  template <class T> void write(std::uint32_t number, std::optional<T>& from) {
    if (from) write(number, *from);
  }
  template <class T> void write(std::uint32_t number, std::shared_ptr<T>& from) {
    if (from) write(number, *from);
  }
  template <class T> void write(std::uint32_t number, std::vector<T>& from) {
    if constexpr (is_number<T>) {
      if (from.empty()) return;
      Writer packed;
      Fields fields(packed);
      for (T x : from) fields.put(x);
      writer_.field(number, packed.text);
    } else {
      for (T& x : from) write(number, x);
    }
  }

  Writer& writer_;
};

template <class T> T read(std::string_view bytes) {
  T out;
  Limits limits;
  read_message(bytes, out, limits);
  return out;
}

template <class T> std::string written(const T& message) {
  Writer writer;
  Fields fields(writer);
  const_cast<T&>(message).visit(fields);  // only read: the list of fields is the same for both directions
  return std::move(writer.text);
}

}  // namespace

ModelProto read_model(std::string_view bytes) { return read<ModelProto>(bytes); }
TensorProto read_tensor(std::string_view bytes) { return read<TensorProto>(bytes); }
std::string write(const ModelProto& m) { return written(m); }
std::string write(const TensorProto& t) { return written(t); }

}  // namespace neura::onnx
