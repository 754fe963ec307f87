// HTTP for the server: connections, limits and time. The parsing is cpp-httplib's, whose header only http.cpp sees.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace neura::serve {

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 0;                              // 0: any that is free
  int connections = 256;                     // at once; at the limit, the one that is idle longest is closed
  std::size_t body = std::size_t{64} << 20;  // bytes of a request, also after decompression
  std::size_t bodies = 0;                    // bytes of all requests that are here at once; 0: 8 times `body`
  int head_seconds = 10, body_seconds = 60;  // that a request may take to arrive
  int idle_seconds = 60, write_seconds = 60;
  int drain_seconds = 30;  // that requests have to end at stop()
};

// One request and its answer.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const std::string& method() const = 0;
  virtual const std::string& path() const = 0;
  virtual std::string header(const std::string& name) const = 0;  // "" where there is none
  virtual std::string body() = 0;                                 // reads it, once. ErrorResponse: 400, 408, 413, 503

  int status = 200;
  std::string type = "application/json", answer;
  std::vector<std::pair<std::string, std::string>> headers;
};

class Http {
 public:
  // Handles requests on threads of their connections. It throws nothing; what it leaves of a body closes the
  // connection.
  using Handler = std::function<void(Exchange&)>;
  Http(const HttpOptions&, Handler);
  Http(const Http&) = delete;
  ~Http();  // stop()

  void start();      // IoError where the address cannot be had
  int port() const;  // after start()
  // No more connections; requests that run get their answers, what takes longer than drain_seconds is cut off.
  void stop();
  int connections() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace neura::serve
