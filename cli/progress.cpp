#include "cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace neura::cli {
namespace {

int terminal_width() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

template <class... A> std::string print(const char* format, A... a) {
  char text[160];
  std::snprintf(text, sizeof(text), format, a...);
  return text;
}

}  // namespace

std::string duration(double s) {
  if (s < 9.95) return print("%.1f s", s);
  const long n = long(s + 0.5);
  if (n < 60) return print("%ld s", n);
  if (n < 3600) return print("%ld:%02ld min", n / 60, n % 60);
  return print("%ld:%02ld:%02ld h", n / 3600, n / 60 % 60, n % 60);
}

std::string thousands(std::int64_t n) {
  std::string text = std::to_string(n);
  for (int at = int(text.size()) - 3; at > (n < 0 ? 1 : 0); at -= 3) text.insert(std::size_t(at), ",");
  return text;
}

std::string bar_line(const std::string& title, double part, const std::string& text, int width) {
  const std::string numbers = print(" %3d %%  ", int(part * 100)) + text;
  const int room = std::min(40, width - 1 - int(title.size()) - int(numbers.size()) - 1);
  if (width == 0) return title + numbers;
  if (room < 5) return (title + numbers).substr(0, std::size_t(width - 1));  // a narrow terminal: what fits
  const int full = int(part * room);
  std::string bar = " ";
  for (int i = 0; i < room; ++i) bar += i < full ? "\u2501" : "\u2500";  // heavy and light line
  return title + bar + numbers;
}

Progress::Progress(std::string title, std::int64_t total, std::int64_t done, std::string unit)
    : title_(std::move(title)),
      unit_(std::move(unit)),
      total_(total),
      first_(done),
      terminal_(::isatty(STDOUT_FILENO)) {
  start_ = last_ = std::chrono::steady_clock::now();
}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", stdout), std::fflush(stdout);
}

bool Progress::due() const {
  const double pause = terminal_ ? 0.1 : 10;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - last_).count() >= pause;
}

void Progress::say(const std::string& text) {
  std::fputs(((drawn_ ? "\r\033[K" : "") + text + "\n").c_str(), stdout);
  drawn_ = false;
  std::fflush(stdout);
}

void Progress::update(std::int64_t done, const std::string& numbers) {
  const auto now = std::chrono::steady_clock::now();
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = double(done - first_) / std::max(seconds, 1e-9);
  const double left = double(total_ - done) / std::max(rate, 1e-9);
  const double part = double(done) / double(std::max<std::int64_t>(total_, 1));
  const std::string text =
      numbers + "  " + thousands(std::int64_t(rate)) + " " + unit_ + "/s  " + duration(left) + " left";
  const std::string line = bar_line(title_, part, text, terminal_ ? terminal_width() : 0);
  std::fputs((terminal_ ? "\r" + line + "\033[K" : line + "\n").c_str(), stdout);
  drawn_ = drawn_ || terminal_;
  std::fflush(stdout);
}

}  // namespace neura::cli
