#include "neura/serve/metrics.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include "neura/core/memory.h"

namespace neura::serve {
namespace {

std::string number(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

std::string escaped(const std::string& text) {
  std::string to;
  for (const char c : text) {
    if (c == '\\' || c == '"') to += '\\';
    if (c == '\n') to += "\\n";
    else to += c;
  }
  return to;
}

void line(std::string& to, const std::string& name, const std::string& labels, const std::string& value) {
  to += name;
  if (!labels.empty()) to += "{" + labels + "}";
  to += " " + value + "\n";
}
void head(std::string& to, const char* name, const char* type, const char* text) {
  to += std::string("# HELP ") + name + " " + text + "\n# TYPE " + name + " " + type + "\n";
}

std::uint64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::uint64_t size = 0, resident = 0;
  in >> size >> resident;
  return resident * std::uint64_t(::sysconf(_SC_PAGESIZE));
}

}  // namespace

void Histogram::add(double value) {
  const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  counts_[std::size_t(at)].fetch_add(1, std::memory_order_relaxed);
  double sum = sum_.load(std::memory_order_relaxed);
  while (!sum_.compare_exchange_weak(sum, sum + value, std::memory_order_relaxed)) {
  }
}

void Histogram::write(std::string& to, const std::string& name, const std::string& labels) const {
  std::uint64_t below = 0;
  for (std::size_t i = 0; i <= bounds_.size(); ++i) {
    below += counts_[i].load(std::memory_order_relaxed);
    const std::string bound = i < bounds_.size() ? number(bounds_[i]) : "+Inf";
    line(to, name + "_bucket", labels + ",le=\"" + bound + "\"", std::to_string(below));
  }
  line(to, name + "_sum", labels, number(sum_.load(std::memory_order_relaxed)));
  line(to, name + "_count", labels, std::to_string(below));
}

void ModelMetrics::count(int code) {
  const auto at = std::find(kCodes.begin(), kCodes.end(), code);
  const auto other = std::find(kCodes.begin(), kCodes.end(), 500);
  requests[std::size_t((at == kCodes.end() ? other : at) - kCodes.begin())].fetch_add(1, std::memory_order_relaxed);
}

std::shared_ptr<ModelMetrics> Metrics::of(const std::string& model, const std::string& version) {
  const std::scoped_lock lock(mutex_);
  auto& m = models_[{model, version}];
  if (!m) m = std::make_shared<ModelMetrics>();
  return m;
}

void Metrics::count_load(const std::string& model, bool worked) {
  const std::scoped_lock lock(mutex_);
  ++loads_[model][worked];
}

std::string Metrics::text() const {
  std::string to;
  const std::scoped_lock lock(mutex_);
  const auto each = [&](const auto& f) {
    for (const auto& [key, m] : models_)
      f("model=\"" + escaped(key.first) + "\",version=\"" + escaped(key.second) + "\"", *m);
  };
  head(to, "neura_requests_total", "counter", "Requests for inference by the code of their answer.");
  each([&](const std::string& labels, const ModelMetrics& m) {
    for (std::size_t i = 0; i < kCodes.size(); ++i)
      if (const std::uint64_t n = m.requests[i].load())
        line(to, "neura_requests_total", labels + ",code=\"" + std::to_string(kCodes[i]) + "\"", std::to_string(n));
  });
  const auto histogram = [&](const char* name, const char* text, Histogram ModelMetrics::*member) {
    head(to, name, "histogram", text);
    each([&](const std::string& labels, const ModelMetrics& m) { (m.*member).write(to, name, labels); });
  };
  histogram("neura_queue_seconds", "Time that requests waited for the model.", &ModelMetrics::queue);
  histogram("neura_compute_seconds", "Time that runs of the model took.", &ModelMetrics::compute);
  histogram("neura_batch_rows", "Rows that went through the model together.", &ModelMetrics::rows);
  head(to, "neura_queue_length", "gauge", "Requests that wait for the model.");
  each([&](const std::string& labels, const ModelMetrics& m) {
    line(to, "neura_queue_length", labels, std::to_string(m.waiting.load()));
  });
  head(to, "neura_model_loaded", "gauge", "1 for the version that answers.");
  each([&](const std::string& labels, const ModelMetrics& m) {
    line(to, "neura_model_loaded", labels, m.loaded ? "1" : "0");
  });
  head(to, "neura_loads_total", "counter", "Loadings of models.");
  for (const auto& [model, counts] : loads_)
    for (const int worked : {0, 1})
      line(to, "neura_loads_total",
           "model=\"" + escaped(model) + "\",outcome=\"" + (worked ? "loaded" : "failed") + "\"",
           std::to_string(counts[std::size_t(worked)]));
  head(to, "neura_memory_bytes", "gauge", "Of tensors, of what is kept for the next ones too, of the process.");
  line(to, "neura_memory_bytes", "kind=\"tensors\"", std::to_string(memory_allocated()));
  line(to, "neura_memory_bytes", "kind=\"reserved\"", std::to_string(memory_reserved()));
  line(to, "neura_memory_bytes", "kind=\"resident\"", std::to_string(resident_bytes()));
  head(to, "neura_connections", "gauge", "Open connections.");
  line(to, "neura_connections", "", std::to_string(connections.load()));
  return to;
}

}  // namespace neura::serve
