// neura deploy --small: a program that has what one model calls and nothing more, compiled for it by CMake from Neura's
// sources.
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "cli/deploy.h"
#include "cli/npy.h"
#include "cli/ports.h"
#include "cli/small/plain.h"
#include "cli/wanted.h"
#include "neura/core/file.h"
#include "neura/core/version.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/reduce.h"

namespace neura::cli {
namespace {

namespace fs = std::filesystem;

std::string build_folder(const DeployOptions& o) {
  const fs::path folder = fs::absolute(o.build.empty() ? o.output + ".build" : o.build);
  return (o.target.empty() ? folder : folder / o.target).string();  // a folder is of one compiler
}

// Runs a program, and gives its lines as they come; false: it failed.
template <class F> bool runs(std::vector<std::string> words, const F& line) {
  int ends[2];
  check<IoError>(::pipe(ends) == 0, [] { return "cannot make a pipe: " + std::string(std::strerror(errno)); });
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], 1), ::dup2(ends[1], 2), ::close(ends[0]), ::close(ends[1]);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  std::FILE* const from = ::fdopen(ends[0], "r");
  char* text = nullptr;
  std::size_t size = 0;
  for (ssize_t n; (n = ::getline(&text, &size, from)) > 0;) line(std::string(text, std::size_t(n)));
  std::free(text), std::fclose(from);
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
bool is_there(const std::string& program, const char* asks = "--version") {
  return runs({program, asks}, [](const std::string&) {});
}

void check_source(const DeployOptions& o) {
  check<ValueError>(!o.source.empty(), [] {
    return std::string("deploy: expected --source FOLDER with --small, Neura's sources, got none");
  });
  check<ValueError>(fs::is_regular_file(o.source + "/cmake/NeuraSmall.cmake"), [&] {
    return "deploy: expected the folder of Neura's sources as --source, got " + o.source +
           ", which has no cmake/NeuraSmall.cmake";
  });
  const std::string version = std::string("project(neura VERSION ") + kVersion + " ";
  check<ValueError>(io::read_file(o.source + "/CMakeLists.txt").find(version) != std::string::npos, [&] {
    return std::string("deploy: expected sources of this version, ") + kVersion + ", got others in " + o.source;
  });
  check<IoError>(is_there("cmake"),
                 [] { return std::string("deploy: expected cmake and a C++ compiler for --small, got no cmake"); });
}

void check_target(const DeployOptions& o) {
  if (o.target.empty()) return;
  check<ValueError>(o.target.find('-') != std::string::npos &&
                        o.target.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-.") == std::string::npos,
                    [&] { return "deploy: expected a --target such as arm-linux-gnueabihf, got " + o.target; });
  check<ValueError>(o.cpu != "native", [&] {
    return "deploy: expected --cpu avx2 or baseline for --target " + o.target + ", got native, this machine's";
  });
  const bool compiler = is_there(o.target + "-g++") || is_there("zig", "version") || is_there("python-zig", "version");
  check<IoError>(compiler, [&] {
    return "deploy: expected a compiler for " + o.target + ", got none: neither " + o.target +
           "-g++ nor zig; \"pip install ziglang\" has one";
  });
}
// What runs programs of the target: nothing on this machine, else qemu; and whether it is there.
bool runs_target(const DeployOptions& o, std::vector<std::string>& by) {
  utsname own{};
  const std::string machine = o.target.substr(0, o.target.find('-'));
  if (o.target.empty() || (::uname(&own) == 0 && machine == own.machine)) return true;
  by = {"qemu-" + machine, "-L", "/usr/" + o.target};
  return is_there(by[0]);
}

// Runs a step of the build. Its lines go to the log.
void step(std::vector<std::string> words, const std::string& what, const std::string& log) {
  Status status;
  status.say(what);
  std::string text;
  const bool done = runs(std::move(words), [&](const std::string& line) {
    text += line;
    if (const std::size_t end = line.find(']'); line[0] == '[' && end != std::string::npos)
      status.say(what + " " + line.substr(0, end + 1));
  });
  status.say("");
  io::write_file(log, text);
  if (done) return;
  std::size_t at = text.find("rror");
  at = at == std::string::npos ? 0 : text.rfind('\n', at) + 1;
  throw IoError("deploy: " + what + " failed, see " + log + ": " + text.substr(at, text.find('\n', at) - at));
}

}  // namespace

std::string build_small(const DeployedModel& d, const DeployOptions& o) {
  check_source(o), check_target(o);
  const std::string wanted = wanted_by(d.file.program, fs::path(d.source).filename().string());
  const std::string folder = build_folder(o), file = folder + "/wanted.def";
  fs::create_directories(folder);
  // As it is, nothing is compiled again.
  if (!fs::exists(file) || io::read_file(file) != wanted) io::write_file(file, wanted);
  std::vector<std::string> configure{"cmake",
                                     "-S",
                                     o.source,
                                     "-B",
                                     folder,
                                     "-DCMAKE_BUILD_TYPE=Release",
                                     "-DNEURA_INFERENCE=ON",
                                     "-DNEURA_OPTIMIZATION=-Os",
                                     "-DNEURA_WERROR=OFF",
                                     "-DNEURA_WANTED=" + file,
                                     "-DNEURA_SIMD_TARGETS=" + o.cpu};
  if (!o.target.empty())
    configure.insert(configure.end(), {"-DNEURA_TARGET=" + o.target, "--toolchain", o.source + "/cmake/target.cmake"});
  if (is_there("ninja")) configure.insert(configure.begin() + 1, {"-G", "Ninja"});
  step(configure, "configuring", folder + "/configure.log");
  step({"cmake", "--build", folder, "--target", "neura_small"}, "compiling", folder + "/build.log");
  return folder + "/bin/neura-small";
}

std::string check_small(const DeployedModel& d, const DeployOptions& o) {
  const std::string folder = build_folder(o) + "/check";
  fs::create_directories(folder);
  std::vector<std::string> words;
  if (!runs_target(o, words)) return "; not checked, as there is no " + words[0];
  words.insert(words.end(), {fs::absolute(o.output).string(), "-o", folder});
  std::vector<Tensor> inputs;
  const std::vector<Spec> specs = d.file.program.input_specs();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    inputs.push_back(sample(specs[i].sizes(), specs[i].dtype));
    write_npy(folder + "/in_" + std::to_string(i) + ".npy", inputs.back());
    words.push_back(d.file.inputs[i] + "=" + folder + "/in_" + std::to_string(i) + ".npy");
  }
  std::string said;
  check<ValueError>(runs(words, [&](const std::string& line) { said += line; }), [&] {
    return "deploy: expected an answer of " + o.output + ", got: " + said.substr(0, said.find('\n'));
  });
  const std::vector<Tensor> want = graph::run(d.file.program, inputs);
  for (std::size_t i = 0; i < want.size(); ++i) {
    const Tensor got = read_npy(file_of(folder, d.file.outputs[i])).to(float64), expected = want[i].to(float64);
    const Tensor sizes = abs(nan_to_num(expected, {.nan = 0, .posinf = 0, .neginf = 0}));
    const double most = sizes.numel() ? amax(sizes).item<double>() : 0;
    const bool same =
        got.shape() == expected.shape() && allclose(got, expected, {.rtol = 0, .atol = 1e-4 * most, .equal_nan = true});
    check<ValueError>(same, [&] {
      return "deploy: expected the library's answers of " + o.output + ", got others as \"" + d.file.outputs[i] + "\"";
    });
  }
  return "";
}

std::string plain_bytes(const ProgramFile& f) {
  std::string to;
  const auto number = [&](std::uint64_t n) { to.append(reinterpret_cast<const char*>(&n), sizeof n); };
  const auto text = [&](const std::string& s) { number(s.size()), to += s; };
  text(f.version), number(f.outputs.size());
  for (const std::string& name : f.outputs) text(name);
  number(f.metadata.size());
  for (const auto& [key, value] : f.metadata) text(key), text(value);
  graph::Program p = f.program;
  std::vector<Tensor> tensors;  // those that are not in the text
  for (std::size_t i = 0; i < p.externals.size(); ++i) {
    graph::External& e = p.externals[i];
    if (e.kind == graph::External::input || (e.kind == graph::External::constant && p.values[i].bytes() <= kInText))
      continue;
    tensors.push_back(std::exchange(e.tensor, Tensor()));
  }
  text(graph::str(p));
  for (const Tensor& t : tensors) {  // as they are in memory, which is as the program says
    to.resize(plain_aligned(to.size()));
    to.append(static_cast<const char*>(t.const_raw_data()), t.nbytes());
  }
  return to;
}

}  // namespace neura::cli
