// Models as a server holds them: loaded once, shared by all threads, with ports that a request is checked against.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "neura/core/tensor.h"

namespace neura::serve {

struct Port {
  std::string name;
  DType dtype = DType::float32;
  std::vector<std::int64_t> dims;  // -1: any size
  bool declared = true;            // false: dtype and dims are those that a sample gave
};

class Model {
 public:
  virtual ~Model() = default;
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  virtual const char* platform() const = 0;
  // Notes about its loading, for a log.
  const std::vector<std::string>& notes() const { return notes_; }

  // True if rows of several requests may be batched: only where the first size of every input is open, and
  // samples showed that each row of the results follows from that row alone.
  bool batches() const { return batches_; }
  // Inputs on the cpu, of the ports' dtypes and sizes. Results on the cpu, contiguous; nothing is recorded. Any thread
  // may call it: where a run changes the model's memory, one after the other.
  std::vector<Tensor> run(std::span<const Tensor> inputs) const;
  // Runs it on samples, so that the first request finds everything in place. What a model of fixed sizes throws comes
  // out; one of open sizes may not take the sizes that are tried, which makes a note.
  void warm_up();

 protected:
  virtual bool shared() const { return true; }  // may several threads compute at once?
  virtual std::vector<Tensor> compute(std::span<const Tensor> inputs) const = 0;
  std::vector<Port> inputs_, outputs_;

 private:
  bool open() const;       // has an input an open size?
  bool rows_open() const;  // has every input an open first size?
  std::vector<Tensor> samples(std::int64_t rows, std::int64_t size, int integer) const;
  void learn(const std::vector<Tensor>& results);
  bool rows_apart(std::int64_t size) const;
  bool batches_ = false;
  mutable std::mutex turn_;  // of models that are not shared
  std::vector<std::string> notes_;
};

// A file .neura or .onnx, read into memory: a later write to it changes nothing here. `device`: where an ONNX
// model computes; a program was traced on one, which it must be. IoError, FormatError, NotImplementedError for files
// that hold no model, or one with inputs and outputs that no request can carry.
std::shared_ptr<const Model> load_model(const std::string& file, Device device = {});

}  // namespace neura::serve
