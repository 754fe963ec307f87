// A trained network becomes an ONNX file, which other programs run, and which is read back here: the same answers, also
// for batches of other sizes than that of the example. examples/python/onnx_export_example.py runs such a file in ONNX
// Runtime.
#include <neura/neura.h>
#include <neura/onnx/export.h>
#include <neura/onnx/model.h>

#include <filesystem>

#include "example.h"

using namespace neura;

struct CNN : nn::Module {
  nn::Conv2d conv1{1, 8, 3, {.padding = 1}}, conv2{8, 16, 3, {.padding = 1}};
  nn::BatchNorm2d norm{8};
  nn::MaxPool2d pool{2};
  nn::Linear head{16 * 4 * 4, 4};
  NEURA_MODULE(CNN, conv1, norm, conv2, pool, head)
  Tensor forward(const Tensor& images) {
    const Tensor x = pool(relu(norm(conv1(images))));
    return head(pool(relu(conv2(x))).flatten(1));
  }
};

// 16 x 16 noise; the class is the quarter that is brighter.
std::pair<Tensor, Tensor> make_images(std::int64_t count, Device device) {
  Tensor images = rand({count, 1, 16, 16});
  const Tensor quarter = randint(4, {count});
  for (std::int64_t i = 0; i < count; ++i) {
    const auto q = quarter[i].item<std::int64_t>();
    Tensor part = images[i][0].narrow(0, q / 2 * 8, 8).narrow(1, q % 2 * 8, 8);
    add_(part, 0.5);
  }
  return {images.to(device), quarter.to(device)};
}

int main(int argc, char** argv) {
  const auto [device, quick] = example::options(argc, argv, "A network is exported as ONNX and read back.");
  manual_seed(1);
  CNN net;
  net.to(device);
  optim::Adam optimizer(net.parameters(), {.lr = 3e-3});
  for (int step = 0; step < (quick ? 30 : 100); ++step) {
    const auto [images, quarter] = make_images(32, device);
    const Tensor loss = cross_entropy(net(images), quarter);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  net.eval();

  // The network is called with an example, and what it computes is written down. Size 0 of input 0 stays open.
  const auto path = std::filesystem::temp_directory_path() / "neura-onnx-export-example.onnx";
  const auto [example_images, unused] = make_images(2, device);
  onnx::export_model(net, {{example_images}}, path.string(),
                     {.input_names = {"image"}, .output_names = {"scores"}, .dynamic = {{0, 0, "batch"}}});
  std::printf("%s: %ju bytes\n", path.filename().c_str(), std::uintmax_t(std::filesystem::file_size(path)));

  const Ref<onnx::Model> model = onnx::load(path.string());
  model->to(device);
  std::printf("input %s, output %s, %zu parameters\n", model->input_names()[0].c_str(),
              model->output_names()[0].c_str(), model->parameters().size());
  const NoGrad guard;
  const auto [images, quarter] = make_images(100, device);
  const Tensor here = net(images), there = model->forward({onnx::Value(images)})[0].tensor;
  const double right = mean(eq(there.argmax(1), quarter).to(float32)).item<double>();
  std::printf("largest difference %.1e, %.0f %% of 100 images right\n", max(abs(here - there)).item<double>(),
              100 * right);
  example::check(allclose(here, there, {.rtol = 1e-4, .atol = 1e-5}), "the file computes what the network does");
  example::check(right > 0.9, "and that is right");
  std::filesystem::remove(path);
}
