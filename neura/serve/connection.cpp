#include "neura/serve/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace neura::serve {
namespace {

constexpr std::size_t kBuffer = 32768, kUnsent = 65536;
constexpr std::uint64_t kLingering = std::uint64_t{16} << 20;  // bytes that are thrown away before a connection closes

}  // namespace

Connection::Connection(int socket) : socket_(socket), buffer_(kBuffer) {}

bool Connection::ready(short events, Clock::time_point until) const {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd p{socket_, events, 0};
    const int n = ::poll(&p, 1, int(std::max<std::int64_t>(left, 0)));
    if (n > 0) return true;
    if (n == 0 || errno != EINTR) return false;
  }
}

// 0: nothing more comes; -1: not in time.
ssize_t Connection::receive(char* to, std::size_t size) {
  for (;;) {
    ssize_t n = ::recv(socket_, to, size, MSG_DONTWAIT);
    if (n >= 0) return n;
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return 0;
    if (!flush()) return 0;  // the peer may wait for "100 Continue"
    if (!ready(POLLIN, until_)) return -1;
  }
}

bool Connection::wait(int seconds) {
  if (begin_ < end_) return true;
  until_ = Clock::now() + std::chrono::seconds(seconds);
  const ssize_t n = receive(buffer_.data(), buffer_.size());
  begin_ = 0, end_ = n > 0 ? std::size_t(n) : 0;
  return n > 0;
}

void Connection::limit(std::uint64_t bytes, int seconds) {
  left_ = bytes, taken_ = 0, late_ = false;
  until_ = Clock::now() + std::chrono::seconds(seconds);
}

ssize_t Connection::read(char* to, std::size_t size) {
  size = std::size_t(std::min<std::uint64_t>(size, left_));
  if (size == 0) return 0;
  std::size_t n = 0;
  if (begin_ == end_ && size >= buffer_.size()) {
    const ssize_t got = receive(to, size);
    late_ = got < 0;
    if (got <= 0) return 0;
    n = std::size_t(got);
  } else {
    if (begin_ == end_) {
      const ssize_t got = receive(buffer_.data(), buffer_.size());
      late_ = got < 0;
      if (got <= 0) return 0;
      begin_ = 0, end_ = std::size_t(got);
    }
    n = std::min(size, end_ - begin_);
    std::memcpy(to, buffer_.data() + begin_, n);
    begin_ += n;
  }
  left_ -= n, taken_ += n;
  return ssize_t(n);
}

bool Connection::send_all(const char* from, std::size_t size) {
  const Clock::time_point until = Clock::now() + std::chrono::seconds(write_seconds_);
  while (size && !broken_) {
    const ssize_t n = ::send(socket_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) from += n, size -= std::size_t(n);
    else if (errno == EAGAIN || errno == EWOULDBLOCK) broken_ = !ready(POLLOUT, until);
    else if (errno != EINTR) broken_ = true;
  }
  return !broken_;
}

bool Connection::flush() {
  if (out_.empty()) return !broken_;
  const bool sent = send_all(out_.data(), out_.size());
  out_.clear();
  return sent;
}

// Head and body of a small answer leave together.
ssize_t Connection::write(const char* from, std::size_t size) {
  if (out_.size() + size <= kUnsent) {
    out_.append(from, size);
    return ssize_t(size);
  }
  return flush() && send_all(from, size) ? ssize_t(size) : -1;
}

void Connection::close_gently() {
  if (!flush()) return;
  ::shutdown(socket_, SHUT_WR);
  until_ = Clock::now() + std::chrono::seconds(2);
  for (std::uint64_t n = 0; n < kLingering;) {
    const ssize_t got = receive(buffer_.data(), buffer_.size());
    if (got <= 0) return;
    n += std::uint64_t(got);
  }
}

}  // namespace neura::serve
