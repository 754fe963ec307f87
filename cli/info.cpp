// neura info: the machine, the build and its devices.
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "cli/commands.h"
#include "cli/machine.h"
#include "neura/backend/plugin.h"
#include "neura/core/library_api.h"
#include "neura/core/parallel.h"
#include "neura/core/stream_api.h"
#include "neura/core/version.h"
#include "neura/cuda/compile.h"
#include "neura/data/mnist.h"

namespace neura::cli {
namespace {

// The value of the first line "key : value" of a file of /proc.
std::string proc_value(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const std::size_t colon = line.find(':');
    const std::size_t at = colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    if (at != std::string::npos) return line.substr(at);
  }
  return "";
}

std::string gib(const std::string& kib) {  // "24663340 kB"
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f GiB", std::strtod(kib.c_str(), nullptr) / (1 << 20));
  return text;
}

std::string version(int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); }  // 13000: "13.0"

// The libraries that kernels come from, and the one that compiles programs' own.
std::string cuda_libraries(const StreamApi* streams) {
  std::string all;
  for (const char* name : {"cuBLAS", "cuDNN"}) {
    int v[3];
    const bool there = streams && streams->libraries && streams->libraries->version(name, v);
    all +=
        std::string(name) +
        (there ? " " + std::to_string(v[0]) + "." + std::to_string(v[1]) + "." + std::to_string(v[2]) : " not found") +
        ", ";
  }
  const std::string nvrtc = cuda::nvrtc_version();
  return all + "NVRTC " + (nvrtc.empty() ? "not found" : nvrtc);
}

// A line for each CUDA device, or one that says why there is none.
void cuda_lines(void (*line)(const char*, const std::string&)) {
  const std::string why = unavailable(DeviceType::cuda);
  if (!why.empty()) return line("cuda", "no: " + why);
  const DeviceApi& api = device_api(Device("cuda"));
  for (int i = 0; i < api.count(); ++i) {
    DeviceInfo d;
    DeviceMemory m;
    throw_failure(api.info(i, &d), "info");
    throw_failure(api.memory(i, &m), "info");
    char text[256];
    if (i == 0) {
      std::snprintf(text, sizeof text, "yes, driver for CUDA %s, built with %s", version(d.driver).c_str(),
                    version(d.runtime).c_str());
      line("cuda", text);
      line("libraries", cuda_libraries(api.streams));
    }
    std::snprintf(text, sizeof text, "%s, compute capability %d.%d, %d multiprocessors, %.1f GiB, %.1f GiB available",
                  d.name, d.major, d.minor, d.multiprocessors, double(m.total) / (1 << 30), double(m.free) / (1 << 30));
    line(("cuda:" + std::to_string(i)).c_str(), text);
  }
}

std::string data_state() {
  return ::access("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz", R_OK) == 0
             ? "/usr/share/datasets/fashion-mnist"
             : "not installed (package dataset-fashion-mnist)";
}

const char* compiler() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#elif defined(__GNUC__)
  return "GCC " __VERSION__;
#else
  return "unknown";
#endif
}

void line(const char* name, const std::string& value) { std::printf("%-14s %s\n", name, value.c_str()); }

}  // namespace

std::string processor_name() {
  const std::string name = proc_value("/proc/cpuinfo", "model name");
  return name.empty() ? "unknown processor" : name;
}

std::string device_name(Device device) {
  if (device.is_cpu()) return processor_name();
  DeviceInfo d;
  throw_failure(device_api(device).info(device.index, &d), "info");
  return d.name;
}

std::string instruction_set() {
#if defined(__x86_64__)
  // As the kernels choose: Highway's AVX3 is these five parts of AVX-512.
  __builtin_cpu_init();
  const bool avx3 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd");
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  return avx3 ? "AVX-512" : avx2 ? "AVX2" : "SSE2";
#elif defined(__aarch64__)
  return "NEON";
#else
  return "baseline";
#endif
}

int info() {
  line("neura", kVersion);
  line("compiler", compiler());
#ifdef NDEBUG
  line("build", "release");
#else
  line("build", "with assertions");
#endif
  line("processor", processor_name());
  line("instructions", instruction_set());
  line("threads", std::to_string(get_num_threads()));
  const std::string total = proc_value("/proc/meminfo", "MemTotal"), free = proc_value("/proc/meminfo", "MemAvailable");
  line("memory", total.empty() ? "unknown" : gib(total) + ", " + gib(free) + " available");
  line("cpu", "yes");
  cuda_lines(line);
  line("fashion-mnist", data_state());
  return kDone;
}

}  // namespace neura::cli
