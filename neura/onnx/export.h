// Models and functions as ONNX files: they are traced (graph/trace.h), and the operations that ran become nodes.
//
//   onnx::export_model(*net, {x}, "net.onnx", {.input_names = {"image"}, .dynamic = {{0, 0, "batch"}}});
#pragma once
#include "neura/graph/trace.h"
#include "neura/nn/module.h"

namespace neura::onnx {

inline constexpr std::int64_t kFirstOpset = 13, kLastOpset = 24, kUsualOpset = 18;

struct DynamicSize {
  int input = 0, dim = 0;
  std::string name;  // equal names have equal sizes
};
enum class Weights : std::uint8_t {
  automatic,    // in the file, or in `data` where they have more than 1.9 GB
  inside,       // the file
  data,         // PATH.data next to it
  safetensors,  // PATH's stem.safetensors, a file of its own, too
};
struct ExportOptions {
  std::vector<std::string> input_names = {}, output_names = {};  // those that are missing: input_0, output_0
  std::int64_t opset_version = kUsualOpset;                      // 13 to 24
  std::vector<DynamicSize> dynamic = {};
  Weights weights = Weights::automatic;
  bool export_params = true;  // false: parameters become inputs
};

// What f computes of the inputs. Named tensors keep their names. f is called several times, and again with other sizes
// where some are dynamic: those inputs are repeated or cut along these dimensions.
//
// NotImplementedError names an operation that ONNX has no operators for, and the module around it. ValueError for what
// trace() refuses, options that do not fit, memory that f writes, and sizes that do not follow from the dynamic ones.
// Everything is checked before a file is written.
void export_function(const graph::Function& f, std::span<const Tensor> inputs, const std::string& path,
                     const ExportOptions& = {}, std::span<const graph::Named> names = {});
// A module, in evaluation mode; its mode is as before afterwards.
void export_model(nn::Module&, std::span<const Tensor> inputs, const std::string& path, const ExportOptions& = {});
// The bytes of a file; weights are inside.
std::string export_bytes(const graph::Function& f, std::span<const Tensor> inputs, const ExportOptions& = {},
                         std::span<const graph::Named> names = {});

}  // namespace neura::onnx
