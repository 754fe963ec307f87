// A deep network trained with and without checkpointing. Without, every block's inner values are kept for backward;
// with, only what goes from block to block is kept, and the rest is computed once more. The gradients are the same.
#include <neura/neura.h>

#include <chrono>

#include "example.h"

using namespace neura;

struct Block : nn::Module {
  nn::LayerNorm norm;
  nn::Linear up, down;
  explicit Block(std::int64_t width) : norm({width}), up(width, 4 * width), down(4 * width, width) {}
  NEURA_MODULE(Block, norm, up, down)
  Tensor forward(const Tensor& x) { return x + down(gelu(up(norm(x)))); }
};

struct Result {
  std::vector<Tensor> grads;
  double megabytes, milliseconds;
};

Result train_step(nn::Module& net, const std::vector<Ref<Block>>& blocks, const Tensor& input, bool checkpointed) {
  net.zero_grad();
  const Device device = input.device();
  const std::size_t before = memory_allocated(device);
  reset_peak_memory_stats(device);
  const auto begin = std::chrono::steady_clock::now();
  Tensor x = input;
  for (const Ref<Block>& block : blocks) {
    const auto run = [block](const std::vector<Tensor>& in) { return std::vector{(*block)(in[0])}; };
    x = checkpointed ? checkpoint(run, {x})[0] : run({x})[0];
  }
  square(x).mean().backward();
  Result r;
  for (const Tensor& p : net.parameters()) r.grads.push_back(p.grad().to("cpu"));  // waits for the device
  r.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  r.megabytes = double(max_memory_allocated(device) - before) / 1e6;
  return r;
}

int main(int argc, char** argv) {
  const auto [device, quick] = example::options(argc, argv, "A deep network with and without checkpointing.");
  manual_seed(2);
  const std::int64_t width = 128, rows = quick ? 1024 : 4096, depth = quick ? 12 : 24;
  nn::ModuleList net;
  std::vector<Ref<Block>> blocks;
  for (int i = 0; i < depth; ++i) {
    blocks.push_back(nn::make<Block>(width));
    net.append(blocks.back());
  }
  net.to(device);
  // The first block's input requires a gradient, so that checkpoints have something to lead back to.
  const Tensor input = randn({rows, width}).to(device).requires_grad_();

  train_step(net, blocks, input, false);  // warms up
  const Result plain = train_step(net, blocks, input, false), saving = train_step(net, blocks, input, true);
  std::printf("%lld blocks, peak memory of a step: %.1f MB kept, %.1f MB with checkpoints\n", (long long)depth,
              plain.megabytes, saving.megabytes);
  std::printf("time: %.0f ms kept, %.0f ms with checkpoints\n", plain.milliseconds, saving.milliseconds);
  bool same = true;
  for (std::size_t i = 0; i < plain.grads.size(); ++i) same &= equal(plain.grads[i], saving.grads[i]);
  example::check(saving.megabytes < plain.megabytes / 2, "checkpoints need less than half of the memory");
  example::check(same, "the gradients are the same, bit for bit");
}
