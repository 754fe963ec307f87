// The command line of the program neura. What goes wrong is one sentence on stderr: exit code 2 for a wrong command
// line, 1 for everything else.
#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <map>
#include <new>
#include <set>

#include "cli/commands.h"
#include "cli/config.h"
#include "cli/hub.h"
#include "cli/serve.h"
#include "cli/task.h"
#include "cli/train_file.h"
#include "neura/core/error.h"
#include "neura/core/parallel.h"
#include "neura/core/version.h"

namespace {

using namespace neura::cli;

struct Commands {
  FitOptions fit;
  EvalOptions eval;
  PredictOptions predict;
  FileOptions info;
  RunOptions run;
  ExportOptions exported;
  BenchOptions bench;
  DeployOptions deploy;
  QuantizeOptions quantize;
  ServeOptions serve;
  std::vector<std::string> hub, file_settings;
  std::string train_file;
  int threads = 0;
};

void add_threads(CLI::App* app, Commands& c) {
  app->add_option("--threads", c.threads, "Processors to use (default: all this process may use)")
      ->check(CLI::Range(1, 4096));
}

void add_device(CLI::App* app, std::string& device) {
  app->add_option("--device", device, "Where to compute: cpu (default), cuda, cuda:1");
}

std::string joined(const std::vector<const char*>& names) {
  std::string text = names[0] + std::string(" (default)");
  for (std::size_t i = 1; i < names.size(); ++i) text += std::string(", ") + names[i];
  return text;
}

// CLI::Range would say "in range 0.000000 to 1000.000000".
std::string wrong_rate(const std::string& text) {
  double rate = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
  if (error == std::errc() && stop == text.data() + text.size() && rate >= 1e-12 && rate <= 1e3) return {};
  return "expected a number from 1e-12 to 1000, got \"" + text + '"';
}

std::string by_default(const TaskKind& kind, double value) {
  return value == 0 ? std::string("(default: by the number of ") + kind.things + ")"
                    : "(default " + number(value) + ")";
}

// What all of train have in common.
CLI::App* add_fit(CLI::App* train, Commands& c, const char* task, const char* text, const char* data) {
  const TaskKind& kind = kind_of(task);
  CLI::App* fit = train->add_subcommand(task, text);
  FitOptions& o = c.fit;
  fit->add_option(data, o.data,
                  std::string("What to learn from") + (kind.has_data ? " (default: what is installed)" : "") +
                      "; with --resume, where it lies now if it has moved");
  fit->add_option("--model", o.model, joined(kind.models))
      ->check(CLI::IsMember(std::set<std::string>(kind.models.begin(), kind.models.end())).description(""));
  fit->add_option("--epochs", o.epochs, "Passes over the data " + by_default(kind, double(kind.epochs)))
      ->check(CLI::Range(1, 100000).description(""));
  fit->add_option("--batch-size", o.batch_size,
                  std::string(kind.things) + " per step " + by_default(kind, double(kind.batch_size)))
      ->check(CLI::Range(1, 1000000).description(""));
  fit->add_option("--lr", o.lr, "Highest learning rate of the cycle " + by_default(kind, kind.lr))
      ->check(CLI::Validator(wrong_rate, ""));
  fit->add_option("--set", o.settings, "KEY=NUMBER: a setting of those below; as often as you like")
      ->allow_extra_args(false);
  fit->add_option("--seed", o.seed, "Decides split, first weights, order and chance (default 0)");
  fit->add_flag("--quick", o.quick, "One epoch of at most 20 batches, to see that all works");
  fit->add_option("--out", o.out, "The run's folder, a new one (default runs/NAME of the data)");
  fit->add_option("--resume", o.resume, "A run's folder: continue with it, with its settings");
  add_device(fit, o.device);
  add_threads(fit, c);
  fit->footer(hyperparameter_lines(kind.hyperparameters));
  fit->parse_complete_callback([&o, task] { o.task = task; });
  return fit;
}

void add_fits(CLI::App* train, Commands& c) {
  add_fit(train, c, "images", "Pictures: a folder with a folder of PNG, JPEG or WebP files for each class", "DIR");
  CLI::App* table = add_fit(train, c, "table", "A CSV file: one column from the others", "FILE");
  table->add_option("--target", c.fit.target, "The column to predict");
  table->add_option("--as", c.fit.as, "classification or regression (default: what the column looks like)")
      ->check(CLI::IsMember({"classification", "regression"}).description(""));
  CLI::App* text = add_fit(train, c, "text", "A text, or a folder of texts: what comes next", "PATH");
  text->add_option("--tokenizer", c.fit.tokenizer, "A file tokenizer.json (default: characters)");
  add_fit(train, c, "fashion-mnist",
          "Pictures of clothes in ten classes, or another set in {train,t10k}-{images-idx3,labels-idx1}-ubyte[.gz]",
          "DIR");
}

void add_train(CLI::App& app, Commands& c) {
  CLI::App* train = app.add_subcommand("train", "Train a network, print how it goes, save it");
  add_fits(train, c);
  train->add_option("CONFIG.toml", c.train_file, "Or a file of what to train; RUN/config.toml trains a run once more");
  train
      ->add_option("--set", c.file_settings,
                   "With a file, KEY=VALUE over one of its keys or settings; as often as you like")
      ->allow_extra_args(false);
  train->add_option("--threads", c.threads, "With a file, processors to use")->check(CLI::Range(1, 4096));
  train->allow_extras();  // after the data sets, which would inherit it
  train->parse_complete_callback([train, &c] {
    if (!train->get_subcommands().empty()) return;
    std::vector<std::string> rest = train->remaining();
    if (c.train_file.ends_with(".toml") && rest.empty()) return;
    if (!c.train_file.empty() && !c.train_file.ends_with(".toml")) rest.insert(rest.begin(), c.train_file);
    throw CLI::ParseError("train: expected what to train, got " + (rest.empty() ? "none" : "\"" + rest[0] + "\"") +
                              "; there are images, table, text and fashion-mnist",
                          CLI::ExitCodes::ExtrasError);
  });
}

void add_others(CLI::App& app, Commands& c) {
  CLI::App* info = app.add_subcommand("info", "Version, processor, threads, memory and devices; or what a file holds");
  info->add_option("FILE", c.info.file, "A file .onnx, .neura or .safetensors: operators, tensors, sizes, version");
  info->add_flag("--all", c.info.all, "Every tensor, not the first 20");
  CLI::App* eval = app.add_subcommand("eval", "Test a trained network");
  eval->add_option("RUN", c.eval.run, "A run's folder")->required();
  eval->add_option("DATA", c.eval.data,
                   "What to test with, of the kind that the run was given (default: what it held back)");
  auto* page = eval->add_option("--report", c.eval.report, "Write a page about the run, HTML");
  eval->add_option("--compare", c.eval.compare, "Another run's folder, whose losses the page shows next to these")
      ->needs(page);
  add_device(eval, c.eval.device);
  add_threads(eval, c);
  CLI::App* predict =
      app.add_subcommand("predict", "Use a trained network: say what is in pictures or rows, write text");
  predict->add_option("RUN", c.predict.run, "A run's folder")->required();
  predict->add_option(
      "FILE", c.predict.files,
      "Pictures; a CSV file; the beginning of a text; - is standard input; of fashion-mnist also numbers of "
      "test pictures");
  predict->add_flag("--json", c.predict.json, "Answers as lines of JSON");
  predict->add_option("--length", c.predict.length, "Tokens to write (default 200)")->check(CLI::Range(1, 1000000));
  predict->add_option("--temperature", c.predict.temperature, "Lower is surer (default: the run's)")
      ->check(CLI::Range(0.01, 10.0));
  predict->add_option("--seed", c.predict.seed, "Decides what is written (default 0)");
  predict->add_flag("--invert", c.predict.invert, "Of fashion-mnist: the picture is dark on light");
  add_device(predict, c.predict.device);
  add_threads(predict, c);
}

#ifdef NEURA_ONNX
void add_trust(CLI::App* app, bool& trusted) {
  app->add_flag("--trust", trusted, "A file .neura of your own: also operations that are not checked in files");
}

void add_deploy(CLI::App& app, Commands& c) {
  DeployOptions& o = c.deploy;
  CLI::App* deploy = app.add_subcommand("deploy", "Make a program, or C sources, that have a model within");
  deploy->add_option("MODEL", o.model, "A file .neura, or .onnx, which is traced")->required();
  deploy->add_option("-o,--output", o.output, "The program, or with --c the folder, to write")->required();
  auto* executable =
      deploy->add_flag("--executable", o.executable,
                       "One program that needs nothing of Neura; its own --help says how it is used (default)");
  deploy->add_flag("--c", o.c, "A folder: the model as a C file, a header with a function that runs it, an example")
      ->excludes(executable);
  deploy->add_option("--size", o.sizes, "NAME=N: an open size of an ONNX model, such as batch=8 (default 1)");
  auto* runner = deploy->add_option("--runner", o.runner,
                                    "Another neura-runner, such as one for other machines (default: this Neura's)");
  auto* small = deploy->add_flag(
      "--small", o.small, "The program has what the model calls and nothing more: compiled for it, from --source");
  small->excludes(runner)->excludes("--c");
  deploy->add_option("--source", o.source, "With --small: the folder of Neura's sources, of this version")
      ->needs(small);
  deploy
      ->add_option("--build", o.build,
                   "With --small: where to compile; what lies there is used again (default: OUTPUT.build)")
      ->needs(small);
  deploy
      ->add_option(
          "--cpu", o.cpu,
          "With --small: avx2, for every x86-64 and, faster, those with AVX2 (default); baseline; native, this "
          "machine's alone")
      ->check(CLI::IsMember({"avx2", "baseline", "native"}).description(""))
      ->needs(small);
  deploy
      ->add_option("--target", o.target,
                   "With --small: another machine, such as arm-linux-gnueabihf or x86_64-linux-musl, by the compiler "
                   "TARGET-g++ or by zig")
      ->needs(small);
  add_trust(deploy, o.trusted);
}

void add_models(CLI::App& app, Commands& c) {
  CLI::App* run = app.add_subcommand("run", "Run a model of a file once");
  run->add_option("MODEL", c.run.model, "A file .onnx or .neura")->required();
  add_trust(run, c.run.trusted);
  run->add_option("--input", c.run.inputs, "FILE.npy for the next input, or NAME=FILE.npy; once for each input");
  run->add_option("-o,--output", c.run.output,
                  "Where results go: FILE.npy for one, else a folder of NAME.npy (default: they are printed)");
  add_device(run, c.run.device);
  add_threads(run, c);
  CLI::App* bench = app.add_subcommand("bench", "Measure how long a model of a file takes");
  bench->add_option("MODEL", c.bench.model, "A file .onnx or .neura")->required();
  add_trust(bench, c.bench.trusted);
  bench->add_option("--runs", c.bench.runs, "How many, after one that is told apart (default 20)")
      ->check(CLI::Range(1, 1000000));
  bench->add_option("--size", c.bench.sizes, "NAME=N: an open size of the inputs, such as batch=8 (default 1)");
  bench->add_option("--input", c.bench.inputs,
                    "FILE.npy or NAME=FILE.npy (default: numbers from -1 to 1; integers are zero)");
  add_device(bench, c.bench.device);
  add_threads(bench, c);
  CLI::App* exporting = app.add_subcommand("export", "Write a model as an ONNX file or a program");
  exporting->add_option("MODEL", c.exported.model, "A run's folder, or an ONNX file to be written again")->required();
  exporting->add_option("-o,--output", c.exported.output, "The file .onnx or .neura to write")->required();
  exporting->add_option("--opset", c.exported.opset, "Version of ONNX's operators (default 18)")
      ->check(CLI::Range(13, 24));
  exporting
      ->add_option("--weights", c.exported.weights,
                   "inside the file; in OUTPUT.data; in a safetensors file next to it; auto: inside up to 1.9 GB")
      ->check(CLI::IsMember({"auto", "inside", "data", "safetensors"}));
  exporting->add_option("--batch", c.exported.batch, "Of a run, how many items a file .neura takes at once (default 1)")
      ->check(CLI::Range(1, 65536).description(""));
  add_deploy(app, c);
  CLI::App* quantize = app.add_subcommand("quantize", "Write a model with weights of 8 bits, a quarter of the bytes");
  quantize->add_option("MODEL", c.quantize.model, "A file .neura, or .onnx, which is traced")->required();
  quantize->add_option("-o,--output", c.quantize.output, "The file .neura to write")->required();
  quantize->add_option("--size", c.quantize.sizes,
                       "NAME=N: an open size of an ONNX model, such as batch=8 (default 1)");
  add_trust(quantize, c.quantize.trusted);
}
#endif

#ifdef NEURA_SERVE
void add_serve(CLI::App& app, Commands& c) {
  ServeOptions& o = c.serve;
  CLI::App* serve = app.add_subcommand("serve", "Serve models over HTTP, by the Open Inference Protocol (KServe v2)");
  serve->add_option("MODELS", o.path, "A folder with NAME/VERSION/model.neura or model.onnx, or one such file")
      ->required();
  serve->add_option("--host", o.host, "Address to listen at (default 127.0.0.1; 0.0.0.0: every one of this machine)");
  serve->add_option("--port", o.port, "0 to 65535; 0: any that is free, which is printed (default 8000)")
      ->check(CLI::Range(0, 65535).description(""));
  serve->add_option("--port-file", o.port_file, "A file to write the port to");
  serve
      ->add_option("--max-batch", o.max_batch,
                   "Rows that go through a model together; 1: requests run alone (default 32)")
      ->check(CLI::Range(1, 65536).description(""));
  serve
      ->add_option("--max-delay-ms", o.max_delay_ms,
                   "How long an idle model waits for requests that are still being read (default 2)")
      ->check(CLI::Range(0.0, 1e4).description(""));
  serve
      ->add_option("--queue", o.queue,
                   "Requests that may wait for a model; further ones are refused, 429 (default 256)")
      ->check(CLI::Range(1, 1'000'000).description(""));
  serve
      ->add_option("--timeout-ms", o.timeout_ms,
                   "How long requests may wait that do not say it themselves; then 503 (default 0: without end)")
      ->check(CLI::Range(0.0, 1e9).description(""));
  serve->add_option("--max-body-mb", o.max_body_mb, "Largest request, in MiB, also when unpacked (default 64)")
      ->check(CLI::Range(1, 65536).description(""));
  serve->add_option("--connections", o.connections, "Connections at once (default 256)")
      ->check(CLI::Range(1, 65536).description(""));
  serve
      ->add_option("--poll-s", o.poll_seconds,
                   "Seconds between looks for new versions; 0: only when a client asks to load one (default 2)")
      ->check(CLI::Range(0.0, 86400.0).description(""));
  serve->add_flag("--verbose", o.verbose, "A line for each request");
  add_device(serve, o.device);
  add_threads(serve, c);
  serve->footer(
      "Clients: tritonclient[http], kserve, or any other of HTTP, at /v2/models/NAME/infer. Health: /v2/health/ready.\n"
      "Counters for Prometheus: /metrics. Ctrl-C or SIGTERM: requests that run get their answers, and the program "
      "ends.");
}
#endif

// Its words are the Python package's to read, --help too.
void add_hub(CLI::App& app, Commands& c) {
  CLI::App* hub = app.add_subcommand(
      "hub", "List, fetch, check and pack models with their weights (needs the Python package: NEURA_PYTHON, python3)");
  hub->prefix_command();
  hub->set_help_flag();
  hub->parse_complete_callback([&c, hub] { c.hub = hub->remaining(); });
}

// After all of them are added, which would inherit that words may be left.
void refuse_other_commands(CLI::App& app) {
  app.allow_extras();
  app.parse_complete_callback([&app] {
    if (!app.get_subcommands().empty()) return;
    std::string names;
    for (const CLI::App* a : app.get_subcommands([](const CLI::App*) { return true; }))
      names += (names.empty() ? "" : ", ") + a->get_name();
    const std::vector<std::string> rest = app.remaining();
    throw CLI::ParseError(
        "expected a command, got " + (rest.empty() ? "none" : '"' + rest[0] + '"') + "; there are " + names,
        CLI::ExitCodes::RequiredError);
  });
}

// "neura train images", of what was understood of the command line.
std::string command(const CLI::App* app) {
  const auto parsed = app->get_subcommands();
  return app->get_name() + (parsed.empty() ? "" : " " + command(parsed.front()));
}

int run(CLI::App& app, Commands& c) {
  if (c.threads) neura::set_num_threads(c.threads);
  if (app.got_subcommand("info")) return c.info.file.empty() ? info() : file_info(c.info);
#ifdef NEURA_SERVE
  if (app.got_subcommand("serve")) return serve_models(c.serve);
#endif
#ifdef NEURA_ONNX
  if (app.got_subcommand("run")) return run_model(c.run);
  if (app.got_subcommand("bench")) return bench_model(c.bench);
  if (app.got_subcommand("export")) return export_model(c.exported);
  if (app.got_subcommand("deploy")) return deploy(c.deploy);
  if (app.got_subcommand("quantize")) return quantize(c.quantize);
#endif
  if (app.got_subcommand("hub")) return hub(c.hub);
  if (app.got_subcommand("train"))
    return train(c.train_file.empty() ? c.fit : read_train_file(c.train_file, c.file_settings));
  if (app.got_subcommand("eval")) return evaluate(c.eval);
  return predict(c.predict);
}

}  // namespace

int main(int argc, char** argv) {
  Commands c;
  CLI::App app("Neura trains and uses neural networks.", "neura");
  app.set_version_flag("--version", std::string("neura ") + neura::kVersion);
  app.failure_message([](const CLI::App* a, const CLI::Error& e) {
    return std::string("neura: ") + e.what() + "; see \"" + command(a) + " --help\"\n";
  });
  add_others(app, c);
#ifdef NEURA_ONNX
  add_models(app, c);
#endif
#ifdef NEURA_SERVE
  add_serve(app, c);
#endif
  add_hub(app, c);
  add_train(app, c);
  refuse_other_commands(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) ? kUsage : kDone;
  }
  try {
    return run(app, c);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "neura: out of memory\n");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "neura: %s\n", e.what());
  }
  return kFailed;
}
