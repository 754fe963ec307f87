// The files of a run's folder.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "neura/nn/module.h"

namespace neura::train {

std::string checkpoint_path(const std::string& folder, std::int64_t step);
// (step, path) of the checkpoints, oldest first. IoError if the system refuses.
std::vector<std::pair<std::int64_t, std::string>> checkpoints(const std::string& folder);
// Keeps the newest `keep` checkpoints up to `step`. rewound: those of later steps are removed.
void keep_newest(const std::string& folder, std::int64_t step, int keep, bool rewound);
void sweep(const std::string& folder);  // removes what a killed process left half written
void save_best(const std::string& folder, const nn::Module&, const nn::StateDict& average, std::int64_t step,
               std::int64_t epoch);

}  // namespace neura::train
