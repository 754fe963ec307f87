// MNIST and Fashion-MNIST: pictures of 28 x 28 pixels in ten classes, and any other set in the same four files.
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "neura/data/dataset.h"

namespace neura::data {

struct MNISTOptions {
  std::string root = {};  // the folder with the four files; else where Debian's package puts them
  bool train = true;      // 60,000 pictures, or the 10,000 for testing
};

// Items are pairs: the picture, uint8 [1, height, width], and its class, int64. The files are
// {train,t10k}-{images-idx3,labels-idx1}-ubyte, with .gz or without. IoError where they are missing, FormatError where
// they are damaged or do not belong together.
class MNIST {
 public:
  explicit MNIST(const MNISTOptions& options) : MNIST(options, "MNIST", {}) {}
  std::pair<Tensor, std::int64_t> get(std::int64_t i) const;
  std::pair<Tensor, Tensor> get_batch(std::span<const std::int64_t> indices) const;
  std::int64_t size() const { return labels_.numel(); }
  const Tensor& images() const { return images_; }  // uint8 [n, 1, height, width]
  const Tensor& labels() const { return labels_; }  // int64 [n]
  const std::vector<std::string>& classes() const { return classes_; }

 protected:
  MNIST(const MNISTOptions& options, const char* set, std::vector<std::string> classes);

 private:
  Tensor images_, labels_;
  std::vector<std::string> classes_;
};

// Zalando's pictures of clothes. Without a root, Debian's package dataset-fashion-mnist; where that is not installed,
// an IoError that says so.
class FashionMNIST : public MNIST {
 public:
  explicit FashionMNIST(MNISTOptions options = {});
  static const std::vector<std::string>& class_names();
};

}  // namespace neura::data
