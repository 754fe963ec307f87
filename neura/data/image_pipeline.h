// Image files to training batches in one pass: only the part that is used is decoded, then resized, mirrored and
// normalised straight into the batch, without a tensor for each picture.
#pragma once
#include <string>
#include <vector>

#include "neura/data/folder.h"
#include "neura/data/transforms.h"

namespace neura::data {

// Makes of each picture what RandomResizedCrop (or resizing and cutting out the middle), RandomHorizontalFlip, ToFloat
// and Normalize make of it one after the other, with the same random numbers, within one level of 255.
struct ImagePipeline {
  std::int64_t height, width;
  bool random_crop = true;
  std::array<double, 2> scale = {0.08, 1}, ratio = {3. / 4, 4. / 3};  // of random crops, as of RandomResizedCrop
  std::int64_t resize = 0;       // otherwise: the shorter side becomes this, then the middle is cut out; 0: no cutting
  double flip = 0;               // the probability of a horizontal flip
  DType dtype = DType::float32;  // or uint8, which stays 0 … 255
  std::vector<double> mean = {}, std = {};  // of 0 … 1: three numbers or one; empty: no Normalize
  // Decodes JPEG at 1/2, 1/4 or 1/8 where that still has as many pixels as the result: faster, and near, not equal.
  bool scaled_decoding = false;

  void check_options() const;  // ValueError, DTypeError
  // Colour pictures of the formats of decode_image, as [number, 3, height, width]. Random numbers are reserved in the
  // order of the paths before any picture is read, so that threads do not matter. IoError; FormatError with the path.
  Tensor batch(std::span<const std::string> paths) const;
  Tensor read(const std::string& path) const;  // [3, height, width]
};

// root/CLASS/NAME of a picture (.jpg, .png, .bmp, …) through a pipeline: items are a tensor and the class's number;
// a loader asks for whole batches. IoError where there is no picture.
class ImageFolderPipeline {
 public:
  ImageFolderPipeline(const std::string& root, ImagePipeline pipeline);
  std::pair<Tensor, std::int64_t> get(std::int64_t i) const;
  std::pair<Tensor, Tensor> get_batch(std::span<const std::int64_t> indices) const;
  std::int64_t size() const { return std::int64_t(all_.files.size()); }
  const std::vector<std::string>& classes() const { return all_.classes; }

 private:
  ImagePipeline pipeline_;
  Labelled all_;
};

}  // namespace neura::data
