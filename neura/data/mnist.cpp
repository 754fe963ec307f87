#include "neura/data/mnist.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "neura/data/idx.h"

namespace neura::data {
namespace {

constexpr const char* kDebianFolder = "/usr/share/datasets/fashion-mnist";
constexpr const char* kDebianPackage = "dataset-fashion-mnist";

// The file with .gz or without, in the folder or where torchvision puts it beneath its root.
std::string find(const std::string& root, const std::string& set, const std::string& name) {
  for (const std::string& folder : {root, root + "/" + set + "/raw"})
    for (const char* ending : {"", ".gz"}) {
      std::string path = folder + "/" + name + ending;
      if (::access(path.c_str(), F_OK) == 0) return path;
    }
  if (root == kDebianFolder)
    throw IoError("Fashion-MNIST is not on this machine: no " + name + ".gz in " + root +
                  "; install it with \"apt install " + kDebianPackage + "\" or name a folder that has it");
  throw IoError("no " + name + " and no " + name + ".gz in \"" + root + "\"");
}

}  // namespace

MNIST::MNIST(const MNISTOptions& o, const char* set, std::vector<std::string> classes) : classes_(std::move(classes)) {
  check<ValueError>(!o.root.empty(), [] { return "MNIST: expected the folder with its files as root, got none"; });
  const std::string part = o.train ? "train" : "t10k";
  const std::string image_file = find(o.root, set, part + "-images-idx3-ubyte");
  const std::string label_file = find(o.root, set, part + "-labels-idx1-ubyte");
  images_ = read_idx(image_file);
  const Tensor labels = read_idx(label_file);
  check<FormatError>(images_.dtype() == uint8 && images_.dim() == 3, [&] {
    return image_file + ": expected pictures, uint8 [n, height, width], got " + images_.spec().str();
  });
  check<FormatError>(labels.dtype() == uint8 && labels.dim() == 1 && labels.size(0) == images_.size(0), [&] {
    return label_file + ": expected a label for each of " + std::to_string(images_.size(0)) + " pictures, got " +
           labels.spec().str();
  });
  images_ = images_.unsqueeze(1);
  labels_ = Tensor::empty(Spec::dense(int64, labels.shape()));
  const auto* from = labels.const_data<std::uint8_t>();
  std::copy(from, from + labels.numel(), labels_.data<std::int64_t>());
  const int last = labels.numel() ? *std::max_element(from, from + labels.numel()) : 0;
  if (classes_.empty())
    for (int i = 0; i <= std::max(last, 9); ++i) classes_.push_back(std::to_string(i));
  check<FormatError>(last < int(classes_.size()), [&] {
    return label_file + ": expected classes below " + std::to_string(classes_.size()) + ", got " + std::to_string(last);
  });
}

std::pair<Tensor, std::int64_t> MNIST::get(std::int64_t i) const {
  check_index(i, size());
  return {images_.select(0, i), labels_.const_data<std::int64_t>()[i]};
}

std::pair<Tensor, Tensor> MNIST::get_batch(std::span<const std::int64_t> indices) const {
  return {gather_rows(images_, indices), gather_rows(labels_, indices)};
}

FashionMNIST::FashionMNIST(MNISTOptions o)
    : MNIST({.root = o.root.empty() ? kDebianFolder : o.root, .train = o.train}, "FashionMNIST", class_names()) {}

const std::vector<std::string>& FashionMNIST::class_names() {
  static const std::vector<std::string> names = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                                 "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
  return names;
}

}  // namespace neura::data
