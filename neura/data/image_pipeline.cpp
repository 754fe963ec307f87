#include "neura/data/image_pipeline.h"

#include <algorithm>
#include <cmath>

#include "neura/core/file.h"
#include "neura/core/parallel.h"
#include "neura/data/dataset.h"
#include "neura/data/device_copy.h"
#include "neura/data/image.h"
#include "neura/data/image_sets.h"
#include "neura/data/resample.h"

namespace neura::data {
namespace {

struct Memory {  // of a thread, while it makes a batch
  Pixels pixels;
  Resampler resampler;
};

struct Chance {  // of one picture
  std::optional<Draws> crop, flip;
};

Chance reserve(const ImagePipeline& p) {
  Chance c;
  if (p.random_crop) c.crop.emplace(generator());
  if (p.flip > 0) c.flip.emplace(generator());
  return c;
}

// The part of a picture of rows x columns that becomes the result.
Box part_of(const ImagePipeline& p, std::int64_t rows, std::int64_t columns, Chance& chance) {
  if (p.random_crop) {
    const Window w = RandomResizedCrop{p.height, p.width, p.scale, p.ratio}.draw(rows, columns, *chance.crop);
    return {double(w.top), double(w.left), double(w.height), double(w.width)};
  }
  if (p.resize == 0) return {0, 0, double(rows), double(columns)};
  const std::int64_t shorter = std::min(rows, columns);
  const std::int64_t high = p.resize * rows / shorter, wide = p.resize * columns / shorter;
  const double down = double(rows) / double(high), across = double(columns) / double(wide);
  const double top = std::nearbyint(double(high - p.height) / 2), left = std::nearbyint(double(wide - p.width) / 2);
  return {top * down, left * across, double(p.height) * down, double(p.width) * across};
}

// The pixels that `box` needs, of a picture of rows x columns; a random crop sees nothing around itself.
Window needed(const ImagePipeline& p, const Box& box, std::int64_t rows, std::int64_t columns) {
  const double around =
      p.random_crop || p.resize == 0 ? 0 : 2 + std::max(box.height / double(p.height), box.width / double(p.width));
  const auto range = [&](double from, double length, std::int64_t n) {
    const auto first = std::max<std::int64_t>(0, std::int64_t(std::floor(from - around)));
    return std::pair(first, std::min(n, std::int64_t(std::ceil(from + length + around))) - first);
  };
  const auto down = range(box.top, box.height, rows), across = range(box.left, box.width, columns);
  return {down.first, across.first, down.second, across.second};
}

void decode_part(const ImagePipeline& p, std::span<const std::byte> bytes, const std::string& name, Chance& chance,
                 Pixels& pixels, Box& box) {
  if (bytes.size() > 2 && bytes[0] == std::byte{0xff} && bytes[1] == std::byte{0xd8}) {
    JpegReader reader(bytes, name);
    std::int64_t rows = reader.height(), columns = reader.width();
    box = part_of(p, rows, columns, chance);
    int denominator = 1;
    while (p.scaled_decoding && denominator < 8 && box.height >= 2 * denominator * double(p.height) &&
           box.width >= 2 * denominator * double(p.width))
      denominator *= 2;
    for (double* v : {&box.top, &box.left, &box.height, &box.width}) *v /= denominator;
    rows = (rows + denominator - 1) / denominator, columns = (columns + denominator - 1) / denominator;
    const Window window = needed(p, box, rows, columns);
    reader.decode(window, denominator, ImageMode::rgb, pixels);
    box.top -= double(window.top), box.left -= double(window.left);
    return;
  }
  const Tensor image = decode_image(bytes, ImageMode::rgb, false, name).permute({1, 2, 0}).contiguous();
  const std::int64_t rows = image.size(0), columns = image.size(1);
  box = part_of(p, rows, columns, chance);
  const Window window = needed(p, box, rows, columns);
  pixels.bytes.resize(std::size_t(image.numel()) + 64);
  std::copy_n(image.const_data<std::uint8_t>(), image.numel(), pixels.bytes.data());
  pixels.stride = std::size_t(columns) * 3;
  pixels.first = std::size_t(window.top) * pixels.stride + std::size_t(window.left) * 3;
  pixels.height = window.height, pixels.width = window.width, pixels.channels = 3;
  box.top -= double(window.top), box.left -= double(window.left);
}

// Picture i of the batch.
void make(const ImagePipeline& p, const std::string& path, Chance& chance, Memory& memory, Tensor& out,
          std::int64_t i) {
  const std::string file = io::read_file(path);
  Box box{};
  decode_part(p, std::as_bytes(std::span(file)), path, chance, memory.pixels, box);
  const bool flip = chance.flip && chance.flip->uniform() < p.flip;
  const std::int64_t first = i * 3 * p.height * p.width;
  if (p.dtype == uint8)
    return memory.resampler.to_bytes(memory.pixels, box, p.height, p.width, flip, out.data<std::uint8_t>() + first);
  Resampler::PerChannel scale, shift;
  for (std::size_t c = 0; c < 4; ++c) {
    const auto of = [&](const std::vector<double>& v, double otherwise) {
      return v.empty() ? otherwise : v[std::min(c, v.size() - 1)];
    };
    scale[c] = float(1 / (255 * of(p.std, 1)));
    shift[c] = float(-of(p.mean, 0) / of(p.std, 1));
  }
  memory.resampler.to_float(memory.pixels, box, p.height, p.width, flip, scale, shift, out.data<float>() + first);
}

}  // namespace

void ImagePipeline::check_options() const {
  RandomResizedCrop{height, width, scale, ratio}.check_options();
  check<ValueError>(flip >= 0 && flip <= 1,
                    [&] { return "ImagePipeline: expected a probability in [0, 1], got " + Scalar(flip).str(); });
  check<ValueError>(resize == 0 || random_crop || (resize >= height && resize >= width), [&] {
    return "ImagePipeline: expected to resize to " + std::to_string(std::max(height, width)) +
           " or more, which the middle is cut out of, got " + std::to_string(resize);
  });
  check<DTypeError>(dtype == float32 || (dtype == uint8 && mean.empty()), [&] {
    return std::string("ImagePipeline: expected float32, or uint8 without mean and std, got ") + name(dtype);
  });
  check<ValueError>(
      (mean.empty() && std.empty()) || ((mean.size() == 1 || mean.size() == 3) && (std.size() == 1 || std.size() == 3)),
      [&] {
        return "ImagePipeline: expected mean and std of 1 or 3 numbers, got " + std::to_string(mean.size()) + " and " +
               std::to_string(std.size());
      });
  check<ValueError>(std::find(std.begin(), std.end(), 0.0) == std.end(),
                    [] { return "ImagePipeline: expected a std above 0, got 0"; });
}

Tensor ImagePipeline::batch(std::span<const std::string> paths) const {
  check_options();
  std::vector<Chance> chances;
  for (std::size_t i = 0; i < paths.size(); ++i) chances.push_back(reserve(*this));
  Tensor out = empty_batch(dtype, Shape{std::int64_t(paths.size()), 3, height, width});
  parallel_for(std::int64_t(paths.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    Memory memory;
    for (std::int64_t i = begin; i < end; ++i)
      make(*this, paths[std::size_t(i)], chances[std::size_t(i)], memory, out, i);
  });
  return out;
}

Tensor ImagePipeline::read(const std::string& path) const { return batch({&path, 1}).select(0, 0); }

ImageFolderPipeline::ImageFolderPipeline(const std::string& root, ImagePipeline pipeline)
    : pipeline_(std::move(pipeline)), all_(files_by_class(root, picture_endings())) {
  pipeline_.check_options();
}

std::pair<Tensor, std::int64_t> ImageFolderPipeline::get(std::int64_t i) const {
  check_index(i, size());
  const auto& [file, label] = all_.files[std::size_t(i)];
  return {pipeline_.read(file), label};
}

std::pair<Tensor, Tensor> ImageFolderPipeline::get_batch(std::span<const std::int64_t> indices) const {
  std::vector<std::string> paths;
  Tensor labels = empty_batch(int64, Shape{std::int64_t(indices.size())});
  for (std::size_t i = 0; i < indices.size(); ++i) {
    check_index(indices[i], size());
    const auto& [file, label] = all_.files[std::size_t(indices[i])];
    paths.push_back(file), labels.data<std::int64_t>()[i] = label;
  }
  return {pipeline_.batch(paths), labels};
}

}  // namespace neura::data
