// A connection as cpp-httplib reads and writes it: buffered, with limits of bytes and time for each request.
#pragma once
#include <httplib.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace neura::serve {

class Connection final : public httplib::Stream {
 public:
  explicit Connection(int socket);

  // Waits for the first byte of a request; false where none comes within `seconds`, or the peer closed.
  bool wait(int seconds);
  // From now on at most so many bytes in so much time; read() then gives nothing.
  void limit(std::uint64_t bytes, int seconds);
  std::uint64_t taken() const { return taken_; }  // since limit()
  bool late() const { return late_; }             // was it the time?
  void set_write_seconds(int s) { write_seconds_ = s; }
  bool flush();
  // Says that no more comes, and takes what the peer still sends for a moment, so that it reads the answer.
  void close_gently();

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, std::size_t size) override;
  ssize_t write(const char* from, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override { ip.clear(), port = 0; }
  void get_local_ip_and_port(std::string& ip, int& port) const override { ip.clear(), port = 0; }
  socket_t socket() const override { return 0; }  // it is compared with the limit of select(), which is not used

 private:
  using Clock = std::chrono::steady_clock;
  bool ready(short events, Clock::time_point until) const;
  ssize_t receive(char* to, std::size_t size);
  bool send_all(const char* from, std::size_t size);

  const int socket_;
  int write_seconds_ = 60;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // of what was received and not read
  std::uint64_t left_ = 0, taken_ = 0;
  Clock::time_point until_{};
  bool late_ = false, broken_ = false;
  std::string out_;  // not sent yet
};

}  // namespace neura::serve
