// neura serve, where the part SERVE is built.
#pragma once
#include <cstdint>
#include <string>

namespace neura::cli {

struct ServeOptions {
  std::string path, host = "127.0.0.1", port_file, device = "cpu";
  int port = 8000, connections = 256;
  std::int64_t max_batch = 32, queue = 256, max_body_mb = 64;
  double max_delay_ms = 2, timeout_ms = 0, poll_seconds = 2;
  bool verbose = false;
};

int serve_models(const ServeOptions&);

}  // namespace neura::cli
