// Sets of colour pictures: a folder for each class, and CIFAR.
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "neura/data/dataset.h"
#include "neura/data/folder.h"
#include "neura/data/image.h"

namespace neura::data {

std::span<const std::string> picture_endings();  // of names of files that read_image reads

// root/CLASS/NAME.jpg, .jpeg, .png, .webp, .bmp, .ppm, .pgm or .pbm: classes and pictures in the order of their names.
// Pictures are read on demand: uint8 [channels, height, width] and the number of the class. IoError where there is no
// picture.
class ImageFolder {
 public:
  explicit ImageFolder(const std::string& root, ImageMode mode = ImageMode::rgb);
  std::pair<Tensor, std::int64_t> get(std::int64_t i) const;
  std::int64_t size() const { return std::int64_t(all_.files.size()); }
  const std::vector<std::string>& classes() const { return all_.classes; }
  const std::vector<std::pair<std::string, std::int64_t>>& files() const { return all_.files; }  // path and class

 private:
  ImageMode mode_;
  Labelled all_;
};

// CIFAR-10, the binary version: data_batch_1.bin to data_batch_5.bin or test_batch.bin. Items: uint8 [3, 32, 32] and
// the class. IoError, FormatError.
class CIFAR10 {
 public:
  explicit CIFAR10(const std::string& root, bool train = true);
  std::pair<Tensor, std::int64_t> get(std::int64_t i) const;
  std::pair<Tensor, Tensor> get_batch(std::span<const std::int64_t> indices) const;
  std::int64_t size() const { return labels_.numel(); }
  const Tensor& images() const { return images_; }
  const Tensor& labels() const { return labels_; }
  static const std::vector<std::string>& class_names();

 private:
  Tensor images_, labels_;
};

}  // namespace neura::data
