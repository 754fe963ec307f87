// Anomaly mode: every recorded call remembers itself, and a derivative that makes NaN says which call it was.
#pragma once
#include <cstdint>

namespace neura {

class DetectAnomaly {  // on this thread while it lives; slows everything down
 public:
  explicit DetectAnomaly(bool on = true);
  ~DetectAnomaly();
  DetectAnomaly(const DetectAnomaly&) = delete;

 private:
  std::uint32_t before_;
};

struct Record;
class Tensor;
void check_anomaly(const Record&, const Tensor* results);  // AutogradError

}  // namespace neura
