// The same operations on the GPU and on the CPU: tensors made there or moved there, relu, a broadcast sum, a product of
// matrices, a reduction, with the results compared. Without a device the program says why, and that is all.
#include <neura/backend/plugin.h>
#include <neura/neura.h>

#include <cstdio>

using namespace neura;

namespace {

// |there - here| <= 1e-6 + |here| * relative, everywhere
bool same(const char* what, const Tensor& there, const Tensor& here, double relative) {
  const Tensor back = there.to("cpu");
  const bool placed = there.device().is_cuda() && back.shape() == here.shape();
  const double worst = placed ? abs(back - here).argmax().item<double>() : -1;
  const bool close = placed && all(abs(back - here) <= abs(here) * relative + 1e-6).item<bool>();
  std::printf("%-28s %-14s %s\n", what, there.shape().str().c_str(), close ? "as on the cpu" : "DIFFERENT");
  if (!close) std::printf("  worst at element %.0f\n", worst);
  return close;
}

}  // namespace

int main() {
  if (const std::string why = unavailable(DeviceType::cuda); !why.empty()) {
    std::printf("nothing to show without a CUDA device: %s\n", why.c_str());
    return 0;
  }
  const Device gpu("cuda");
  bool ok = true;

  // Made there, from the same generator: the same numbers.
  manual_seed(1);
  const Tensor a = randn({512, 256});
  manual_seed(1);
  const Tensor a_there = randn({512, 256}, {.device = gpu});
  ok &= same("randn", a_there, a, 1e-5);

  // Moved there
  const Tensor b = randn({256, 384}), bias = randn({384});
  const Tensor b_there = b.to(gpu), bias_there = bias.to(gpu);
  ok &= same("relu", relu(a.to(gpu)), relu(a), 0);
  ok &= same("b + bias, broadcast", b_there + bias_there, b + bias, 0);
  ok &= same("matmul", a.to(gpu).matmul(b_there), a.matmul(b), 1e-3);
  ok &= same("sum over rows", b_there.sum(Dims(0)), b.sum(Dims(0)), 1e-4);
  ok &= same("int64 product", (arange(20).reshape({4, 5}) * 3).to(gpu).matmul(arange(5).to(gpu)),
             (arange(20).reshape({4, 5}) * 3).matmul(arange(5)), 0);

  // Everything above was queued; item() waits for the device, and brings one number.
  const double total = relu(a_there.matmul(b_there) + bias_there).mean().item<double>();
  std::printf("mean of relu(a b + bias): %.6f\n%s\n", total, ok ? "ok" : "failed");
  return ok ? 0 : 1;
}
