// neura serve: a folder of models, until it is stopped.
#include "cli/serve.h"

#include <cstdio>
#include <ctime>
#include <thread>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "neura/core/file.h"
#include "neura/serve/server.h"

namespace neura::cli {
namespace {

void log(const std::string& line) {
  const std::time_t now = std::time(nullptr);
  std::tm t{};
  ::gmtime_r(&now, &t);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &t);
  std::string text = line;  // of the outside, too: one line each
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  std::fprintf(stderr, "%s %s\n", stamp, text.c_str());
}

}  // namespace

int serve_models(const ServeOptions& o) {
  serve::ServerOptions options;
  options.models = {.path = o.path,
                    .device = Device(o.device),
                    .batches = {.max_rows = o.max_batch,
                                .max_delay = std::chrono::microseconds(std::int64_t(1e3 * o.max_delay_ms)),
                                .queue = std::size_t(o.queue)}};
  options.http.host = o.host, options.http.port = o.port;
  options.http.connections = o.connections, options.http.body = std::size_t(o.max_body_mb) << 20;
  options.poll_seconds = o.poll_seconds, options.timeout_seconds = o.timeout_ms / 1e3;
  options.verbose = o.verbose, options.log = log;
  const Interrupt interrupt;
  serve::Server server(options);
  server.start();
  const std::string address = o.host + ":" + std::to_string(server.port());
  log("listening at http://" + address);
  if (!o.port_file.empty()) io::write_file(o.port_file, std::to_string(server.port()) + "\n");
  while (!Interrupt::asked()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  log("ending: requests that run get their answers");
  server.stop();
  log("ended");
  return kDone;
}

}  // namespace neura::cli
