#include "cli/ports.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/npy.h"
#include "cli/progress.h"
#include "neura/core/error.h"
#include "neura/core/parallel.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"

namespace neura::cli {

void Status::say(const std::string& text) {
  if (!::isatty(2)) return;
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr), drawn_ = true;
}
Status::~Status() {
  if (drawn_) std::fprintf(stderr, "\r\033[K");
}

std::pair<std::string, std::string> parted(const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos) return {"", text};
  return {text.substr(0, at), text.substr(at + 1)};
}
std::size_t place_of(const std::string& name, const std::vector<std::string>& names, const std::vector<Tensor>& all) {
  std::size_t at = 0;
  if (!name.empty()) at = std::size_t(std::find(names.begin(), names.end(), name) - names.begin());
  else
    while (at < names.size() && all[at]) ++at;
  check<ValueError>(at < names.size(), [&] {
    std::string known;
    for (const std::string& k : names) known += (known.empty() ? "" : ", ") + k;
    return "expected inputs of the model (" + known + "), got " + (name.empty() ? "more of them" : "\"" + name + "\"");
  });
  return at;
}
std::vector<Tensor> read_inputs(const std::vector<std::string>& names, const std::vector<std::string>& files) {
  std::vector<Tensor> all(names.size());
  for (const std::string& text : files) {
    const auto [name, file] = parted(text);
    all[place_of(name, names, all)] = read_npy(file);
  }
  return all;
}

void check_given(const std::vector<std::string>& names, const std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    check<ValueError>(inputs[i].defined(), [&] {
      return "expected a file for the input \"" + names[i] + "\", got none; add --input " + names[i] + "=FILE.npy";
    });
}
Tensor sample(const Shape& shape, DType dtype) {
  Tensor t = zeros(shape, {.dtype = is_floating(dtype) ? DType::float32 : dtype});
  if (!is_floating(dtype)) return t;
  std::uint32_t state = 1;
  float* const to = t.data<float>();
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    state = state * 1664525 + 1013904223;
    to[i] = float(std::int32_t(state)) * 0x1p-31f;
  }
  return t.to(dtype);
}

// With those above it.
static void make_folder(const std::string& path) {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string folder = path.substr(0, end);
    check<IoError>(::mkdir(folder.c_str(), 0777) == 0 || errno == EEXIST,
                   [&] { return "cannot make the folder \"" + folder + "\": " + std::strerror(errno); });
  }
}

static void print_tensor(const Tensor& t) {
#ifdef NEURA_WANTED  // what prints tensors as Neura does would be a thirtieth of the program
  const Tensor all = contiguous(t);
  const auto* at = static_cast<const char*>(all.const_raw_data());
  for (std::int64_t i = 0; i < all.numel(); ++i, at += size_of(all.dtype())) {
    const Scalar x = Scalar::load(all.dtype(), at);
    if (is_integral(all.dtype())) std::printf("%lld ", static_cast<long long>(x.integer()));
    else std::printf("%.9g ", x.real());
    if (is_complex(all.dtype())) std::printf("%+.9gj ", x.imag());
  }
  std::printf("\n");
#else
  std::printf("%s\n", t.str().c_str());
#endif
}

std::string file_of(const std::string& folder, const std::string& output) {
  std::string name = output;
  std::replace(name.begin(), name.end(), '/', '_');
  return folder + "/" + name + ".npy";
}

void write_outputs(const std::vector<Output>& outputs, const std::string& to) {
  const bool one = outputs.size() == 1 && to.ends_with(".npy");
  if (!one && !to.empty()) make_folder(to);
  for (const Output& o : outputs) {
    check<NotImplementedError>(o.tensor.defined(), [&] {
      return "run: expected tensors as outputs, got another value as \"" + o.name + "\"; use neura.onnx of Python";
    });
    const std::string file = one ? to : file_of(to, o.name);
    if (!to.empty()) write_npy(file, o.tensor);
    std::printf("%-16s %s%s\n", o.name.c_str(), o.text.c_str(), to.empty() ? "" : (", written to " + file).c_str());
    if (to.empty()) print_tensor(o.tensor.to(Device()));
  }
}

void measure(std::int64_t runs, double load, const std::vector<std::pair<std::string, std::string>>& inputs,
             const std::function<std::vector<Tensor>()>& run) {
  const auto once = [&] {
    const Clock::time_point start = Clock::now();
    for (const Tensor& t : run())
      if (t && !t.device().is_cpu()) t.to(Device());
    return since(start);
  };
  Status status;
  const double first = once();
  std::vector<double> seconds;
  for (std::int64_t i = 0; i < runs; ++i) {
    status.say("run " + thousands(i + 1) + " of " + thousands(runs));
    seconds.push_back(once());
  }
  status.say("");
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](double part) { return 1e3 * seconds[std::size_t(part * double(seconds.size() - 1))]; };
  for (const auto& input : inputs) std::printf("%-10s %s %s\n", "input", input.first.c_str(), input.second.c_str());
  std::printf("%-10s %d\n%-10s %.1f ms\n%-10s %.3f ms\n", "threads", get_num_threads(), "load", 1e3 * load, "first run",
              1e3 * first);
  std::printf("%-10s %s: least %.3f ms, median %.3f, 90 %% below %.3f, most %.3f\n", "runs", thousands(runs).c_str(),
              at(0), at(0.5), at(0.9), at(1));
  std::printf("%-10s %.1f runs per second\n", "rate", 1e3 / at(0.5));
}

}  // namespace neura::cli
