// Reads an inference request: JSON, event by event.
#include <nlohmann/json.hpp>

#include "neura/serve/error_response.h"
#include "neura/serve/message.h"

namespace neura::serve {
namespace {

using nlohmann::json;

constexpr int kDepth = 64;                                    // of lists and objects in each other
constexpr std::size_t kMostTensors = 1024, kMostName = 1024;  // of a request; bytes

// Takes the request event by event: no tree is built, so that memory stays in proportion to what is kept, and depth is
// bounded.
class RequestReader final : public nlohmann::json_sax<json> {
 public:
  explicit RequestReader(InferRequest& to) : to_(to) {}

  bool null() override { return value("null"); }
  bool boolean(bool v) override {
    if (place() == Place::data) return add(std::int64_t(v)), input().data.truth = true;
    if (place() == Place::request_parameters && key_ == "binary_data_output") return to_.binary_output = v, true;
    if (place() == Place::output_parameters && key_ == "binary_data") return output().binary = v, true;
    return value(v ? "true" : "false");
  }
  bool number_integer(number_integer_t v) override {
    if (place() == Place::data) return add(v), true;
    return value(std::to_string(v));
  }
  bool number_unsigned(number_unsigned_t v) override {
    if (place() == Place::data) {
      if (v > std::uint64_t(INT64_MAX)) add(double(v));
      else add(std::int64_t(v));
      return true;
    }
    if (place() == Place::shape) return add_size(v), true;
    if (place() == Place::input_parameters && key_ == "binary_data_size") return input().bytes = v, true;
    if (place() == Place::request_parameters && key_ == "timeout") return to_.timeout = v, true;
    if (place() == Place::output_parameters && key_ == "classification" && v)
      refuse_request(
          "expected outputs as they are, got the parameter \"classification\", which this server does not have");
    return value(std::to_string(v));
  }
  bool number_float(number_float_t v, const string_t& text) override {
    if (place() == Place::data) return add(v), true;
    return value(text);
  }
  bool binary(binary_t&) override { return value("bytes"); }
  bool string(string_t& v) override {
    const Place at = place();
    if (at == Place::data) {
      if (!input().data.size()) input().data.text = true;
      if (!input().data.text)
        refuse_request("expected numbers in the data of \"" + input().name + "\", got text among them");
      return add(std::int64_t{0}), true;
    }
    if (v.size() > kMostName && at != Place::skipped)
      refuse_request("expected names of at most 1,024 bytes, got a longer one");
    if (at == Place::request && key_ == "id") return to_.id = v, true;
    if (at == Place::input && key_ == "name") return input().name = v, true;
    if (at == Place::input && key_ == "datatype") return input().datatype = v, true;
    if (at == Place::output && key_ == "name") return output().name = v, true;
    return value("text");
  }

  bool start_object(std::size_t) override {
    const Place at = place();
    if (at == Place::start) return enter(Place::request);
    if (at == Place::inputs) {
      if (to_.inputs.size() == kMostTensors) refuse_request("expected at most 1,024 inputs, got more");
      to_.inputs.emplace_back();
      return enter(Place::input);
    }
    if (at == Place::outputs) {
      if (to_.outputs.size() == kMostTensors) refuse_request("expected at most 1,024 outputs, got more");
      to_.outputs.emplace_back();
      return enter(Place::output);
    }
    if (key_ == "parameters") {
      if (at == Place::request) return enter(Place::request_parameters);
      if (at == Place::input) return enter(Place::input_parameters);
      if (at == Place::output) return enter(Place::output_parameters);
    }
    value("an object");
    return enter(Place::skipped);
  }
  bool key(string_t& v) override {
    key_ = v;
    if (v.starts_with("shared_memory") && (place() == Place::input_parameters || place() == Place::output_parameters))
      refuse_request("expected tensors in the request, got shared memory, which this server does not have");
    return true;
  }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override {
    const Place at = place();
    if (at == Place::request && key_ == "inputs") return enter(Place::inputs);
    if (at == Place::request && key_ == "outputs") return enter(Place::outputs);
    if (at == Place::input && key_ == "shape") return input().shape.clear(), enter(Place::shape);
    if (at == Place::input && key_ == "data") {
      if (input().has_data) refuse_request("expected the data of \"" + input().name + "\" once, got it twice");
      return input().has_data = true, enter(Place::data);
    }
    if (at == Place::data) return enter(Place::data);  // rows within it: the shape says what they mean
    value("a list");
    return enter(Place::skipped);
  }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    refuse_request("expected JSON, got something else at byte " + std::to_string(position));
  }

 private:
  enum class Place : std::uint8_t {
    start,
    request,
    request_parameters,
    inputs,
    input,
    input_parameters,
    shape,
    data,
    outputs,
    output,
    output_parameters,
    skipped
  };
  Place place() const { return places_.empty() ? Place::start : places_.back(); }
  bool enter(Place p) {
    if (places_.size() == kDepth) refuse_request("expected lists and objects in at most 64 levels, got more");
    places_.push_back(p);
    return true;
  }
  bool leave() { return places_.pop_back(), true; }
  GivenInput& input() { return to_.inputs.back(); }
  WantedOutput& output() { return to_.outputs.back(); }

  void add_size(std::uint64_t v) {
    if (v > std::uint64_t(INT64_MAX))
      refuse_request("expected sizes below 2^63 in \"" + input().name + "\", got " + std::to_string(v));
    if (input().shape.size() == std::size_t(kMaxRank))
      refuse_request("expected at most " + std::to_string(kMaxRank) + " sizes in \"" + input().name + "\", got more");
    input().shape.push_back(std::int64_t(v));
  }
  template <class N> void add(N v) { input().data.add(v); }

  // Something that is not expected here: what a later version of the protocol may have is passed over.
  bool value(const std::string& got) {
    const Place at = place();
    const bool known =
        (at == Place::request && (key_ == "id" || key_ == "inputs" || key_ == "outputs" || key_ == "parameters")) ||
        (at == Place::input &&
         (key_ == "name" || key_ == "datatype" || key_ == "shape" || key_ == "data" || key_ == "parameters")) ||
        (at == Place::output && (key_ == "name" || key_ == "parameters")) ||
        (at == Place::request_parameters && (key_ == "timeout" || key_ == "binary_data_output")) ||
        (at == Place::input_parameters && key_ == "binary_data_size") ||
        (at == Place::output_parameters && key_ == "binary_data");
    if (at == Place::start) refuse_request("expected an object, got " + got);
    if (at == Place::shape)
      refuse_request("expected sizes, whole numbers from 0, in the shape of \"" + input().name + "\", got " + got);
    if (at == Place::data) refuse_request("expected numbers in the data of \"" + input().name + "\", got " + got);
    if (at == Place::inputs || at == Place::outputs)
      refuse_request(std::string("expected objects in \"") + (at == Place::inputs ? "inputs" : "outputs") + "\", got " +
                     got);
    if (known) refuse_request("expected another value of \"" + key_ + "\" than " + got);
    return true;
  }

  InferRequest& to_;
  std::vector<Place> places_;
  std::string key_;
};

}  // namespace

InferRequest read_request(std::string_view text) {
  InferRequest request;
  RequestReader reader(request);
  if (text.find('\0') != text.npos) refuse_request("expected JSON, got a zero byte");
  json::sax_parse(text.begin(), text.end(), &reader);
  for (const GivenInput& i : request.inputs) {
    if (i.name.empty()) refuse_request("expected an input with a name, got one without");
    if (i.datatype.empty()) refuse_request("expected a datatype of \"" + i.name + "\", got none");
    if (i.has_data == i.bytes.has_value())
      refuse_request("expected \"data\" or the parameter \"binary_data_size\" of \"" + i.name + "\", got " +
                     (i.has_data ? "both" : "neither"));
  }
  return request;
}

}  // namespace neura::serve
