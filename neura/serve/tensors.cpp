// From a request to tensors, and back.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "neura/core/element.h"
#include "neura/io/header.h"
#include "neura/ops/create/copy.h"
#include "neura/serve/datatype.h"
#include "neura/serve/error_response.h"
#include "neura/serve/message.h"

namespace neura::serve {
namespace {

using io::shown;

std::string names_of(std::span<const Port> ports) {
  std::string all;
  for (const Port& p : ports) all += (all.empty() ? "" : ", ") + p.name;
  return all.empty() ? "none" : all;
}

// Of a tensor with these sizes; nothing where that is no number of bytes.
std::optional<std::uint64_t> bytes_of(DType dtype, const std::vector<std::int64_t>& shape) {
  std::uint64_t n = std::uint64_t(size_of(dtype));
  bool empty = false, overflow = false;
  for (const std::int64_t s : shape) {
    if (s == 0) empty = true;
    else overflow |= __builtin_mul_overflow(n, std::uint64_t(s), &n) || n > std::uint64_t(INT64_MAX / 16);
  }
  if (overflow) return {};
  return empty ? 0 : n;
}

// Bytes that the tensor takes.
std::uint64_t checked(const GivenInput& in, const Port& port) {
  if (in.datatype != datatype(port.dtype))
    refuse_request("expected " + std::string(datatype(port.dtype)) + " as \"" + port.name + "\", got " +
                   shown(in.datatype));
  bool fits = in.shape.size() == port.dims.size();
  for (std::size_t i = 0; fits && i < in.shape.size(); ++i) fits = port.dims[i] < 0 || port.dims[i] == in.shape[i];
  if (!fits) refuse_request("expected sizes " + str(port.dims) + " as \"" + port.name + "\", got " + str(in.shape));
  const auto bytes = bytes_of(port.dtype, in.shape);
  if (!bytes)
    refuse_request("expected a tensor that memory can hold as \"" + port.name + "\", got sizes " + str(in.shape));
  if (in.bytes) {
    if (*in.bytes != *bytes)
      refuse_request("expected a binary_data_size of " + std::to_string(*bytes) + " for \"" + port.name + "\", got " +
                     std::to_string(*in.bytes));
    return *bytes;
  }
  if (!has_json(port.dtype))
    refuse_request("expected bytes (binary_data_size) for \"" + port.name + "\", which is BF16, got JSON");
  const std::uint64_t count = *bytes / std::uint64_t(size_of(port.dtype));
  if (in.data.size() != count)
    refuse_request("expected " + std::to_string(count) + " numbers for \"" + port.name + "\", got " +
                   std::to_string(in.data.size()));
  if (in.data.text) refuse_request("expected numbers for \"" + port.name + "\", got text");
  if (port.dtype == DType::boolean ? in.data.real() : in.data.truth)
    refuse_request("expected " + std::string(port.dtype == DType::boolean ? "true and false" : "numbers") + " for \"" +
                   port.name + "\", got others");
  if (is_integral(port.dtype) && in.data.real())
    refuse_request("expected whole numbers for \"" + port.name + "\", got fractions");
  return *bytes;
}

template <class T> void take_integers(const GivenInput& in, const Tensor& to) {
  T* p = to.data<T>();
  for (std::size_t i = 0; i < in.data.size(); ++i) {
    const std::int64_t v = in.data.integer(i);
    const bool fits = std::is_same_v<T, bool> ? v == 0 || v == 1
                                              : v >= std::int64_t(std::numeric_limits<T>::lowest()) &&
                                                    v <= std::int64_t(std::numeric_limits<T>::max());
    if (!fits)
      refuse_request("expected numbers that " + in.datatype + " has in \"" + in.name + "\", got " + std::to_string(v));
    *p++ = T(v);
  }
}
template <class T> void take_reals(const GivenInput& in, const Tensor& to) {
  T* p = to.data<T>();
  for (std::size_t i = 0; i < in.data.size(); ++i) p[i] = T(in.data.number(i));
}

Tensor from_json(const GivenInput& in, const Port& port) {
  if (port.dtype == DType::float16) {
    const Tensor wide = Tensor::empty(Spec::dense(DType::float64, Shape(in.shape.data(), in.shape.size())));
    take_reals<double>(in, wide);
    return wide.to(DType::float16);
  }
  Tensor t = Tensor::empty(Spec::dense(port.dtype, Shape(in.shape.data(), in.shape.size())));
  switch (port.dtype) {
    case DType::boolean:
      return take_integers<bool>(in, t), t;
    case DType::uint8:
      return take_integers<std::uint8_t>(in, t), t;
    case DType::int8:
      return take_integers<std::int8_t>(in, t), t;
    case DType::int16:
      return take_integers<std::int16_t>(in, t), t;
    case DType::int32:
      return take_integers<std::int32_t>(in, t), t;
    case DType::int64:
      return take_integers<std::int64_t>(in, t), t;
    case DType::float32:
      return take_reals<float>(in, t), t;
    default:
      return take_reals<double>(in, t), t;
  }
}

Tensor from_bytes(const GivenInput& in, const Port& port, std::string_view bytes) {
  Tensor t = Tensor::empty(Spec::dense(port.dtype, Shape(in.shape.data(), in.shape.size())));
  if (bytes.empty()) return t;
  if (port.dtype == DType::boolean) {  // any other byte than 0 is true, and no bool
    bool* to = t.data<bool>();
    for (const char c : bytes) *to++ = c != 0;
  } else {
    std::memcpy(t.raw_data(), bytes.data(), bytes.size());
  }
  return t;
}

void append_number(std::string& to, bool v) { to += v ? "true" : "false"; }
template <class T> void append_number(std::string& to, T v) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(v)) {  // no JSON, but what the common readers know
      to += std::isnan(v) ? "NaN" : v < 0 ? "-Infinity" : "Infinity";
      return;
    }
  }
  char text[32];
  to.append(text, std::to_chars(text, text + sizeof text, v).ptr);
}
template <class T> void append_all(std::string& to, const Tensor& t) {
  const T* p = t.const_data<T>();
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    if (i) to += ',';
    append_number(to, p[i]);
  }
}
void append_data(std::string& to, const Tensor& t) {
  switch (t.dtype()) {
    case DType::boolean:
      return append_all<bool>(to, t);
    case DType::uint8:
      return append_all<std::uint8_t>(to, t);
    case DType::int8:
      return append_all<std::int8_t>(to, t);
    case DType::int16:
      return append_all<std::int16_t>(to, t);
    case DType::int32:
      return append_all<std::int32_t>(to, t);
    case DType::int64:
      return append_all<std::int64_t>(to, t);
    case DType::float64:
      return append_all<double>(to, t);
    default:
      return append_all<float>(to, t.to(DType::float32));  // of halves: exactly
  }
}

struct Choice {  // an output that is asked for
  std::size_t index;
  bool binary;
};
std::vector<Choice> choices(const InferRequest& request, std::span<const Port> ports) {
  std::vector<Choice> all;
  if (request.outputs.empty())
    for (std::size_t i = 0; i < ports.size(); ++i) all.push_back({i, request.binary_output});
  for (const WantedOutput& o : request.outputs) {
    const auto at = std::find_if(ports.begin(), ports.end(), [&](const Port& p) { return p.name == o.name; });
    if (at == ports.end())
      refuse_request("expected outputs of the model (" + names_of(ports) + "), got " + shown(o.name));
    const std::size_t index = std::size_t(at - ports.begin());
    for (const Choice& c : all)
      if (c.index == index) refuse_request("expected each output once, got \"" + o.name + "\" twice");
    all.push_back({index, o.binary.value_or(request.binary_output)});
  }
  return all;
}
void expect_json(const std::string& name, DType dtype, bool binary) {
  if (!binary && !has_json(dtype)) refuse_request("expected \"binary_data\": true for \"" + name + "\", which is BF16");
}

}  // namespace

std::vector<Tensor> read_inputs(const InferRequest& request, std::string_view binary, std::span<const Port> ports) {
  std::vector<const GivenInput*> given(ports.size());
  std::vector<std::string_view> bytes(ports.size());
  std::uint64_t at = 0;
  for (const GivenInput& in : request.inputs) {
    const auto port = std::find_if(ports.begin(), ports.end(), [&](const Port& p) { return p.name == in.name; });
    if (port == ports.end())
      refuse_request("expected inputs of the model (" + names_of(ports) + "), got " + shown(in.name));
    const std::size_t i = std::size_t(port - ports.begin());
    if (given[i]) refuse_request("expected each input once, got \"" + in.name + "\" twice");
    given[i] = &in;
    const std::uint64_t n = checked(in, *port);
    if (!in.bytes) continue;
    if (n > binary.size() - at)
      refuse_request("expected " + std::to_string(n) + " bytes of \"" + in.name + "\", got " +
                     std::to_string(binary.size() - at));
    bytes[i] = binary.substr(at, n), at += n;
  }
  if (at != binary.size())
    refuse_request("expected no bytes after the inputs, got " + std::to_string(binary.size() - at));
  for (std::size_t i = 0; i < ports.size(); ++i)
    if (!given[i]) refuse_request("expected an input \"" + ports[i].name + "\", got none");
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < ports.size(); ++i)
    all.push_back(given[i]->bytes ? from_bytes(*given[i], ports[i], bytes[i]) : from_json(*given[i], ports[i]));
  return all;
}

void check_outputs(const InferRequest& request, std::span<const Port> ports) {
  for (const Choice& c : choices(request, ports))
    if (ports[c.index].declared) expect_json(ports[c.index].name, ports[c.index].dtype, c.binary);
}

InferResponse write_response(const std::string& model, const std::string& version, const InferRequest& request,
                             std::span<const Port> ports, std::span<const Tensor> results) {
  InferResponse r;
  std::string& to = r.body;
  const std::vector<Choice> all = choices(request, ports);
  to = "{\"model_name\":" + json_string(model) + ",\"model_version\":" + json_string(version);
  if (request.id) to += ",\"id\":" + json_string(*request.id);
  to += ",\"outputs\":[";
  std::size_t bytes = 0;
  for (const Choice& c : all) {
    const Tensor& t = results[c.index];
    expect_json(ports[c.index].name, t.dtype(), c.binary);
    if (&c != all.data()) to += ',';
    to += "{\"name\":" + json_string(ports[c.index].name) + ",\"datatype\":\"" + datatype(t.dtype()) + "\",\"shape\":[";
    for (int i = 0; i < t.dim(); ++i) to += (i ? "," : "") + std::to_string(t.size(i));
    to += ']';
    if (c.binary) {
      to += ",\"parameters\":{\"binary_data_size\":" + std::to_string(t.nbytes()) + "}}";
      r.binary = true, bytes += t.nbytes();
    } else {
      to += ",\"data\":[";
      append_data(to, t);
      to += "]}";
    }
  }
  to += "]}";
  r.json = to.size();
  to.reserve(to.size() + bytes);
  for (const Choice& c : all)
    if (c.binary && results[c.index].nbytes())
      to.append(static_cast<const char*>(results[c.index].const_raw_data()), results[c.index].nbytes());
  return r;
}

std::string json_string(std::string_view text) {
  return nlohmann::json(std::string(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}
void refuse_request(const std::string& text) { throw ErrorResponse(400, "infer: " + text); }
std::string error_body(std::string_view text) { return "{\"error\":" + json_string(text) + "}"; }

}  // namespace neura::serve
