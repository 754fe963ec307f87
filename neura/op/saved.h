// Saved-tensor hooks: how a tensor that is kept for backward is packed (recomputed, offloaded, on disk).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "neura/core/tensor.h"

namespace neura {

struct Packed {
  virtual ~Packed() = default;
  virtual Tensor unpack() = 0;  // of the same shape, dtype and device; called once per backward that needs the value
};

// While the topmost on this thread, it packs every tensor that a recorded call keeps for its derivative.
class SavedHooks {
 public:
  virtual ~SavedHooks() = default;
  virtual std::unique_ptr<Packed> pack(const Tensor&) = 0;  // the value, without history

  void push();
  static void pop();  // the topmost
  static SavedHooks* top();
  // Packs by the topmost. It works with recording off, and what it saves itself is not packed again.
  static std::unique_ptr<Packed> pack_by_top(const Tensor&);

 private:
  SavedHooks* below_ = nullptr;
};

// The value of what was packed; AutogradError where it is not like `want`.
Tensor unpacked(Packed&, const Spec& want, const char* op);

// Kept by a record only in anomaly mode or for packed values.
struct DebugInfo {
  struct Value {
    std::shared_ptr<Packed> packed;  // null: the value is in the record itself
    Spec spec;
  };
  std::string trace;          // where the forward call was made
  std::vector<Value> values;  // by number of the saved value
};
std::string trace_of(const char* op, const std::string& arguments);  // for anomaly mode
struct Node;
[[gnu::tls_model("initial-exec")]] extern constinit thread_local const Node* deriving_node;  // whose derivative runs
// The host language's stack trace of the running program: lines, each ended by a new line. Null: none.
extern std::string (*call_site)();

}  // namespace neura
