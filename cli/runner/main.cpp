// The program that `neura deploy --executable` puts before a model: it runs the model that is appended to its own
// file. What goes wrong is one sentence on stderr: exit code 2 for a wrong command line, 1 for everything else.
#include <charconv>
#include <cstdio>
#include <new>

#include "cli/npy.h"
#include "cli/ports.h"
#include "cli/progress.h"
#include "cli/runner/embedded_model.h"
#include "cli/runner/inputs.h"
#include "neura/autograd/grad_mode.h"
#include "neura/core/parallel.h"
#include "neura/core/version.h"

namespace neura::cli {
namespace {

constexpr int kDone = 0, kFailed = 1, kUsage = 2;
constexpr std::int64_t kRuns = 20;

struct Line {  // of the command
  std::string output;
  std::vector<std::string> values;  // of inputs
  std::int64_t runs = 0, threads = 0;
  bool help = false, info = false;
};

[[noreturn]] void misused(const std::string& text) { throw std::invalid_argument(text); }

std::int64_t count_of(const std::string& option, const std::string& text) {
  std::int64_t n = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, n);
  if (read.ec != std::errc() || read.ptr != end || n < 1 || n > 1'000'000)
    misused(option + ": expected a number from 1 to 1000000, got \"" + text + "\"");
  return n;
}
bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

Line read_line(const std::vector<std::string>& words) {
  Line line;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto next = [&] {
      if (i + 1 == words.size()) misused(word + ": expected a value after it, got none");
      return words[++i];
    };
    if (word == "--help" || word == "-h") line.help = true;
    else if (word == "--info") line.info = true;
    else if (word == "--output" || word == "-o") line.output = next();
    else if (word == "--threads") line.threads = count_of(word, next());
    else if (word == "--bench")
      line.runs = i + 1 < words.size() && is_number(words[i + 1]) ? count_of(word, next()) : kRuns;
    else if (word.size() > 1 && word[0] == '-' && word[1] != '.' && (word[1] < '0' || word[1] > '9'))
      misused("expected an option of the list, got " + word);
    else line.values.push_back(word);
  }
  return line;
}

struct Model {
  ProgramFile file;
  std::vector<Spec> inputs, outputs;
  std::uint64_t bytes = 0;

  Model() {
    const std::string self = "/proc/self/exe";
    Appended a{};
    const bool there = read_appended(io::Source(self), a);
    check<FormatError>(there, [] {
      return std::string("expected a model appended to this program, got none; neura deploy --executable appends one");
    });
    file = load_within(self, a);
    inputs = file.program.input_specs(), outputs = file.program.output_specs();
    bytes = a.size;
  }
};

void print_ports(const Model& m) {
  const auto print = [](const char* what, const std::vector<std::string>& names, const std::vector<Spec>& specs) {
    std::printf("%s\n", what);
    for (std::size_t i = 0; i < names.size(); ++i)
      std::printf("  %-20s %s\n", names[i].c_str(), specs[i].str().c_str());
  };
  print("inputs", m.file.inputs, m.inputs), print("outputs", m.file.outputs, m.outputs);
}
void print_help(const std::string& name, const Model& m) {
  std::string values;
  for (const std::string& input : m.file.inputs) values += " [" + input + "=]VALUE";
  std::printf("usage: %s [OPTIONS]%s\n\n", name.c_str(), values.c_str());
  print_ports(m);
  std::printf("\n%s\n", kValueHelp);
  std::printf(
      "\noptions\n"
      "  -o, --output PATH    where results go: FILE.npy for one, else a folder of NAME.npy (default: they are "
      "printed)\n"
      "  --bench [N]          measure N runs (default %lld); inputs that are not given get numbers from -1 to 1, or 0\n"
      "  --threads N          processors to use (default: all this process may use)\n"
      "  --info               what the model is\n"
      "  -h, --help           this text\n",
      static_cast<long long>(kRuns));
}
void print_info(const Model& m) {
  print_ports(m);
  std::printf("%-22s %s bytes, with the weights\n%-22s %s\n", "model", thousands(std::int64_t(m.bytes)).c_str(),
              "calls", thousands(std::int64_t(m.file.program.nodes.size())).c_str());
  std::printf("%-22s %s; the model was written by %s\n", "Neura", kVersion, m.file.version.c_str());
  for (const auto& [key, text] : m.file.metadata) std::printf("%-22s %s\n", key.c_str(), text.c_str());
}

int run(const std::string& name, const Line& line) {
  const Clock::time_point start = Clock::now();
  if (line.threads) set_num_threads(int(line.threads));
  const InferenceMode mode;
  const Model m;
  if (line.help) return print_help(name, m), kDone;
  if (line.info) return print_info(m), kDone;
  const double load = since(start);
  std::vector<Tensor> inputs = given(m.file.inputs, m.inputs, line.values);
  if (line.runs) {
    std::vector<std::pair<std::string, std::string>> shown;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i]) inputs[i] = sample(m.inputs[i].sizes(), m.inputs[i].dtype);
      shown.push_back({m.file.inputs[i], inputs[i].spec().str()});
    }
    measure(line.runs, load, shown, [&] { return graph::run(m.file.program, inputs); });
    return kDone;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i)
    check<ValueError>(inputs[i].defined(), [&] {
      return "expected a value for the input \"" + m.file.inputs[i] + "\", got none; see \"" + name + " --help\"";
    });
  const std::vector<Tensor> results = graph::run(m.file.program, inputs);
  std::vector<Output> outputs;
  for (std::size_t i = 0; i < results.size(); ++i)
    outputs.push_back({m.file.outputs[i], results[i].spec().str(), results[i]});
  write_outputs(outputs, line.output);
  return kDone;
}

}  // namespace
}  // namespace neura::cli

int main(int argc, char** argv) {
  using namespace neura::cli;
  const std::string path = argc ? argv[0] : "model", name = path.substr(path.rfind('/') + 1);
  try {
    return run(name, read_line({argv + (argc ? 1 : 0), argv + argc}));
  } catch (const std::invalid_argument& e) {
    std::fprintf(stderr, "%s: %s; see \"%s --help\"\n", name.c_str(), e.what(), name.c_str());
    return kUsage;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: out of memory\n", name.c_str());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), e.what());
  }
  return kFailed;
}
