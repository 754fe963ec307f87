#include "cli/runner/inputs.h"

#include <cerrno>

#include "cli/npy.h"
#include "cli/ports.h"
#include "cli/runner/embedded_model.h"
#include "neura/core/number_text.h"
#include "neura/core/scalar_range.h"
#include "neura/ops/create/copy.h"

namespace neura::cli {
namespace {

// As the input has it; integers are read as such, so that none is rounded.
Tensor numbers(const std::string& name, const Spec& s, const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text)
    if (c == ',' || c == ' ') words.emplace_back();
    else words.back() += c;
  std::erase(words, "");
  const auto expect = [&](bool ok, const std::string& what, const std::string& got) {
    check<ValueError>(ok, [&] { return "expected " + what + " for the input \"" + name + "\", got " + got; });
  };
  expect(words.size() == 1 || std::int64_t(words.size()) == s.numel,
         std::to_string(s.numel) + " numbers (or one, or " + kFiles + ")",
         words.empty() ? "none" : std::to_string(words.size()) + " numbers");
  const bool integral = is_integral(s.dtype);
  Tensor t = Tensor::empty(Spec::dense(s.dtype, s.sizes()));
  char* to = static_cast<char*>(t.raw_data());
  for (std::int64_t i = 0; i < s.numel; ++i) {
    const std::string& word = words[words.size() == 1 ? 0 : std::size_t(i)];
    double real = 0;
    char* end = nullptr;
    errno = 0;
    const long long whole = std::strtoll(word.c_str(), &end, 10);
    const bool fits = errno == 0 && in_range(std::int64_t(whole), s.dtype);
    expect(integral ? !*end && end != word.c_str() : parse_number(word, real),
           std::string(integral ? "whole numbers (or " : "numbers (or ") + kFiles + ")", "\"" + word + "\"");
    expect(!integral || fits, std::string("numbers that ") + neura::name(s.dtype) + " holds", "\"" + word + "\"");
    (integral ? Scalar(std::int64_t(whole)) : Scalar(real)).store(s.dtype, to + i * size_of(s.dtype));
  }
  return t;
}

Tensor checked(const std::string& name, const Spec& s, const Tensor& t, const std::string& from) {
  const auto text = [&] {
    return "expected " + s.str() + " as the input \"" + name + "\", got " + t.spec().str() + " in " + from;
  };
  check<DTypeError>(t.dtype() == s.dtype, text);
  check<ShapeError>(t.spec().same_shape(s), text);
  return t;
}
Tensor of_file(const std::string& name, const Spec& s, const std::string& path) {
  if (path.ends_with(".npy")) return checked(name, s, read_npy(path), path);
  const auto all = tensors_in(path);
  const Tensor* t = all.size() == 1 ? &all[0].second : nullptr;
  for (const auto& item : all)
    if (item.first == name) t = &item.second;
  check<ValueError>(t, [&] { return path + ": expected a tensor \"" + name + "\", got none of that name"; });
  return checked(name, s, *t, path);
}

}  // namespace

std::vector<Tensor> given(const std::vector<std::string>& names, const std::vector<Spec>& specs,
                          const std::vector<std::string>& values) {
  std::vector<Tensor> all(names.size());
  for (const std::string& word : values) {
    const auto [name, value] = parted(word);
    if (name.empty() && value.ends_with(".safetensors")) {
      bool used = false;
      for (const auto& [own, tensor] : tensors_in(value))
        for (std::size_t i = 0; i < names.size(); ++i)
          if (own == names[i]) all[i] = checked(own, specs[i], tensor, value), used = true;
      if (used) continue;
    }
    const std::size_t at = place_of(name, names, all);
    const bool is_file = value.ends_with(".npy") || value.ends_with(".safetensors");
    all[at] = is_file ? of_file(names[at], specs[at], value) : numbers(names[at], specs[at], value);
  }
  return all;
}

}  // namespace neura::cli
