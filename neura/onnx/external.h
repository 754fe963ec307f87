// Tensors of a model that are stored in other files of its folder.
#pragma once
#include <map>
#include <string>

#include "neura/core/file.h"
#include "neura/onnx/proto.h"

namespace neura::onnx {

class ExternalData {
 public:
  explicit ExternalData(const std::string& model);
  // Lets every external tensor of the model refer to its bytes, which live as long as this object. FormatError for a
  // name that leads out of the folder (absolute, "..", a link), or a place beyond the end of the file.
  void attach(ModelProto&);

 private:
  void attach(GraphProto&);
  void attach(NodeProto&);
  void attach(TensorProto&);
  std::string folder_;
  std::map<std::string, std::shared_ptr<io::Mapping>> files_;
};

}  // namespace neura::onnx
