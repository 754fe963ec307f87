// The command line of the program neura. What goes wrong is one sentence on stderr: exit code 2 for a wrong command
// line, 1 for everything else.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <new>

#include "cli/commands.h"
#include "neura/core/error.h"
#include "neura/core/parallel.h"
#include "neura/core/version.h"

namespace {

using namespace neura::cli;

struct Commands {
  TrainOptions train;
  EvalOptions eval;
  PredictOptions predict;
  int threads = 0;
};

void add_threads(CLI::App* app, Commands& c) {
  app->add_option("--threads", c.threads, "Processors to use (default: all this process may use)")
      ->check(CLI::Range(1, 4096));
}

void add_device(CLI::App* app, std::string& device) {
  app->add_option("--device", device, "Where to compute: cpu (default), cuda, cuda:1");
}

void add_report(CLI::App* app, std::string& report, std::string& compare) {
  auto* page = app->add_option("--report", report, "Write a page about the run, HTML");
  app->add_option("--compare", compare, "A checkpoint of another run, whose losses the page shows beside")->needs(page);
}

void add_train(CLI::App& app, Commands& c) {
  CLI::App* train = app.add_subcommand("train", "Train a network, print how it goes, save it");
  CLI::App* fashion = train->add_subcommand("fashion-mnist", "Pictures of clothes, 28 x 28, in ten classes");
  TrainOptions& o = c.train;
  fashion->add_option("--model", o.model, "cnn (default) or mlp")->check(CLI::IsMember({"cnn", "mlp"}));
  fashion->add_option("--epochs", o.epochs, "Passes over the pictures (default 4)")->check(CLI::Range(1, 100000));
  fashion->add_option("--batch-size", o.batch_size, "Pictures per step (default 128)")->check(CLI::Range(1, 1000000));
  fashion->add_option("--lr", o.lr, "Highest learning rate of the cycle (default 0.003)")
      ->check(CLI::Range(1e-12, 1e3));
  fashion->add_option("--seed", o.seed, "Decides first weights, order and dropout (default 0)");
  add_device(fashion, o.device);
  const std::map<std::string, GraphMode> modes{
      {"auto", GraphMode::automatic}, {"on", GraphMode::on}, {"off", GraphMode::off}};
  fashion
      ->add_option("--graph", o.graph,
                   "Steps as one CUDA graph: auto (default) where it can be, and says why where not; on; off")
      ->transform(CLI::Transformer(modes).description("{auto,on,off}"));
  fashion->add_option("--data", o.data, "Folder with {train,t10k}-{images-idx3,labels-idx1}-ubyte[.gz]");
  fashion->add_option("--save", o.save,
                      "Checkpoint to write after every epoch (default fashion-mnist-MODEL.safetensors)");
  fashion->add_option("--resume", o.resume, "Checkpoint to go on from, with its settings");
  add_report(fashion, o.report, o.compare);
  add_threads(fashion, c);
  train->allow_extras();  // after the data sets, which would inherit it
  train->parse_complete_callback([train] {
    if (!train->get_subcommands().empty()) return;
    const std::vector<std::string> rest = train->remaining();
    throw CLI::ParseError("train: expected a data set, got " + (rest.empty() ? "none" : "\"" + rest[0] + "\"") +
                              "; there is fashion-mnist",
                          CLI::ExitCodes::ExtrasError);
  });
}

void add_others(CLI::App& app, Commands& c) {
  app.add_subcommand("info", "Version, processor, threads, memory and devices");
  CLI::App* eval = app.add_subcommand("eval", "Test a saved network");
  eval->add_option("FILE", c.eval.file, "A checkpoint of neura train")->required();
  eval->add_option("--data", c.eval.data, "Folder with t10k-{images-idx3,labels-idx1}-ubyte[.gz]");
  add_report(eval, c.eval.report, c.eval.compare);
  add_device(eval, c.eval.device);
  add_threads(eval, c);
  CLI::App* predict = app.add_subcommand("predict", "Say what a picture shows");
  predict->add_option("PICTURE", c.predict.picture, "A PNG file, or the number of a picture of the test set")
      ->required();
  predict->add_option("--model", c.predict.model, "A checkpoint of neura train")->required();
  predict->add_option("--data", c.predict.data, "Folder with the test set, for a number");
  add_device(predict, c.predict.device);
  predict->add_flag("--invert", c.predict.invert, "The picture is dark on light, unlike those of the data set");
  add_threads(predict, c);
}

int run(CLI::App& app, const Commands& c) {
  if (c.threads) neura::set_num_threads(c.threads);
  if (app.got_subcommand("info")) return info();
  if (app.got_subcommand("train")) return train(c.train);
  if (app.got_subcommand("eval")) return evaluate(c.eval);
  return predict(c.predict);
}

}  // namespace

int main(int argc, char** argv) {
  Commands c;
  CLI::App app("Neura trains and uses neural networks.", "neura");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("neura ") + neura::kVersion);
  app.failure_message([](const CLI::App* a, const CLI::Error& e) {
    return std::string("neura: ") + e.what() + "; see \"" + a->get_name() + " --help\"\n";
  });
  add_others(app, c);
  add_train(app, c);
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
