#include "cli/meter.h"

#include "neura/autograd/grad_mode.h"
#include "neura/ops/create.h"
#include "neura/ops/reduce.h"
#include "neura/ops/rows.h"

namespace neura::cli {

Meter::Meter(Device device, History& history)
    : history_(history),
      loss_(full({}, history.loss_sum, {.dtype = float64, .device = device})),
      right_(full({}, history.right, {.dtype = int64, .device = device})),
      point_loss_(full({}, history.point_loss, {.dtype = float64, .device = device})) {}

void Meter::tally(const Tensor& scores, const Tensor& loss, const Tensor& labels) {
  const NoGrad off;
  const Tensor sum = mul(loss.to(float64), double(labels.numel()));
  add_(loss_, sum);
  add_(point_loss_, sum);
  add_(right_, eq(argmax(scores, 1), labels).sum());
}

void Meter::count(std::int64_t pictures) {
  ++history_.batches;
  history_.seen += pictures;
  history_.point_seen += pictures;
}

void Meter::point(double place) {
  unread_.push_back({place, point_loss_.clone(), history_.point_seen});
  point_loss_.zero_();
  history_.point_seen = 0;
}

void Meter::read() {
  history_.loss_sum = loss_.item<double>();
  history_.right = right_.item<std::int64_t>();
  history_.point_loss = point_loss_.item<double>();
  for (const Point& p : unread_) history_.curve.emplace_back(p.place, p.loss.item<double>() / double(p.seen));
  unread_.clear();
}

void Meter::restart() {
  history_.batches = history_.seen = history_.right = 0;
  history_.loss_sum = history_.seconds = 0;
  loss_.zero_();
  right_.zero_();
}

}  // namespace neura::cli
