// How far an epoch is: a bar that stays on its line where the output is a terminal, a plain line now and then
// elsewhere.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace neura::cli {

// Seconds as people read them: "0.4 s", "12 s", "3:07 min", "1:02:03 h".
std::string duration(double seconds);
// 12345 as "12,345".
std::string thousands(std::int64_t n);

class Progress {
 public:
  // `total`: things of the epoch, of which `done` were seen before; `unit` is their name, "img".
  Progress(std::string title, std::int64_t total, std::int64_t done, std::string unit = "img");
  ~Progress();  // leaves the line clean
  Progress(const Progress&) = delete;
  bool due() const;  // a few times a second: only then update() draws, and only for it numbers are needed
  void update(std::int64_t done, const std::string& numbers);  // "loss 0.1234  accuracy 91.5 %"
  void say(const std::string& text);                           // a line above the bar

 private:
  std::string title_, unit_;
  std::int64_t total_, first_;
  bool terminal_, drawn_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

// The line, of fewer than `width` columns; with 0, the numbers without a bar.
std::string bar_line(const std::string& title, double part, const std::string& numbers, int width);

}  // namespace neura::cli
