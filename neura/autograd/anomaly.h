// Anomaly mode: every recorded call keeps its forward trace, and a derivative that produces NaN reports it.
#pragma once
#include <cstdint>

namespace neura {

class DetectAnomaly {  // on this thread while it lives; slows everything down
 public:
  explicit DetectAnomaly(bool on = true, bool check_nan = true);
  ~DetectAnomaly();
  DetectAnomaly(const DetectAnomaly&) = delete;

 private:
  std::uint32_t before_;
};
void set_detect_anomaly(bool on, bool check_nan = true);  // the same from now on
bool is_anomaly_enabled();                                // of this thread
bool is_anomaly_check_nan_enabled();                      // whether NaN in a derivative is an error, too

struct Error;
struct Node;
class Tensor;
void check_anomaly(const Node&, const Tensor* results, int n);    // AutogradError
[[noreturn]] void rethrow_with_trace(const Error&, const Node&);  // the same type; the text says where forward was

// While it lives, what is recorded on this thread says that this node's derivative made it.
struct DerivativeScope {
  explicit DerivativeScope(const Node&);
  ~DerivativeScope();
  DerivativeScope(const DerivativeScope&) = delete;

 private:
  const Node* outer_;
};

}  // namespace neura
