// A client of HTTP on loopback that sends what it is told to, right or wrong, and waits a bounded time.
#pragma once
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace neura::test {

struct Answer {
  int code = 0;                                // 0: none came
  std::map<std::string, std::string> headers;  // names in small letters
  std::string body;
  std::string header(const std::string& name) const {
    const auto at = headers.find(name);
    return at == headers.end() ? "" : at->second;
  }
};
using HeaderList = std::vector<std::pair<std::string, std::string>>;

class Client {
 public:
  explicit Client(int port) : port_(port) {}
  Client(const Client&) = delete;
  ~Client() { close(); }

  // One request on the connection that is open, or a new one.
  Answer ask(const std::string& method, const std::string& path, const std::string& body = "",
             const HeaderList& headers = {}) {
    std::string text = method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n";
    for (const auto& [name, value] : headers) text.append(name).append(": ").append(value).append("\r\n");
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    return send(text) ? read() : Answer{};
  }
  Answer get(const std::string& path) { return ask("GET", path); }
  Answer post(const std::string& path, const std::string& body, const HeaderList& headers = {}) {
    return ask("POST", path, body, headers);
  }

  bool send(const std::string& bytes) {
    if (socket_ < 0 && !open()) return false;
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t n = ::send(socket_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      if (n <= 0) return false;
      at += std::size_t(n);
    }
    return true;
  }
  void finish() { ::shutdown(socket_, SHUT_WR); }
  bool answered() const {  // is there something to read, or an end?
    pollfd p{socket_, POLLIN, 0};
    return ::poll(&p, 1, 0) != 0;
  }

  Answer read() {
    Answer a;
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos)
      if (!more()) return close(), a;
    const std::string head = buffer_.substr(0, end + 2);
    buffer_.erase(0, end + 4);
    a.code = std::atoi(head.c_str() + 9);
    for (std::size_t i = head.find("\r\n") + 2; i < head.size();) {
      const std::size_t line = head.find("\r\n", i), colon = head.find(": ", i);
      std::string name = head.substr(i, colon - i);
      for (char& c : name) c = char(std::tolower(c));
      a.headers[name] = head.substr(colon + 2, line - colon - 2);
      i = line + 2;
    }
    if (a.code == 100) return read();
    const std::size_t length = std::strtoull(a.header("content-length").c_str(), nullptr, 10);
    while (buffer_.size() < length)
      if (!more()) return close(), a;
    a.body = buffer_.substr(0, length);
    buffer_.erase(0, length);
    if (::strcasecmp(a.header("connection").c_str(), "close") == 0) close();
    return a;
  }

  bool open() {
    close();
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval wait{20, 0};
    const int on = 1;
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in to{};
    to.sin_family = AF_INET, to.sin_port = htons(std::uint16_t(port_)), to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) return true;
    return close(), false;
  }
  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
    buffer_.clear();
  }

 private:
  bool more() {
    char bytes[65536];
    const ssize_t n = ::recv(socket_, bytes, sizeof bytes, 0);
    if (n > 0) buffer_.append(bytes, std::size_t(n));
    return n > 0;
  }
  const int port_;
  int socket_ = -1;
  std::string buffer_;
};

}  // namespace neura::test
