// Reads PyTorch's stored cases.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/support/conformance.h"
#include "tests/support/loop.h"

namespace neura::test {
namespace {

using Json = nlohmann::ordered_json;  // keyword arguments have an order: leaves are counted in it

struct Unreadable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

DType dtype_by(const std::string& word, bool file_name) {
  for (int i = 0; i < kDTypes; ++i)
    if (word == (file_name ? kDTypeInfo[i].file_name : kDTypeInfo[i].name)) return DType(i);
  throw Unreadable("no dtype " + word);
}

// The same elements in the memory order of `strides`, without its gaps.
Tensor in_memory_order(const Tensor& t, const std::vector<std::int64_t>& strides) {
  std::vector<int> order(strides.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return strides[std::size_t(a)] > strides[std::size_t(b)]; });
  for (std::size_t i = 0; i + 1 < order.size(); ++i)  // broadcast or ambiguous: leave it contiguous
    if (strides[std::size_t(order[i])] == strides[std::size_t(order[i + 1])]) return t;
  if (t.dim() < 2 || strides[std::size_t(order.back())] == 0 || std::is_sorted(order.begin(), order.end())) return t;
  Shape packed = t.shape();
  std::int64_t next = 1;
  for (auto d = order.rbegin(); d != order.rend(); ++d)
    packed[*d] = next, next *= std::max<std::int64_t>(t.shape()[*d], 1);
  return with_strides(t, packed);
}

class Reader {
 public:
  Reader(const Json& header, const std::string& data, int index)
      : header_(header), data_(data), prefix_("c" + std::to_string(index) + ".") {}

  Value value(const Json& v) const {
    Value r;
    switch (v.type()) {
      case Json::value_t::null:
        return r;
      case Json::value_t::boolean:
        return number(Value::boolean, v.get<bool>());
      case Json::value_t::number_integer:
      case Json::value_t::number_unsigned:
        return number(Value::integer, v.get<std::int64_t>());
      case Json::value_t::number_float:
        return number(Value::real, v.get<double>());
      case Json::value_t::string:
        r.kind = Value::text, r.word = v.get<std::string>();
        return r;
      case Json::value_t::array:
        return sequence(Value::list, v);
      default:
        return object(v);
    }
  }
  std::vector<Value> values(const Json& list) const { return sequence(Value::list, list).items; }

 private:
  static Value number(Value::Kind kind, Scalar s) {
    Value r;
    r.kind = kind, r.scalar = s;
    return r;
  }

  Value sequence(Value::Kind kind, const Json& list) const {
    Value r;
    r.kind = kind;
    for (const Json& x : list) r.items.push_back(value(x));
    return r;
  }

  Value object(const Json& v) const {
    Value r;
    if (v.contains("t")) {
      r.kind = Value::tensor, r.data = tensor(v), r.grad = v.value("grad", false);
    } else if (v.contains("float")) {
      return number(Value::real, std::stod(v["float"].get<std::string>()));  // inf and nan
    } else if (v.contains("complex_scalar")) {
      const auto parts = values(v["complex_scalar"]);
      return number(Value::complex, std::complex<double>(parts[0].scalar.real(), parts[1].scalar.real()));
    } else if (v.contains("dtype")) {
      r.kind = Value::dtype, r.type = dtype_by(v["dtype"].get<std::string>(), false);
    } else if (v.contains("slice")) {
      return sequence(Value::slice, v["slice"]);
    } else if (v.contains("tuple")) {
      return sequence(Value::tuple, v["tuple"]);
    } else if (v.contains("ellipsis")) {
      r.kind = Value::ellipsis;
    } else {
      r.kind = Value::dict;
      for (const auto& [key, x] : (v.contains("dict") ? v["dict"] : v).items())
        r.keys.push_back(key), r.items.push_back(value(x));
    }
    return r;
  }

  Tensor tensor(const Json& v) const {
    const Json& row = header_.at(prefix_ + v["t"].get<std::string>());
    auto sizes = row["shape"].get<std::vector<std::int64_t>>();
    DType d = dtype_by(row["dtype"].get<std::string>(), true);
    if (v.value("complex", false)) d = to_complex(d), sizes.pop_back();
    if (sizes.size() > std::size_t(kMaxRank))
      throw Unreadable("a tensor of " + std::to_string(sizes.size()) + " dimensions");
    const Tensor t = Tensor::empty(Spec::dense(d, sizes));
    const auto begin = row["data_offsets"][0].get<std::size_t>(), end = row["data_offsets"][1].get<std::size_t>();
    NEURA_ASSERT(end - begin == t.nbytes() && end <= data_.size());
    if (end > begin) std::memcpy(t.raw_data(), data_.data() + begin, end - begin);
    return v.contains("strides") ? in_memory_order(t, v["strides"].get<std::vector<std::int64_t>>()) : t;
  }

  const Json& header_;
  const std::string& data_;
  std::string prefix_;
};

void read_case(const Reader& read, const Json& c, ConformanceCase& r) {
  r.dtype = c.value("dtype", ""), r.kind = c.value("kind", ""), r.raises = c.contains("raises");
  r.input = read.value(c["input"]), r.args = read.values(c["args"]);
  for (const auto& [key, v] : c["kwargs"].items()) r.kwargs.emplace_back(key, read.value(v));
  if (c.contains("output")) r.output = read.value(c["output"]);
  r.has_gradients = c.contains("grads"), r.has_second = c.contains("second_of");
  if (r.has_gradients) r.cotangents = read.values(c["cotangents"]), r.gradients = read.values(c["grads"]);
  if (!r.has_second) return;
  r.second_of = c["second_of"].get<std::vector<int>>();
  r.second_directions = read.values(c["second_directions"]), r.second_gradients = read.values(c["second_grads"]);
}

void collect(const Value& v, std::vector<Tensor>& leaves) {
  if (v.grad) leaves.push_back(v.data);
  for (const Value& x : v.items) collect(x, leaves);
}

}  // namespace

const Value& ConformanceCase::kwarg(const std::string& name) const {
  static const Value nothing;
  for (const auto& [key, v] : kwargs)
    if (key == name) return v;
  return nothing;
}

const Value& ConformanceCase::argument(int position, const std::string& name) const {
  return std::size_t(position) < args.size() ? args[std::size_t(position)] : kwarg(name);
}

std::vector<Tensor> ConformanceCase::leaves() const {
  std::vector<Tensor> r;
  collect(input, r);
  for (const Value& v : args) collect(v, r);
  for (const auto& [key, v] : kwargs) collect(v, r);
  return r;
}

std::vector<std::string> conformance_names(const std::string& part) {
  std::vector<std::string> r;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(NEURA_CONFORMANCE) / part))
    if (entry.path().extension() == ".safetensors") r.push_back(entry.path().stem().string());
  std::sort(r.begin(), r.end());
  return r;
}

namespace {
struct Stored {
  Json rows, manifest;
  std::string data;
};
Stored read_stored(const std::string& name, const std::string& part) {
  std::ifstream file(std::string(NEURA_CONFORMANCE) + "/" + part + "/" + name + ".safetensors", std::ios::binary);
  std::uint64_t size = 0;
  file.read(reinterpret_cast<char*>(&size), sizeof size);
  std::string header(size, ' ');
  file.read(header.data(), std::streamsize(size));
  check<IoError>(bool(file), [&] { return "conformance: expected a file of cases, got none by the name " + name; });
  Stored r;
  r.data.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  r.rows = Json::parse(header), r.manifest = Json::parse(r.rows["__metadata__"]["manifest"].get<std::string>());
  return r;
}
}  // namespace

const Value& Value::operator[](std::string_view key) const {
  static const Value nothing;
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (keys[i] == key) return items[i];
  return nothing;
}

std::vector<Value> read_cases(const std::string& name, const std::string& part) {
  if (part.empty()) {
    std::ifstream file(std::string(NEURA_CONFORMANCE) + "/" + name);
    const Json nothing = Json::object();
    const std::string data;
    return Reader(nothing, data, 0).values(Json::parse(file));
  }
  const Stored stored = read_stored(name, part);
  std::vector<Value> r;
  for (const Json& c : stored.manifest["cases"]) {
    try {
      r.push_back(Reader(stored.rows, stored.data, int(r.size())).value(c));
    } catch (const Unreadable&) {
      r.emplace_back();  // none
    }
  }
  return r;
}

ConformanceFile read_conformance(const std::string& name, const std::string& part) {
  const Stored stored = read_stored(name, part);
  const Json &rows = stored.rows, &manifest = stored.manifest;
  const std::string& data = stored.data;
  ConformanceFile r{name, manifest.value("op", ""), manifest.value("variant", ""), {}};
  for (const Json& c : manifest["cases"]) {
    ConformanceCase& one = r.cases.emplace_back();
    one.index = int(r.cases.size()) - 1;
    try {
      read_case(Reader(rows, data, one.index), c, one);
    } catch (const Unreadable& e) {
      one.unreadable = e.what();
    }
  }
  return r;
}

}  // namespace neura::test
