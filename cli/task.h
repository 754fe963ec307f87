// What neura train, eval, predict and export do differently for pictures, tables and texts.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/config.h"
#include "neura/nn/container.h"

namespace neura::cli {

// A data set by the function that makes a batch of it; it may be called by several threads.
struct Examples {
  std::function<std::pair<Tensor, Tensor>(std::span<const std::int64_t>)> make;
  std::int64_t count = 0;
  std::function<std::string(std::int64_t)> picture = {};  // of an item, as a PNG file; empty where it has none
  std::pair<Tensor, Tensor> get(std::int64_t i) const { return make({&i, 1}); }
  std::pair<Tensor, Tensor> get_batch(std::span<const std::int64_t> indices) const { return make(indices); }
  std::int64_t size() const { return count; }
};

enum class TargetKind { classes, tokens, value };  // what is predicted: one of the classes, the next token, a number

struct TaskData {
  Examples training, validation;
  std::vector<std::string> notes;  // what the user should know of them
};

class Task {
 public:
  explicit Task(Config& c) : config_(c) {}
  virtual ~Task() = default;
  // The data of the run. `fresh`: computes the facts of the run from them; otherwise the facts are given. ValueError
  // for data that cannot be learned from, and where a run continues with other data.
  virtual TaskData open(bool fresh) = 0;
  virtual Examples open_other(const std::string& path) = 0;  // data to test with
  virtual Ref<nn::Sequential> network() const = 0;
  virtual Tensor input() const = 0;  // two items as the network takes them
  virtual int predict(nn::Sequential&, const PredictOptions&) const = 0;
  virtual std::string sample(nn::Sequential&, std::uint64_t /*seed*/) const { return {}; }  // of what it writes

  virtual TargetKind target_kind() const { return TargetKind::classes; }
  virtual const char* things() const = 0;  // "pictures"
  const std::vector<std::string>& classes() const { return classes_; }
  double unit() const { return unit_; }  // of a value: the size of 1 in units of the target

 protected:
  Config& config_;
  std::vector<std::string> classes_;
  double unit_ = 1;
};
std::unique_ptr<Task> make_images(Config&);
std::unique_ptr<Task> make_table(Config&);
std::unique_ptr<Task> make_text(Config&);
std::unique_ptr<Task> make_fashion(Config&);

inline constexpr std::string_view kAutomatic = "auto";  // of models: the task chooses one by its data

struct TaskKind {
  const char *name, *things;
  std::vector<const char*> models;  // the first is the default
  std::int64_t epochs, batch_size;  // 0, and of lr: the task chooses by its data
  double lr;
  std::vector<Hyperparameter> hyperparameters;
  std::unique_ptr<Task> (*make)(Config&);
  bool has_data = false;  // of its own, where none are named
};
const std::vector<TaskKind>& task_kinds();
const TaskKind& kind_of(const std::string& task);  // FormatError for an unknown name

struct LoadedRun {  // the network of a run, to be used
  LoadedRun(const std::string& folder, const std::string& device);
  Config config;
  std::unique_ptr<Task> task;
  Ref<nn::Sequential> model;
};

struct Misprediction {
  std::int64_t item = 0, label = 0, prediction = 0;
  double probability = 0;  // that the network gives its prediction
};
struct Evaluation {
  double loss = 0, seconds = 0;
  std::int64_t count = 0;
  std::vector<std::pair<std::string, double>> values;  // accuracy; perplexity; rmse, r2
  std::vector<std::vector<std::int64_t>> confusion;    // [label][prediction], of classes
  std::vector<Misprediction> mistakes;                 // the most confident ones first; a few
  std::string line() const;                            // "loss 0.1234  accuracy 91.50 %"
};
Tensor loss_of(const Task&, const Tensor& output, const Tensor& target);  // the mean
Tensor hits(const Tensor& output, const Tensor& classes);                 // how many are right
// The network on all of the examples; it comes back in the mode it had.
Evaluation evaluate(const Task&, nn::Sequential&, const Examples&, std::int64_t batch_size);
void load_weights(nn::Sequential&, const std::string& folder);  // of weights_file
std::string number(double);                                     // as results show it: four significant digits

}  // namespace neura::cli
