// Checkpoints: a training run in one file.
//     Checkpoint all{.model = &net, .optimizer = &optimizer, .scheduler = &scheduler, .generator =
//     &default_generator()}; save_checkpoint("run.safetensors", all, nn::Dict{{{"epoch", 3}}}); nn::Dict extra =
//     load_checkpoint("run.safetensors", all);
#pragma once
#include <string>

#include "neura/core/random.h"
#include "neura/io/value.h"
#include "neura/nn/module.h"
#include "neura/optim/lr_scheduler.h"
#include "neura/optim/optimizer.h"

namespace neura {

struct Checkpoint {  // what is null is left out
  nn::Module* model = nullptr;
  optim::Optimizer* optimizer = nullptr;
  optim::lr_scheduler::LRScheduler* scheduler = nullptr;
  Generator* generator = nullptr;
};

// Everything, and `extra`: a run that continues from here is bit for bit the run that never stopped. Written as
// a whole or not at all. IoError.
void save_checkpoint(const std::string& path, const Checkpoint& run, const nn::Dict& extra = {});
// Brings everything back and returns `extra`. What the file lacks, or does not fit, is a ValueError before anything is
// changed by it.
nn::Dict load_checkpoint(const std::string& path, const Checkpoint& run, const MapLocation& map_location = {});
// The same of a file that was read; `path` is for its errors.
nn::Dict restore_checkpoint(const nn::Value& file, const std::string& path, const Checkpoint& run);

nn::Value to_value(const optim::StateDict&);
optim::StateDict to_optimizer_state(const nn::Value&);  // ValueError

}  // namespace neura
