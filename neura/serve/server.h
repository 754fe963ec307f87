// A server of models with the Open Inference Protocol (KServe v2) over HTTP, as `neura serve` runs it.
//
//   serve::Server server({.models = {.path = "models"}, .http = {.port = 8000}});
//   server.start();
//   ...
//   server.stop();
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "neura/serve/http.h"
#include "neura/serve/repository.h"

namespace neura::serve {

struct ServerOptions {
  RepositoryOptions models;
  HttpOptions http = {};
  double poll_seconds = 2;     // between looks at the folder; 0: none after the first
  double timeout_seconds = 0;  // that requests may wait which do not say it; 0: as long as it takes
  bool verbose = false;        // a line in the log for each request
  std::function<void(const std::string&)> log = {};
};

class Server {
 public:
  explicit Server(ServerOptions);  // IoError where there is nothing at the path
  Server(const Server&) = delete;
  ~Server();  // stop()

  // Answers from now on: health at once, models once they are loaded. IoError where the address cannot be had.
  void start();
  int port() const;
  void wait_ready();  // until the folder was looked at
  void look();        // now, as every poll_seconds
  void stop();        // requests that run get their answers

  const Repository& repository() const;
  std::string metrics() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace neura::serve
