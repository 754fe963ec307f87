#include "neura/optim/grad_scaler.h"

#include <string>

#include "neura/autograd/grad_mode.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/sparse/sparse.h"

namespace neura::amp {
namespace {

int number_of(Device d) { return int(d.type) << 8 | d.index; }

Tensor one_number(double value, DType dtype, Device device) {
  return full({}, value, {.dtype = dtype, .device = device});
}

}  // namespace

GradScaler::GradScaler(GradScalerOptions o) : options_(o) {
  check<ValueError>(!o.enabled || (o.growth_factor > 1 && o.backoff_factor < 1 && o.init_scale > 0), [&] {
    return "GradScaler: expected growth_factor above 1, backoff_factor below 1 and a positive init_scale, got " +
           std::to_string(o.growth_factor) + ", " + std::to_string(o.backoff_factor) + " and " +
           std::to_string(o.init_scale);
  });
}

void GradScaler::make_scale(Device device) {
  scale_ = one_number(options_.init_scale, DType::float32, device);
  tracker_ = one_number(first_count_, DType::int32, device);
}

Tensor GradScaler::scale(const Tensor& outputs) {
  if (!options_.enabled) return outputs;
  if (!scale_) make_scale(outputs.device());
  return outputs * scale_.to(outputs.device());
}

void GradScaler::unscale_(optim::Optimizer& optimizer) {
  if (!options_.enabled) return;
  Progress& p = progress_[&optimizer];
  check<ValueError>(p.stage != Stage::unscaled, [] {
    return std::string("unscale_: expected one call for each optimizer since the last update(), got a second one");
  });
  check<ValueError>(p.stage == Stage::ready, [] {
    return std::string("unscale_: expected a call before step(), got one after it; call update() between the two");
  });
  unscale(optimizer, p);
}

void GradScaler::unscale(optim::Optimizer& optimizer, Progress& p) {
  check<ValueError>(scale_.defined(), [] {
    return std::string(
        "unscale_: expected a loss that scale() has scaled, got none; call scale(loss).backward() first");
  });
  const NoGrad guard;
  std::map<int, std::vector<Tensor>> by_device;
  for (const optim::ParamGroup& g : optimizer.param_groups())
    for (const Tensor& param : g.params) {
      const Tensor grad = param.grad();
      if (!grad) continue;
      check<ValueError>(grad.dtype() != DType::float16, [] {
        return std::string(
            "unscale_: expected gradients that hold what the scale is taken off, got float16; keep "
            "parameters in float32 and let autocast cast them");
      });
      by_device[number_of(grad.device())].push_back(is_sparse(grad) ? sparse::_values(grad) : grad.detach());
    }
  for (auto& [number, grads] : by_device) {
    const Device device = grads[0].device();
    Tensor& found = p.found[number];
    found = one_number(0, DType::float32, device);
    const Tensor inverse = reciprocal(scale_.to(DType::float64)).to(DType::float32).to(device);
    unscale_gradients(grads, inverse, found);
  }
  p.stage = Stage::unscaled;
}

bool GradScaler::step(optim::Optimizer& optimizer) {
  if (!options_.enabled) return optimizer.step(), true;
  Progress& p = progress_[&optimizer];
  check<ValueError>(p.stage != Stage::stepped, [] {
    return std::string("step: expected one call for each optimizer since the last update(), got a second one");
  });
  if (p.stage == Stage::ready) unscale(optimizer, p);
  check<ValueError>(!p.found.empty(), [] {
    return std::string("step: expected parameters with gradients, got none; call scale(loss).backward() first");
  });
  double found = 0;
  for (const auto& [device, number] : p.found) found += number.item<double>();
  p.stage = Stage::stepped;
  if (!found) optimizer.step();
  return !found;
}

void GradScaler::update(std::optional<double> scale) {
  if (!options_.enabled) return;
  check<ValueError>(scale_.defined(), [] {
    return std::string("update: expected a loss that scale() has scaled, got none; call scale(loss).backward() first");
  });
  const NoGrad guard;
  if (scale) {
    scale_.fill_(*scale);
  } else {
    Tensor found;
    for (const auto& [optimizer, p] : progress_)
      for (const auto& [device, number] : p.found) {
        const Tensor here = number.to(scale_.device());
        found = found ? add(found, here) : here;
      }
    check<ValueError>(found.defined(), [] {
      return std::string("update: expected a step since the last update(), got none; call step(optimizer) first");
    });
    update_scale(scale_, tracker_, found, {options_.growth_factor, options_.backoff_factor, options_.growth_interval});
  }
  progress_.clear();
}

double GradScaler::get_scale() const {
  if (!options_.enabled) return 1;
  return scale_ ? scale_.item<double>() : options_.init_scale;
}

nn::Dict GradScaler::state_dict() const {
  nn::Dict d;
  if (!options_.enabled) return d;
  d["scale"] = get_scale(), d["growth_factor"] = options_.growth_factor;
  d["backoff_factor"] = options_.backoff_factor, d["growth_interval"] = std::int64_t(options_.growth_interval);
  d["_growth_tracker"] = tracker_ ? tracker_.item<std::int64_t>() : std::int64_t(first_count_);
  return d;
}

void GradScaler::load_state_dict(const nn::Dict& d) {
  if (!options_.enabled) return;
  const auto number = [&](const char* name) {
    const nn::Value* v = d.find(name);
    check<ValueError>(v, [&] {
      return std::string("load_state_dict: expected the state of an enabled GradScaler, got one without \"") + name +
             '"';
    });
    return v->number();
  };
  GradScalerOptions o = options_;
  o.init_scale = number("scale"), o.growth_factor = number("growth_factor");
  o.backoff_factor = number("backoff_factor"), o.growth_interval = std::int64_t(number("growth_interval"));
  const double count = number("_growth_tracker");
  options_ = o, first_count_ = count;
  if (scale_) make_scale(scale_.device());
}

}  // namespace neura::amp
