// What a run has seen so far; it stands in the checkpoint, so that a resumed run's report shows all of it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "neura/nn/value.h"

namespace neura::cli {

struct EpochRecord {
  double train_loss = 0, train_accuracy = 0, test_loss = 0, test_accuracy = 0, seconds = 0;
};
struct History {
  std::vector<EpochRecord> epochs;
  std::vector<std::pair<double, double>> curve;  // (place in epochs, loss of the batches since the point before)
  // Of the epoch under way
  std::int64_t batches = 0, seen = 0, right = 0;
  double loss_sum = 0, seconds = 0;
  double point_loss = 0;
  std::int64_t point_seen = 0;

  nn::Dict save() const;
  static History load(const nn::Dict&);  // ValueError
};

struct OtherRun {  // to compare with
  std::string name;
  History history;
};
History history_of(const std::string& checkpoint);                     // empty where there is none
std::optional<OtherRun> other_history(const std::string& checkpoint);  // none for an empty name

}  // namespace neura::cli
