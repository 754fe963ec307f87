// The commands of the program neura, apart from how their arguments are read. Each returns the exit code.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace neura::cli {

inline constexpr int kDone = 0, kFailed = 1, kUsage = 2, kInterrupted = 130;  // 128 + SIGINT, as shells have it

struct FitOptions {  // of neura train; what is absent is the run's that is resumed, or the default
  std::string task, data;
  std::optional<std::string> model;
  std::optional<std::int64_t> epochs, batch_size;
  std::optional<double> lr;
  std::optional<std::uint64_t> seed;
  std::vector<std::string> settings;  // KEY=NUMBER
  std::string device = "cpu";
  std::string out, resume;  // folders of runs
  std::string target, as;   // of a table: the column, and "classification" or "regression"
  std::string tokenizer;    // of texts: tokenizer.json; empty: characters
  bool quick = false;
};
struct EvalOptions {
  std::string run, data, report, compare;  // data: others to test with; compare: another run
  std::string device = "cpu";
};
struct PredictOptions {
  std::string run, device = "cpu";
  std::vector<std::string> files;  // pictures, tables, or the words of a prompt; "-": standard input
  bool json = false;
  bool invert = false;  // pictures of Fashion-MNIST: dark on light
  std::int64_t length = 200;
  std::optional<double> temperature;
  std::uint64_t seed = 0;
};

struct FileOptions {
  std::string file;
  bool all = false;  // every tensor
};
struct RunOptions {
  std::string model, output, device = "cpu";
  std::vector<std::string> inputs;  // FILE.npy, or NAME=FILE.npy
  bool trusted = false;             // a file .neura of your own
};
struct ExportOptions {
  std::string model, output;
  std::int64_t opset = 0;  // 0: the usual one
  std::string weights = "auto";
  std::int64_t batch = 1;  // items that a program of a run takes
};
struct BenchOptions {
  std::string model, device = "cpu";
  std::vector<std::string> inputs, sizes;  // sizes: NAME=N
  std::int64_t runs = 20;
  bool trusted = false;
};

struct DeployOptions {
  std::string model, output, runner;        // runner: empty, the one next to this program
  std::string source, build, cpu = "avx2";  // of a small program: Neura's sources, a folder, the instruction sets
  std::string target;                       // and another machine, such as arm-linux-gnueabihf
  std::vector<std::string> sizes;           // NAME=N, of an ONNX model
  bool c = false, executable = false, trusted = false, small = false;
};

struct QuantizeOptions {
  std::string model, output;
  std::vector<std::string> sizes;  // NAME=N, of an ONNX model
  bool trusted = false;
};

int info();
int file_info(const FileOptions&);
int run_model(const RunOptions&);
int export_model(const ExportOptions&);
int bench_model(const BenchOptions&);
int deploy(const DeployOptions&);
int quantize(const QuantizeOptions&);
int train(const FitOptions&);
int evaluate(const EvalOptions&);
int predict(const PredictOptions&);

}  // namespace neura::cli
