#include "neura/io/value.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "neura/ops/shape/view.h"
#include "neura/ops/shape/view_dtype.h"

namespace neura {
namespace {

using nlohmann::json;

constexpr const char* kKey = "neura.value";
constexpr int kMaxDepth = 64;

// JSON has what it has; everything else is an object with one key, which says what it is:
//   {"tensor": name}  {"view": {"of": name, …}}  {"float": "nan"}  {"list": […]}  {"tuple": […]}  {"dict": [[key,
//   value], …]}
// neura/serialization.py of the Python package writes and reads the same, and has a few kinds more.
class Encoder {
 public:
  nn::StateDict tensors;

  json encode(const nn::Value& value, const std::string& path, int depth = 0) {
    check<ValueError>(depth <= kMaxDepth,
                      [&] { return "save: expected at most 64 levels, got more at " + where(path); });
    return std::visit([&](const auto& v) { return encode_one(v, path, depth); }, value.v);
  }

 private:
  static std::string where(const std::string& path) { return path.empty() ? "the top" : "\"" + path + "\""; }
  static std::string below(const std::string& path, const std::string& key) {
    return path.empty() ? key : path + "." + key;
  }

  json encode_one(std::monostate, const std::string&, int) { return nullptr; }
  json encode_one(bool v, const std::string&, int) { return v; }
  json encode_one(std::int64_t v, const std::string&, int) { return v; }
  json encode_one(double v, const std::string&, int) {
    if (std::isfinite(v)) return v;
    return {{"float", std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf"}};
  }
  json encode_one(const std::string& v, const std::string&, int) { return v; }
  json encode_one(const Tensor& v, const std::string& path, int) {
    check<ValueError>(v.defined(),
                      [&] { return "save: expected a tensor at " + where(path) + ", got an undefined one"; });
    auto [it, fresh] = names_.try_emplace(v.impl(), path.empty() ? "tensor" : path);
    if (fresh) {
      while (!used_.insert(it->second).second) it->second += "'";
      tensors.append(it->second, v);
    }
    return {{"tensor", it->second}};
  }
  json encode_one(const nn::List& v, const std::string& path, int depth) {
    json items = json::array();
    for (std::size_t i = 0; i < v.items.size(); ++i)
      items.emplace_back(encode(v.items[i], below(path, std::to_string(i)), depth + 1));
    json out = json::object();
    out[v.tuple ? "tuple" : "list"] = std::move(items);
    return out;
  }
  json encode_one(const nn::Dict& v, const std::string& path, int depth) {
    json items = json::array();
    for (const auto& [key, item] : v.items) {
      json pair = json::array();
      pair.push_back(key);
      pair.push_back(encode(item, below(path, key), depth + 1));
      items.emplace_back(std::move(pair));
    }
    json out = json::object();
    out["dict"] = std::move(items);
    return out;
  }
  json encode_one(const std::shared_ptr<nn::Opaque>&, const std::string& path, int) {
    throw ValueError("save: expected tensors, numbers, text, lists and dictionaries, got another object at " +
                     where(path));
  }

  std::map<TensorImpl*, std::string> names_;
  std::set<std::string> used_;
};

class Decoder {
 public:
  Decoder(const std::string& file, const nn::StateDict& tensors) : file_(file) {
    for (const auto& [name, tensor] : tensors) tensors_.emplace(name, tensor);
  }

  nn::Value decode(const json& j, int depth = 0) const {
    demand(depth <= kMaxDepth);
    switch (j.type()) {
      case json::value_t::null:
        return {};
      case json::value_t::boolean:
        return j.get<bool>();
      case json::value_t::number_integer:
      case json::value_t::number_unsigned:
        return j.get<std::int64_t>();
      case json::value_t::number_float:
        return j.get<double>();
      case json::value_t::string:
        return j.get<std::string>();
      default:
        break;
    }
    demand(j.is_object() && j.size() == 1);
    const std::string& kind = j.begin().key();
    const json& v = j.begin().value();
    if (kind == "tensor") return tensor(v);
    if (kind == "view") return view_of(v);
    if (kind == "float") {
      demand(v == "nan" || v == "inf" || v == "-inf");
      return v == "nan" ? std::nan("") : v == "inf" ? HUGE_VAL : -HUGE_VAL;
    }
    for (const char* other : {"set", "frozenset", "int", "complex", "bytes", "dtype", "device"})
      check<FormatError>(kind != other, [&] {
        return file_ + ": expected values that C++ has, got a " + kind + " of Python; save it as text or numbers";
      });
    if (kind == "array" || kind == "parameter") return decode(v, depth + 1);  // of NumPy, of nn: its tensor
    demand(v.is_array());
    if (kind == "dict" || kind == "ordered") return dict(v, depth);
    demand(kind == "list" || kind == "tuple" || kind == "size");
    nn::List list{{}, kind != "list"};
    for (const json& item : v) list.items.emplace_back(decode(item, depth + 1));
    return list;
  }

 private:
  void demand(bool ok) const {
    check<FormatError>(ok, [&] { return file_ + ": the metadata entry \"neura.value\" is damaged"; });
  }
  nn::Value tensor(const json& name) const {
    demand(name.is_string());
    const auto it = tensors_.find(name.get_ref<const std::string&>());
    check<FormatError>(it != tensors_.end(),
                       [&] { return file_ + ": expected a tensor " + name.dump() + ", got none"; });
    return it->second;
  }
  DType dtype_called(const std::string& text) const {
    int i = 0;
    while (i < kDTypes && text != name(DType(i))) ++i;
    demand(i < kDTypes);
    return DType(i);
  }
  // A tensor within another one, which Python writes where several share bytes.
  nn::Value view_of(const json& v) const {
    try {
      const Tensor& base = tensors_.at(v.at("of").get<std::string>());
      const Tensor flat = view(reshape(base.detach(), {-1}, true), dtype_called(v.at("dtype").get<std::string>()));
      const auto size = v.at("size").get<std::vector<std::int64_t>>(),
                 stride = v.at("stride").get<std::vector<std::int64_t>>();
      const std::int64_t offset = v.at("offset").get<std::int64_t>();
      demand(offset >= 0 && offset <= flat.numel() && size.size() <= std::size_t(kMaxRank) &&
             stride.size() == size.size());
      Tensor t = as_strided(flat, Shape(size), Shape(stride), flat.storage_offset() + offset).detach();
      return v.value("requires_grad", false) ? t.requires_grad_() : t;
    } catch (const json::exception&) {
      demand(false);
    } catch (const std::out_of_range&) {
      demand(false);
    } catch (const Error&) {
      demand(false);
    }
    return {};
  }
  nn::Value dict(const json& pairs, int depth) const {
    nn::Dict dict;
    for (const json& pair : pairs) {
      demand(pair.is_array() && pair.size() == 2 && (pair[0].is_string() || pair[0].is_number_integer()));
      // Python's dictionaries may have numbers for keys, as the state of an optimizer does.
      const std::string key = pair[0].is_string() ? pair[0].get<std::string>() : pair[0].dump();
      dict.items.emplace_back(key, decode(pair[1], depth + 1));
    }
    return dict;
  }

  const std::string& file_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace

void save(const std::string& path, const nn::Value& value, const Metadata& metadata) {
  check<ValueError>(!metadata.count(kKey),
                    [&] { return "save: the metadata key \"neura.value\" is Neura's own; choose another"; });
  Encoder encoder;
  Metadata all = metadata;
  const json tree = encoder.encode(value, "");
  try {
    all[kKey] = tree.dump();
  } catch (const json::type_error&) {
    throw ValueError("save: expected text in UTF-8, got other bytes");
  }
  save(path, encoder.tensors, all);
}

nn::Value load_value(const std::string& path, const MapLocation& map_location) {
  const TensorFile file = load_file(path, map_location);
  const auto it = file.metadata.find(kKey);
  if (it == file.metadata.end()) return to_value(file.tensors);
  const json tree = json::parse(it->second, nullptr, false);
  check<FormatError>(!tree.is_discarded(), [&] { return path + ": the metadata entry \"neura.value\" is damaged"; });
  return Decoder(path, file.tensors).decode(tree);
}

nn::Value to_value(const nn::StateDict& tensors) {
  nn::Dict dict;
  for (const auto& [name, tensor] : tensors) dict.items.emplace_back(name, tensor);
  return dict;
}

nn::StateDict to_state_dict(const nn::Value& value, const char* what) {
  const auto wrong = [&](const std::string& got) {
    return std::string("load: expected a ") + what + ", a dictionary of tensors, got " + got;
  };
  const nn::Dict* dict = value.get<nn::Dict>();
  check<ValueError>(dict, [&] { return wrong(value.type_name()); });
  nn::StateDict result;
  for (const auto& entry : dict->items) {
    const Tensor* tensor = entry.second.get<Tensor>();
    check<ValueError>(tensor,
                      [&] { return wrong(std::string(entry.second.type_name()) + " for \"" + entry.first + "\""); });
    result.append(entry.first, *tensor);
  }
  return result;
}

}  // namespace neura
