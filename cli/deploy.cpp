// neura deploy: a model in a program of its own, or in C sources.
#include "cli/deploy.h"

#include <cstdio>
#include <filesystem>

#include "cli/model.h"
#include "cli/ports.h"
#include "cli/program.h"
#include "cli/progress.h"
#include "cli/runner/appended.h"
#include "cli/small/plain.h"
#include "neura/autograd/grad_mode.h"

namespace neura::cli {
namespace {

namespace fs = std::filesystem;

DeployedModel read(const DeployOptions& o) {
  DeployedModel d{o.model, {}, {}, o.trusted};
  if (is_program(o.model)) {
    check<ValueError>(o.sizes.empty(), [&] {
      return "deploy: expected no --size for a program, whose sizes are fixed, got " + o.sizes[0];
    });
    d.bytes = io::read_file(o.model);
  } else {
    check<ValueError>(fs::path(o.model).extension() == ".onnx", [&] {
      return "deploy: expected a file .neura or .onnx, got " + o.model + "; neura export makes one of a run";
    });
    const NoGrad off;
    const OnnxFunction traced("deploy", o.model, o.sizes);
    d.bytes = save_program_bytes(graph::trace(traced.f, traced.inputs, traced.names),
                                 {traced.input_names, traced.output_names});
    d.trusted = true;  // just traced here, so it may be trusted
  }
  d.file = load_program(std::as_bytes(std::span(d.bytes)), d.trusted, o.model);
  for (const Spec& s : d.file.program.values)
    check<DeviceError>(s.device.is_cpu(), [&] {
      return "deploy: expected a program of the cpu, got one of " + s.device.str() + "; trace it there";
    });
  return d;
}

// Besides this program, where it was built and where it is installed.
std::string found_runner(const std::string& given) {
  std::string path = given;
  if (path.empty()) path = (fs::read_symlink("/proc/self/exe").parent_path() / "neura-runner").string();
  check<IoError>(fs::is_regular_file(path), [&] {
    return "deploy: expected the program neura-runner, to which a model is appended, got no file " + path +
           "; build the target neura_runner, or pass --runner FILE";
  });
  return path;
}
std::string write_executable(const DeployedModel& d, const DeployOptions& o) {  // gives what to say
  const std::string path = o.small ? build_small(d, o) : found_runner(o.runner), runner = io::read_file(path);
  Appended there{};
  check<ValueError>(runner.compare(0, 4,
                                   "\x7f"
                                   "ELF") == 0 &&
                        !read_appended(io::Source(std::as_bytes(std::span(runner)), path), there),
                    [&] { return "deploy: expected a neura-runner without a model, got " + path; });
  const std::string plain = o.small ? plain_bytes(d.file) : "", &model = o.small ? plain : d.bytes;
  io::AtomicFile file(o.output);
  file.write(runner), file.write(behind(runner.size(), model, d.trusted));
  file.commit();
  using fs::perms;
  perms may = fs::status(o.output).permissions();  // who may read it may run it
  for (const auto& [reads, runs] :
       {std::pair{perms::owner_read, perms::owner_exec}, std::pair{perms::group_read, perms::group_exec},
        std::pair{perms::others_read, perms::others_exec}})
    if ((may & reads) != perms::none) may |= runs;
  fs::permissions(o.output, may);
  const std::string unchecked = o.small ? check_small(d, o) : "";
  const auto size = [](std::size_t n) { return thousands(std::int64_t(n)); };
  return o.output + ", " + size(fs::file_size(o.output)) + " bytes: " + size(runner.size()) + " of the program, " +
         size(model.size()) + " of the model" + unchecked;
}

}  // namespace

int deploy(const DeployOptions& o) {
  Status status;
  status.say("reading " + o.model);
  const DeployedModel d = read(o);
  status.say("writing " + o.output);
  const std::string written = o.c ? write_c(d, o.output) : write_executable(d, o);
  status.say("");
  std::printf("written: %s\n", written.c_str());
  return kDone;
}

}  // namespace neura::cli
