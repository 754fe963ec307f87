// Loss and hits of an epoch, summed where the network computes: only reading them waits for a device.
#pragma once
#include "cli/history.h"
#include "neura/core/tensor.h"

namespace neura::cli {

class Meter {
 public:
  Meter(Device, History&);  // goes on with what the history holds of an epoch
  // What the device does for a batch. A CUDA graph may hold it.
  void tally(const Tensor& scores, const Tensor& loss, const Tensor& labels);
  void count(std::int64_t pictures);  // what the host does, after it
  void point(double place);           // the curve has one here: the mean since the point before
  void read();                        // brings the history up to date
  void restart();                     // another epoch

 private:
  struct Point {
    double place;
    Tensor loss;
    std::int64_t seen;
  };
  History& history_;
  Tensor loss_, right_, point_loss_;  // sums
  std::vector<Point> unread_;
};

}  // namespace neura::cli
