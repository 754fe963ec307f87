// Scaling of losses, so that gradients of float16 do not vanish (Micikevicius et al., 2018).
#pragma once
#include <map>
#include <optional>
#include <unordered_map>

#include "neura/ops/training/loss_scale.h"
#include "neura/optim/optimizer.h"

namespace neura::amp {

struct GradScalerOptions {
  double init_scale = 65536, growth_factor = 2, backoff_factor = 0.5;
  std::int64_t growth_interval = 2000;
  bool enabled = true;
};

// A step that meets a gradient that is not finite is left out, and the scale falls by backoff_factor; after
// growth_interval steps without one it grows by growth_factor.
//
//   amp::GradScaler scaler;
//   scaler.scale(loss).backward();
//   scaler.unscale_(optimizer);  // only if gradients are to be clipped, or looked at
//   scaler.step(optimizer);      // waits for the device once, to know whether all gradients are finite
//   scaler.update();
class GradScaler {
 public:
  explicit GradScaler(GradScalerOptions = {});  // ValueError for factors on the wrong side of 1

  Tensor scale(const Tensor& outputs);
  // Once before each step: ValueError the second time, and for gradients of float16.
  void unscale_(optim::Optimizer&);
  bool step(optim::Optimizer&);                   // false: not taken. ValueError for a second one before update()
  void update(std::optional<double> scale = {});  // once after the steps of all optimizers
  double get_scale() const;                       // waits for the device, as state_dict does
  bool is_enabled() const { return options_.enabled; }
  nn::Dict state_dict() const;  // PyTorch's keys; empty if disabled
  void load_state_dict(const nn::Dict&);

 private:
  enum class Stage { ready, unscaled, stepped };
  struct Progress {
    Stage stage = Stage::ready;
    std::map<int, Tensor> found;  // one number for each device
  };
  void make_scale(Device);
  void unscale(optim::Optimizer&, Progress&);
  GradScalerOptions options_;
  double first_count_ = 0;
  Tensor scale_, tracker_;  // made by the first call of scale()
  std::unordered_map<const optim::Optimizer*, Progress> progress_;
};

}  // namespace neura::amp
