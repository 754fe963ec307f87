// Products of matrices, element-wise operations and reductions on the GPU against the CPU, over sizes: where does the
// way to the device pay? Prints a table and writes gpu_benchmarks.csv. Without a device only the CPU's column is
// filled.
#include <neura/backend/plugin.h>
#include <neura/neura.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "example.h"

using namespace neura;

struct Case {
  const char* name;
  bool matrices;  // sizes are those of square matrices, else numbers of elements
  Tensor (*run)(const Tensor& a, const Tensor& b);
};
const Case kCases[] = {
    {"matmul", true, [](const Tensor& a, const Tensor& b) { return a.matmul(b); }},
    {"add", false, [](const Tensor& a, const Tensor& b) { return a + b; }},
    {"relu", false, [](const Tensor& a, const Tensor&) { return relu(a); }},
    {"exp", false, [](const Tensor& a, const Tensor&) { return exp(a); }},
    {"sum", false, [](const Tensor& a, const Tensor&) { return a.sum(); }},
    {"softmax", false,
     [](const Tensor& a, const Tensor&) {
       return softmax(a.view({-1, 64}), 1);
     }},
};

// Median microseconds of a call. Work on a device is only queued: a batch of calls is timed up to a value that waits.
double microseconds(const Case& c, const Tensor& a, const Tensor& b, int samples) {
  const auto wait = [](const Tensor& t) { t.flatten()[0].item<double>(); };
  using Clock = std::chrono::steady_clock;
  const auto timed = [&](int calls) {
    const auto begin = Clock::now();
    Tensor result;
    for (int i = 0; i < calls; ++i) result = c.run(a, b);
    wait(result);
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / calls;
  };
  timed(1);                                                                      // warms up
  const int calls = int(std::clamp(2e3 / std::max(timed(1), 1.0), 1.0, 100.0));  // about 2 ms a sample
  std::vector<double> all;
  for (int i = 0; i < samples; ++i) all.push_back(timed(calls));
  std::nth_element(all.begin(), all.begin() + samples / 2, all.end());
  return all[std::size_t(samples / 2)];
}

int main(int argc, char** argv) {
  const auto [device, quick] =
      example::options(argc, argv, "GPU against CPU over sizes (--device cuda:1: another GPU).");
  const Device gpu = device.is_cuda() ? device : Device("cuda");
  const std::string missing = unavailable(DeviceType::cuda);
  if (!missing.empty()) std::printf("no GPU's column: %s\n", missing.c_str());
  const int samples = quick ? 3 : 15;
  FILE* file = std::fopen("gpu_benchmarks.csv", "w");
  example::check(file != nullptr, "gpu_benchmarks.csv can be written");
  std::fprintf(file, "operation,size,cpu_us,gpu_us\n");
  std::printf("%-9s %12s %14s %14s %9s\n", "operation", "size", "cpu, us", "gpu, us", "ratio");
  bool ok = true;
  int rows = 0;
  for (const Case& c : kCases)
    for (const std::int64_t n : c.matrices ? std::vector<std::int64_t>{64, 256, 512, 1024, 2048}
                                           : std::vector<std::int64_t>{1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 24}) {
      if (quick && n > (c.matrices ? 256 : 1 << 18)) continue;
      manual_seed(1);
      const Shape sizes = c.matrices ? Shape{n, n} : Shape{n};
      const Tensor a = randn(sizes), b = randn(sizes);
      const double on_cpu = microseconds(c, a, b, samples);
      double on_gpu = std::nan("");
      if (missing.empty()) {
        const Tensor there_a = a.to(gpu), there_b = b.to(gpu);
        on_gpu = microseconds(c, there_a, there_b, samples);
        ok &= allclose(c.run(a, b), c.run(there_a, there_b).to("cpu"),
                       {.rtol = 1e-2, .atol = 1e-2 * std::sqrt(double(n))});
      }
      std::printf("%-9s %12lld %14.1f", c.name, (long long)n, on_cpu);
      if (missing.empty()) std::printf(" %14.1f %9.2f\n", on_gpu, on_cpu / on_gpu);
      else std::printf(" %14s %9s\n", "-", "-");
      std::fprintf(file, "%s,%lld,%.3f,%.3f\n", c.name, (long long)n, on_cpu, on_gpu);
      ok &= on_cpu > 0;
      ++rows;
    }
  std::fclose(file);
  example::check(ok && rows == (quick ? 17 : 30), "every row was measured, and both devices compute the same");
}
