// Inference on a small machine, such as a Raspberry Pi with a 64-bit system: a tiny network whose weights lie in a
// file, one thread, and how long an answer takes. Training is done where there is more room.
//     edge_inference_example_rpi --make tones.safetensors       on the large machine: trains, writes 7 kB
//     edge_inference_example_rpi tones.safetensors              on the small one: reads the file, and measures
// For 64-bit ARM the program is made by Debian's cross compiler, and tried under emulation (tools/arm.sh does both):
//     tools/arm.sh && cmake --preset arm64
//     ninja -C build/arm64 example_edge_inference_example_rpi
//     scp build/arm64/bin/examples/edge_inference_example_rpi build/arm64/lib/libneura*.so* tones.safetensors pi:
//     ssh pi LD_LIBRARY_PATH=. ./edge_inference_example_rpi tones.safetensors
// On the machine itself it is `make build`. Neither was tried on a real one; build/arm64-root has the libraries that
// may be missing there. Without arguments, or with --quick, the program makes a file, and uses it.
#include <neura/neura.h>

#include <chrono>
#include <cmath>
#include <filesystem>

#include "example.h"

using namespace neura;
namespace fs = std::filesystem;

constexpr const char* kTones[] = {"low", "middle", "high", "none"};
constexpr std::int64_t kSamples = 64;

// A short piece of sound: a tone of one of three kinds, or noise.
std::pair<Tensor, Tensor> make_tones(std::int64_t count) {
  const Tensor kind = randint(4, {count}), pitch = (kind.to(float32) * 3.0 + 1.5 + rand({count})).unsqueeze(1);
  const Tensor time = linspace(0, 6.2831853, kSamples), shift = rand({count, 1}) * 6.28;
  const Tensor loud = (kind < 3).to(float32).unsqueeze(1);
  return {(sin(pitch * time + shift) * loud + randn({count, kSamples}) * 0.3).unsqueeze(1), kind};
}

// About two thousand numbers: what a small machine's cache holds.
struct Tones : nn::Module {
  nn::Conv1d listen{1, 8, 9, {.stride = 4, .padding = 4}};
  nn::Linear hidden{8 * 16, 12}, answer{12, 4};
  NEURA_MODULE(Tones, listen, hidden, answer)
  Tensor forward(const Tensor& x) { return answer(relu(hidden(relu(listen(x)).flatten(1)))); }
};

void make(const std::string& path, int steps) {
  manual_seed(1);
  Tones net;
  optim::Adam optimizer(net.parameters(), {.lr = 5e-3});
  for (int step = 0; step < steps; ++step) {
    const auto [x, kind] = make_tones(128);
    const Tensor loss = cross_entropy(net(x), kind);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  save(path, net.state_dict(), {{"samples", std::to_string(kSamples)}});
}

double use(const std::string& path, int times) {
  set_num_threads(1);  // a second thread would wait longer than these products take
  Tones net;
  net.load_state_dict(load(path, {}, true));  // mapped: pages of the file are read when they are used
  net.eval();
  const InferenceMode on;
  manual_seed(2);
  const auto [x, kind] = make_tones(times);
  std::vector<double> microseconds;
  int right = 0;
  for (std::int64_t i = 0; i < times; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const auto said = net(x.slice(0, i, i + 1)).argmax().item<std::int64_t>();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    microseconds.push_back(took.count());
    const auto is = kind[i].item<std::int64_t>();
    right += said == is;
    if (i < 3) std::printf("heard %-6s (%s)\n", kTones[said], kTones[is]);
  }
  std::sort(microseconds.begin(), microseconds.end());
  std::printf("%jd bytes of weights; an answer takes %.1f us, 99 of 100 at most %.1f us\n",
              std::intmax_t(fs::file_size(path)), microseconds[times / 2], microseconds[std::size_t(times) * 99 / 100]);
  return double(right) / times;
}

int main(int argc, char** argv) try {
  if (argc > 2 && std::string_view(argv[1]) == "--make") return make(argv[2], 600), 0;
  if (argc > 1 && argv[1][0] != '-') return std::printf("%.1f %% right\n", 100 * use(argv[1], 1000)), 0;
  const auto [device, quick] = example::options(argc, argv, "Inference on a small machine: [--make] FILE");
  if (!device.is_cpu()) return std::puts("nothing to show: a small machine has no such device"), 0;
  const fs::path path = fs::temp_directory_path() / "neura-edge-inference.safetensors";
  make(path.string(), quick ? 200 : 600);
  const double right = use(path.string(), quick ? 200 : 1000);
  std::printf("%.1f %% right\n", 100 * right);
  example::check(right > 0.9, "nine of ten pieces of sound are recognised");
  example::check(fs::file_size(path) < 16000, "the weights are less than 16 kB");
  fs::remove(path);
} catch (const Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
