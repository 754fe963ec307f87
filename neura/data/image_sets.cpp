#include "neura/data/image_sets.h"

#include <cstring>

#include "neura/core/file.h"

namespace neura::data {

std::span<const std::string> picture_endings() {
  static const std::vector<std::string> endings = {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".ppm", ".pgm", ".pbm"};
  return endings;
}

ImageFolder::ImageFolder(const std::string& root, ImageMode mode)
    : mode_(mode), all_(files_by_class(root, picture_endings())) {}

std::pair<Tensor, std::int64_t> ImageFolder::get(std::int64_t i) const {
  check_index(i, size());
  const auto& [file, label] = all_.files[std::size_t(i)];
  return {read_image(file, mode_), label};
}

CIFAR10::CIFAR10(const std::string& root, bool train) {
  constexpr std::size_t kPixels = 3 * 32 * 32, kRecord = 1 + kPixels;
  std::string all;
  for (int part = 1; part <= (train ? 5 : 1); ++part) {
    const std::string file = root + (train ? "/data_batch_" + std::to_string(part) : "/test_batch") + ".bin";
    const std::string bytes = io::read_file(file);
    check<FormatError>(bytes.size() % kRecord == 0, [&] {
      return file + ": expected pictures of " + std::to_string(kRecord) + " bytes, got " +
             std::to_string(bytes.size()) + " bytes; the file was cut off or is no CIFAR-10 batch";
    });
    for (std::size_t at = 0; at < bytes.size(); at += kRecord)
      check<FormatError>(static_cast<unsigned char>(bytes[at]) < 10, [&] {
        return file + ": expected a class below 10 at byte " + std::to_string(at) + ", got " +
               std::to_string(static_cast<unsigned char>(bytes[at]));
      });
    all += bytes;
  }
  const auto n = std::int64_t(all.size() / kRecord);
  images_ = Tensor::empty(Spec::dense(uint8, Shape{n, 3, 32, 32}));
  labels_ = Tensor::empty(Spec::dense(int64, Shape{n}));
  for (std::int64_t i = 0; i < n; ++i) {
    const char* record = all.data() + std::size_t(i) * kRecord;
    labels_.data<std::int64_t>()[i] = static_cast<unsigned char>(*record);
    std::memcpy(images_.data<std::uint8_t>() + std::size_t(i) * kPixels, record + 1, kPixels);
  }
}

std::pair<Tensor, std::int64_t> CIFAR10::get(std::int64_t i) const {
  check_index(i, size());
  return {images_.select(0, i), labels_.const_data<std::int64_t>()[i]};
}

std::pair<Tensor, Tensor> CIFAR10::get_batch(std::span<const std::int64_t> indices) const {
  return {gather_rows(images_, indices), gather_rows(labels_, indices)};
}

const std::vector<std::string>& CIFAR10::class_names() {
  static const std::vector<std::string> names = {"airplane", "automobile", "bird",  "cat",  "deer",
                                                 "dog",      "frog",       "horse", "ship", "truck"};
  return names;
}

}  // namespace neura::data
