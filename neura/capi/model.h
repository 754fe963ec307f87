// The models of the C interface: an immutable model from a file, and its runners.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "neura/core/tensor.h"
#include "neura/io/safetensors.h"

namespace neura::capi {

struct Port {
  std::string name;
  DType dtype = DType::float32;
  std::vector<std::int64_t> sizes;  // -1: any size
  bool declared = true;             // false: only a run shows dtype and sizes
  Device device = {};               // where the model takes it
};

// Any thread may call it. Inputs fit the ports and are on their devices; results are on any device, and
// may alias other tensors.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual std::vector<Tensor> run(std::span<const Tensor> inputs) = 0;
};

class Model {
 public:
  virtual ~Model() = default;
  virtual std::unique_ptr<Runner> runner() const = 0;  // lives on its own
  std::vector<Port> inputs, outputs;
  Metadata metadata;
};

struct Opening {
  std::string device;  // empty: a program's own, else the cpu
  bool trusted = false, verify = false, borrow = false;
};
// A file .neura, or .onnx where this build has that part. ValueError for another name; what load_program() and
// onnx::load() throw; DeviceError for a program of another device than the one that is asked for.
std::shared_ptr<const Model> open(const std::string& path, const Opening&);
std::shared_ptr<const Model> open(std::span<const std::byte> bytes, const Opening&);

// Defined where the build has ONNX (neura/capi/onnx.cpp) and where it has not (neura/capi/model.cpp).
std::shared_ptr<const Model> open_onnx(std::string_view bytes, const std::string& path, const Opening&);

}  // namespace neura::capi
