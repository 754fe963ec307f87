// What the examples share: options of the command line, and claims that must hold.
//     --device D    where to compute: "cpu", or "cuda" and "cuda:1" in builds with CUDA
//     --quick       less of everything: a few seconds, for tests
//     --help
// Not part of the library: a program of your own needs nothing of this.
#pragma once
#include <neura/backend/plugin.h>
#include <neura/core/error.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace example {

struct Options {
  neura::Device device;
  bool quick = false;
};

// The device, which must be there: otherwise the program ends with 2 and says why.
inline neura::Device device_of(const char* text) try {
  const neura::Device device(text);
  if (const std::string why = neura::unavailable(device.type); !why.empty()) throw neura::DeviceError(why);
  return device;
} catch (const neura::Error& e) {
  std::fprintf(stderr, "--device %s: %s\n", text, e.what());
  std::exit(2);
}

// `about` is what --help prints. A word that is unknown ends the program with 2.
inline Options options(int argc, char** argv, const char* about) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--quick") o.quick = true;
    else if (word == "--device" && i + 1 < argc) o.device = device_of(argv[++i]);
    else {
      const bool help = word == "--help" || word == "-h";
      std::fprintf(help ? stdout : stderr, "%s\n\nusage: %s [--device cpu|cuda[:N]] [--quick]\n", about, argv[0]);
      std::exit(help ? 0 : 2);
    }
  }
  return o;
}

// Prints the claim; one that does not hold ends the program with 1.
inline void check(bool holds, const char* claim) {
  std::printf("%s: %s\n", holds ? "ok" : "FAILED", claim);
  if (!holds) std::exit(1);
}

}  // namespace example
