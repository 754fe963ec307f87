#include "neura/data/image_pipeline.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "neura/core/file.h"
#include "neura/core/parallel.h"
#include "neura/data/image.h"
#include "neura/data/image_ops.h"
#include "neura/data/loader.h"
#include "neura/data/resample.h"
#include "neura/ops/shape/shape.h"
#include "tests/data/farthest.h"
#include "tests/io/folder.h"
#include "tests/support/close.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::data {
namespace {

using test::error_of;
using test::expect_same;
using test::farthest;
using test::sample;

// Pictures of several sizes and formats, in two classes.
struct ImagePipelineTest : testing::Test {
  const test::Folder folder;
  std::vector<std::string> paths;
  void SetUp() override {
    for (int i = 0; i < 6; ++i) {
      const Tensor x = sample({3, 40 + 7 * i, 90 - 5 * i}, uint8);
      const bool jpeg = has_jpeg() && i % 2 == 0;
      const std::string label = folder / (i < 3 ? "cat" : "dog");
      std::filesystem::create_directories(label);
      paths.push_back(label + "/" + std::to_string(i) + (jpeg ? ".jpg" : i == 1 ? ".ppm" : ".PNG"));
      io::write_file(paths.back(), jpeg ? encode_jpeg(x, 90) : i == 1 ? encode_ppm(x) : encode_png(x));
    }
  }
};

TEST_F(ImagePipelineTest, IsItsTransformsOneAfterTheOther) {
  const std::vector<double> mean = {0.4, 0.5, 0.6}, std = {0.2, 0.25, 0.3};
  Generator a(5), b(5);
  Tensor got;
  {
    const GeneratorScope scope(a);
    got = ImagePipeline{.height = 24, .width = 32, .flip = 0.5, .mean = mean, .std = std}.batch(paths);
  }
  const GeneratorScope scope(b);
  ASSERT_EQ(got.shape(), (Shape{6, 3, 24, 32}));
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const Compose steps(RandomResizedCrop{24, 32}, RandomHorizontalFlip(), ToFloat(), Normalize{mean, std});
    const Tensor want = steps(read_image(paths[i], ImageMode::rgb));
    EXPECT_LT(farthest(got.select(0, std::int64_t(i)), want), 1.01 / 255 / 0.2) << i;  // one level
  }
}

TEST_F(ImagePipelineTest, CutsOutTheMiddle) {
  const Tensor got =
      ImagePipeline{.height = 20, .width = 24, .random_crop = false, .resize = 30, .dtype = uint8}.batch(paths);
  const Tensor whole = ImagePipeline{.height = 20, .width = 24, .random_crop = false, .dtype = uint8}.batch(paths);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const Tensor x = read_image(paths[i], ImageMode::rgb);
    const std::int64_t shorter = std::min(x.size(1), x.size(2));
    const std::int64_t high = 30 * x.size(1) / shorter, wide = 30 * x.size(2) / shorter;
    const Tensor resized = resize(x, high, wide);
    const auto top = std::int64_t(std::nearbyint(double(high - 20) / 2));
    const auto left = std::int64_t(std::nearbyint(double(wide - 24) / 2));
    EXPECT_LE(farthest(got.select(0, std::int64_t(i)), resized.narrow(1, top, 20).narrow(2, left, 24)), 1) << i;
    EXPECT_LE(farthest(whole.select(0, std::int64_t(i)), resize(x, 20, 24)), 1) << i;
  }
}

TEST_F(ImagePipelineTest, ParallelBatchesAreTheSame) {
  const ImagePipeline pipeline{.height = 16, .width = 16, .flip = 0.5};
  const auto draw = [&](int threads) {
    const int before = get_num_threads();
    set_num_threads(threads);
    Generator g(3);
    const GeneratorScope scope(g);
    Tensor batch = pipeline.batch(paths);
    set_num_threads(before);
    return batch;
  };
  expect_same(draw(1), draw(3));
}

TEST_F(ImagePipelineTest, WorkersChangeNothing) {
  std::vector<Tensor> seen[2];
  for (int workers : {0, 2}) {
    DataLoader loader(ImageFolderPipeline(folder.path(), {.height = 16, .width = 16, .flip = 0.5}),
                      {.batch_size = 4, .shuffle = true, .num_workers = workers, .seed = 3});
    for (auto [x, y] : loader) seen[workers / 2].insert(seen[workers / 2].end(), {x, y});
  }
  ASSERT_EQ(seen[0].size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) expect_same(seen[0][i], seen[1][i]);
  const ImageFolderPipeline set(folder.path(), {.height = 16, .width = 16, .random_crop = false});
  EXPECT_EQ(set.size(), 6);
  EXPECT_EQ(set.classes(), (std::vector<std::string>{"cat", "dog"}));
  const std::vector<std::int64_t> indices = {4, 0};
  const auto [x, y] = set.get_batch(indices);
  EXPECT_EQ(y.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 0}));
  expect_same(x.select(0, 0), set.get(4).first);
}

TEST_F(ImagePipelineTest, ScaledDecodingIsNear) {
  if (!has_jpeg()) GTEST_SKIP() << "built without libjpeg-turbo";
  const Tensor x = test::from_loop({3, 400, 600}, uint8, [](const Shape& i) {
    return std::round(127 + 60 * std::sin(0.02 * double(i[1] + 20 * i[0])) + 60 * std::cos(0.015 * double(i[2])));
  });
  const std::string path = folder / "large.jpg";
  io::write_file(path, encode_jpeg(x, 95));
  ImagePipeline p{.height = 40, .width = 60, .random_crop = false, .dtype = uint8};
  const Tensor exact = p.read(path);
  p.scaled_decoding = true;
  const Tensor fast = p.read(path);
  EXPECT_GT(farthest(exact, fast), 0);
  EXPECT_LT(farthest(exact, fast), 6);
}

TEST_F(ImagePipelineTest, RefusesWhatItCannotDo) {
  const auto error = [&](ImagePipeline p) { return error_of<ValueError>([&] { p.batch(paths); }); };
  EXPECT_EQ(error({.height = 0, .width = 4}), "RandomResizedCrop: expected a height and width above 0, got 0 and 4");
  EXPECT_EQ(error({.height = 4, .width = 4, .scale = {0.5, 0.1}}),
            "RandomResizedCrop: expected a scale of two rising numbers above 0, got 0.5 and 0.1");
  EXPECT_EQ(error({.height = 4, .width = 4, .flip = 2}), "ImagePipeline: expected a probability in [0, 1], got 2");
  EXPECT_EQ(error({.height = 9, .width = 4, .random_crop = false, .resize = 8}),
            "ImagePipeline: expected to resize to 9 or more, which the middle is cut out of, got 8");
  EXPECT_EQ(error({.height = 4, .width = 4, .mean = {0, 1}, .std = {1}}),
            "ImagePipeline: expected mean and std of 1 or 3 numbers, got 2 and 1");
  EXPECT_EQ(error({.height = 4, .width = 4, .mean = {0}, .std = {0}}), "ImagePipeline: expected a std above 0, got 0");
  EXPECT_EQ(error_of<DTypeError>([&] { ImagePipeline{.height = 4, .width = 4, .dtype = float64}.batch(paths); }),
            "ImagePipeline: expected float32, or uint8 without mean and std, got float64");
  io::write_file(paths[3], "broken");
  EXPECT_NE(error_of<FormatError>([&] { ImagePipeline{.height = 4, .width = 4}.batch(paths); }).find(paths[3]),
            std::string::npos);
  EXPECT_NE(error_of<IoError>([&] { ImagePipeline{.height = 4, .width = 4}.read(folder / "none.jpg"); }), "no error");
}

TEST(Resampler, AveragesAndInterpolates) {
  Pixels pixels{
      .bytes = {0, 100, 200, 50, 40, 30, 20, 10}, .first = 0, .stride = 4, .height = 2, .width = 4, .channels = 1};
  pixels.bytes.resize(8 + 64);
  Resampler r;
  std::vector<float> out(2);
  // Halving: pixels at -1.5, -0.5, 0.5, 1.5 from the centre weigh 1, 3, 3, 1; the mean of both rows.
  r.to_float(pixels, {0, 0, 2, 4}, 1, 2, false, {1}, {0}, out.data());
  EXPECT_NEAR(out[0], (3 * 20 + 3 * 65 + 110) / 7., 1e-4);
  EXPECT_NEAR(out[1], (65 + 3 * 110 + 3 * 30) / 7., 1e-4);
  r.to_float(pixels, {0, 0, 2, 4}, 1, 2, true, {2}, {1}, out.data());
  EXPECT_NEAR(out[1], 1 + 2 * (3 * 20 + 3 * 65 + 110) / 7., 1e-4);
  std::vector<std::uint8_t> same(8);
  r.to_bytes(pixels, {0, 0, 2, 4}, 2, 4, false, same.data());
  EXPECT_TRUE(std::equal(same.begin(), same.end(), pixels.bytes.begin()));
}

TEST(RandomResizedCrop, FallsBackToTheMiddle) {
  Generator g(1);
  Draws draws(g);
  const Window w = RandomResizedCrop{8, 8, {0.9, 1}, {1, 1}}.draw(100, 20, draws);
  EXPECT_EQ((std::array{w.top, w.left, w.height, w.width}), (std::array<std::int64_t, 4>{40, 0, 20, 20}));
  for (int i = 0; i < 300; ++i) {
    const Window v = RandomResizedCrop{8, 8}.draw(60, 80, draws);
    EXPECT_TRUE(v.top >= 0 && v.left >= 0 && v.top + v.height <= 60 && v.left + v.width <= 80);
    const double area = double(v.height * v.width) / 4800, shape = double(v.width) / double(v.height);
    EXPECT_TRUE(area > 0.06 && area <= 1.01 && shape > 0.7 && shape < 1.42) << area << " " << shape;
  }
}

}  // namespace
}  // namespace neura::data
