#include "neura/io/header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <span>

#include "neura/core/error.h"
#include "neura/core/shape.h"

namespace neura::io {
namespace {

using nlohmann::json;

std::optional<DType> dtype_of_name(const std::string& name) {
  for (int i = 0; i < kDTypes; ++i)
    if (name == kDTypeInfo[i].file_name) return DType(i);
  return {};
}

// Takes the header event by event: no tree is built, so that memory stays in proportion to what is kept, depth is
// bounded and a key that occurs twice is seen.
class Reader final : public nlohmann::json_sax<json> {
 public:
  Reader(const std::string& file, Header& header) : file_(file), header_(header) {}

  bool null() override { unexpected("null"); }
  bool boolean(bool v) override { unexpected(v ? "true" : "false"); }
  bool number_integer(number_integer_t v) override { unexpected(std::to_string(v)); }
  bool number_float(number_float_t, const string_t& text) override { unexpected(shown(text)); }
  bool binary(binary_t&) override { unexpected("bytes"); }

  bool number_unsigned(number_unsigned_t v) override {
    if (place_ == Place::shape) {
      if (v > std::uint64_t(INT64_MAX)) fail("expected a size, got " + std::to_string(v));
      if (entry().shape.size() > std::size_t(kMaxRank))
        fail("expected at most " + std::to_string(kMaxRank) + " dimensions, got more");
      entry().shape.push_back(std::int64_t(v));
      return true;
    }
    if (place_ != Place::offsets) unexpected(std::to_string(v));
    if (offsets_ == 2) fail("expected 2 data_offsets, got more");
    (offsets_++ == 0 ? entry().begin : entry().end) = v;
    return true;
  }

  bool string(string_t& v) override {
    if (place_ == Place::metadata) {
      header_.metadata[key_] = v;
      return true;
    }
    if (place_ != Place::tensor || key_ != "dtype") unexpected(shown(v));
    const auto dtype = dtype_of_name(v);
    if (!dtype) fail("expected a dtype such as \"F32\", got " + shown(v));
    entry().dtype = *dtype;
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::start) place_ = Place::file;
    else if (place_ == Place::file && in_tensor_) place_ = Place::tensor;
    else if (place_ == Place::file) place_ = Place::metadata;
    else unexpected("an object");
    return true;
  }

  bool key(string_t& v) override {
    key_ = v;
    if (place_ == Place::file) {
      if (!names_.insert(v).second) throw FormatError(file_ + ": " + shown(v) + " occurs twice in the header");
      in_tensor_ = v != "__metadata__";
      seen_ = 0, offsets_ = 0;
      if (in_tensor_) header_.tensors.push_back({v, DType::float32, {}, 0, 0});
    } else if (place_ == Place::tensor) {
      const unsigned field = v == "dtype" ? 1 : v == "shape" ? 2 : v == "data_offsets" ? 4 : 0;
      if (!field) fail("expected dtype, shape and data_offsets, got " + shown(v));
      if (seen_ & field) fail(v + " occurs twice");
      seen_ |= field;
    } else if (header_.metadata.count(v)) {
      throw FormatError(file_ + ": " + shown(v) + " occurs twice in __metadata__");
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor && seen_ != 7) fail("expected dtype, shape and data_offsets, of which one is missing");
    place_ = place_ == Place::file ? Place::end : Place::file;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::tensor || key_ == "dtype") unexpected("a list");
    place_ = key_ == "shape" ? Place::shape : Place::offsets;
    return true;
  }

  bool end_array() override {
    if (place_ == Place::offsets && offsets_ != 2) fail("expected 2 data_offsets, got " + std::to_string(offsets_));
    place_ = Place::tensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    throw FormatError(file_ + ": the header is no valid JSON at byte " +
                      std::to_string(7 + std::max<std::size_t>(position, 1)));
  }

 private:
  enum class Place { start, file, tensor, shape, offsets, metadata, end };
  TensorEntry& entry() { return header_.tensors.back(); }
  [[noreturn]] void fail(const std::string& text) {
    throw FormatError(file_ + ": tensor " + shown(entry().name) + ": " + text);
  }
  [[noreturn]] void unexpected(const std::string& got) {
    if (place_ == Place::start) throw FormatError(file_ + ": expected a JSON object at byte 8, got " + got);
    if (place_ == Place::metadata)
      throw FormatError(file_ + ": expected text for " + shown(key_) + " in __metadata__, got " + got);
    if (place_ == Place::file && !in_tensor_)
      throw FormatError(file_ + ": expected __metadata__ to be an object, got " + got);
    if (place_ == Place::file) fail("expected an object, got " + got);
    fail("expected " + std::string(key_ == "dtype" ? "text for " : "a list of whole numbers for ") + key_ + ", got " +
         got);
  }

  const std::string& file_;
  Header& header_;
  Place place_ = Place::start;
  std::string key_;
  bool in_tensor_ = false;
  unsigned seen_ = 0;
  int offsets_ = 0;
  std::set<std::string> names_;
};

// Bytes that this shape takes; nothing where that is no 64-bit number.
std::optional<std::uint64_t> bytes_of(const TensorEntry& t) {
  std::uint64_t n = std::uint64_t(size_of(t.dtype));
  bool empty = false, overflow = false;
  for (std::int64_t s : t.shape) {
    if (s == 0) empty = true;
    else overflow |= __builtin_mul_overflow(n, std::uint64_t(s), &n) || n > std::uint64_t(INT64_MAX / 16);
  }
  if (overflow) return {};  // also with a size of 0: no tensor has such strides
  return empty ? 0 : n;
}

void check_places(const std::string& file, const Header& header, std::uint64_t data_size) {
  for (const TensorEntry& t : header.tensors) {
    const auto place = [&] {
      return file + ": tensor " + shown(t.name) + ": data_offsets [" + std::to_string(t.begin) + ", " +
             std::to_string(t.end) + "] ";
    };
    check<FormatError>(t.begin <= t.end, [&] { return place() + "run backwards"; });
    check<FormatError>(t.end <= data_size, [&] {
      return place() + "reach beyond the data, which has " + std::to_string(data_size) +
             " bytes; the file may have been cut off";
    });
    const auto bytes = bytes_of(t);
    check<FormatError>(bytes && *bytes == t.end - t.begin, [&] {
      return place() + "hold " + std::to_string(t.end - t.begin) + " bytes, but " + info(t.dtype).file_name + " " +
             neura::str(t.shape) + " takes " + (bytes ? std::to_string(*bytes) : "more than any file has");
    });
  }
  std::vector<std::size_t> order(header.tensors.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const TensorEntry &x = header.tensors[a], &y = header.tensors[b];
    return std::pair(x.begin, x.end) < std::pair(y.begin, y.end);
  });
  std::uint64_t at = 0;
  const auto file_byte = [&](std::uint64_t offset) { return std::to_string(header.data + offset); };
  for (std::size_t i : order) {
    const TensorEntry& t = header.tensors[i];
    check<FormatError>(t.begin >= at, [&] {
      return file + ": tensor " + shown(t.name) + " begins at byte " + file_byte(t.begin) +
             ", inside the tensor before it, which ends at " + file_byte(at);
    });
    check<FormatError>(t.begin == at, [&] {
      return file + ": bytes " + file_byte(at) + " to " + file_byte(t.begin) + ", before tensor " + shown(t.name) +
             ", belong to no tensor";
    });
    at = t.end;
  }
  check<FormatError>(at == data_size, [&] {
    return file + ": " + std::to_string(data_size - at) + " bytes from byte " + file_byte(at) + " belong to no tensor";
  });
}

}  // namespace

std::string shown(const std::string& name) {
  std::size_t cut = name.size();
  if (cut > 80)
    for (cut = 77; cut && (name[cut] & 0xC0) == 0x80;) --cut;  // between two characters
  std::string text = name.substr(0, cut) + (cut < name.size() ? "..." : "");
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return "\"" + text + "\"";
}

Header read_header(const Source& source) {
  const std::string& file = source.name();
  const std::uint64_t size = source.size();
  check<FormatError>(size >= 8, [&] {
    return file + ": expected a safetensors file, got " + std::to_string(size) + " bytes; it may have been cut off";
  });
  unsigned char prefix[8];
  source.read(0, prefix, 8);
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | prefix[i];
  check<FormatError>(length <= size - 8, [&] {
    return file + ": the header has " + std::to_string(length) + " bytes by the number at byte 0, but only " +
           std::to_string(size - 8) + " follow; the file was cut off or is no safetensors file";
  });
  check<FormatError>(length <= kMaxHeader, [&] {
    return file + ": expected a header of at most " + std::to_string(kMaxHeader) + " bytes, got " +
           std::to_string(length);
  });
  std::string text(length, '\0');
  source.read(8, text.data(), text.size());
  check<FormatError>(!text.empty() && text[0] == '{', [&] { return file + ": expected \"{\" at byte 8"; });

  Header header;
  header.data = 8 + length;
  Reader reader(file, header);
  json::sax_parse(text, &reader);  // takes a NUL for the end, and any white space
  const std::size_t last = text.find_last_not_of(' '), other = std::min(text.find('\0'), last + 1);
  check<FormatError>(text[last] == '}' && other == last + 1, [&] {
    return file + ": expected nothing but spaces after the header's JSON, got another byte at byte " +
           std::to_string(8 + (other <= last ? other : last));
  });
  check_places(file, header, size - header.data);
  return header;
}

std::string write_header(const Header& header) {
  nlohmann::ordered_json root = nlohmann::ordered_json::object();
  if (!header.metadata.empty()) root["__metadata__"] = header.metadata;
  // ordered_json looks every key up linearly; the names are known to differ.
  auto& object = root.get_ref<nlohmann::ordered_json::object_t&>();
  for (const TensorEntry& t : header.tensors) {
    nlohmann::ordered_json fields;
    fields["dtype"] = info(t.dtype).file_name;
    fields["shape"] = t.shape;
    fields["data_offsets"] = {t.begin, t.end};
    object.push_back({t.name, std::move(fields)});
  }
  std::string text;
  try {
    text = root.dump();
  } catch (const json::type_error&) {
    throw ValueError("save: expected names and metadata in UTF-8, got other bytes");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  check<ValueError>(text.size() <= kMaxHeader, [&] {
    return "save: expected names and metadata of at most " + std::to_string(kMaxHeader) + " bytes, got " +
           std::to_string(text.size());
  });
  std::string out;
  for (int i = 0; i < 8; ++i) out.push_back(char(text.size() >> (8 * i) & 0xFF));
  return out + text;
}

}  // namespace neura::io
