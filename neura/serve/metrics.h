// The server's metrics, in Prometheus' format.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

namespace neura::serve {

// How many values are at most as large as each bound, and their sum. Written by any number of threads.
class Histogram {
 public:
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds) {}
  void add(double value);
  void write(std::string& to, const std::string& name, const std::string& labels) const;

 private:
  std::span<const double> bounds_;  // at most kMost
  static constexpr std::size_t kMost = 16;
  std::array<std::atomic<std::uint64_t>, kMost + 1> counts_{};  // of each interval; the last is unbounded
  std::atomic<double> sum_{0};
};

inline constexpr std::array<double, 16> kSeconds{1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025,
                                                 0.05, 0.1,    0.25, 0.5,  1,      2.5,  5,    10};
inline constexpr std::array<double, 9> kRows{1, 2, 4, 8, 16, 32, 64, 128, 256};
inline constexpr std::array<int, 9> kCodes{200, 400, 404, 405, 408, 413, 429, 500, 503};

struct ModelMetrics {                                                // of one version
  std::array<std::atomic<std::uint64_t>, kCodes.size()> requests{};  // by kCodes
  Histogram queue{kSeconds}, compute{kSeconds}, rows{kRows};
  std::atomic<std::int64_t> waiting{0};
  std::atomic<bool> loaded{false};
  void count(int code);  // one that is not in kCodes counts as 500
};

class Metrics {
 public:
  // The numbers of a model and version. They are made when first asked for, and kept.
  std::shared_ptr<ModelMetrics> of(const std::string& model, const std::string& version);
  void count_load(const std::string& model, bool worked);
  std::atomic<std::int64_t> connections{0};
  std::string text() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<ModelMetrics>> models_;
  std::map<std::string, std::array<std::uint64_t, 2>> loads_;  // by model: failed, worked
};

}  // namespace neura::serve
