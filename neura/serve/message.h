// Requests for inference and their answers: JSON, with tensors in it or as bytes after it.
#pragma once
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neura/serve/model.h"

namespace neura::serve {

// Numbers of a JSON list, flat: integers up to the first real number, which makes all of them reals. In one memory of 8
// bytes each, since there may be many.
class Numbers {
 public:
  bool truth = false, text = false;       // were there true or false; strings?
  bool real() const { return is_real_; }  // was there a fraction?
  std::size_t size() const { return words_.size(); }
  std::int64_t integer(std::size_t i) const { return std::int64_t(words_[i]); }  // unless real()
  double number(std::size_t i) const { return is_real_ ? std::bit_cast<double>(words_[i]) : double(integer(i)); }
  void add(std::int64_t v) {
    if (is_real_) add(double(v));
    else words_.push_back(std::uint64_t(v));
  }
  void add(double v) {
    if (!is_real_)
      for (std::uint64_t& word : words_) word = std::bit_cast<std::uint64_t>(double(std::int64_t(word)));
    is_real_ = true;
    words_.push_back(std::bit_cast<std::uint64_t>(v));
  }
  std::size_t bytes() const { return words_.capacity() * sizeof(std::uint64_t); }

 private:
  std::vector<std::uint64_t> words_;
  bool is_real_ = false;
};

struct GivenInput {
  std::string name, datatype;
  std::vector<std::int64_t> shape;
  std::optional<std::uint64_t> bytes;  // after the JSON; else `data`
  Numbers data;
  bool has_data = false;
};
struct WantedOutput {
  std::string name;
  std::optional<bool> binary;
};
struct InferRequest {
  std::optional<std::string> id;
  std::optional<std::uint64_t> timeout;  // microseconds
  bool binary_output = false;            // for outputs that say nothing
  std::vector<GivenInput> inputs;
  std::vector<WantedOutput> outputs;  // none: all of them, as binary_output says
};

// ErrorResponse (400) for what is no request: all that can be known without the model.
InferRequest read_request(std::string_view json);

// The tensors of a request in the order of the model's inputs; `binary` is what follows its JSON. ErrorResponse (400)
// for what does not fit the ports: everything is compared before memory is taken.
std::vector<Tensor> read_inputs(const InferRequest&, std::string_view binary, std::span<const Port>);

struct InferResponse {
  std::string body;
  std::size_t json = 0;  // its bytes in front
  bool binary = false;   // does anything follow?
};
// ErrorResponse (400) for outputs that the model does not have, before anything runs.
void check_outputs(const InferRequest&, std::span<const Port>);
InferResponse write_response(const std::string& model, const std::string& version, const InferRequest&,
                             std::span<const Port> outputs, std::span<const Tensor> results);

[[noreturn]] void refuse_request(const std::string& text);  // ErrorResponse, 400
// {"error": text}; bytes that are no UTF-8 are replaced.
std::string error_body(std::string_view text);
std::string json_string(std::string_view text);  // as JSON has it

}  // namespace neura::serve
