// What holds on any device, on CUDA.
#include "tests/on_device/on_device.h"

#include "tests/cuda/device.h"
#include "tests/on_device/memory.h"
#include "tests/on_device/random.h"
#include "tests/optim/stored.h"

namespace neura::test {
namespace {

class OnCuda : public CudaTest {};
TEST_F(OnCuda, InitialisersFillInPlace) { expect_initialised(Device("cuda:0")); }
TEST_F(OnCuda, OperationsWriteInPlaceAndLazyClonesKeepTheirNumbers) { expect_written_in_place(Device("cuda:0")); }
TEST_F(OnCuda, RandomNumbersFollowTheirDistributions) { expect_distributed(Device("cuda:0")); }
TEST_F(OnCuda, WhatIsMissingIsNamed) { expect_refused_dtypes(Device("cuda:0")); }
TEST_F(OnCuda, CheckpointsTakeLess) { expect_checkpoints_take_less(Device("cuda:0")); }
TEST_F(OnCuda, StepsReturnToTheirBase) { expect_steps_return_to_their_base(Device("cuda:0")); }
TEST_F(OnCuda, PinnedBlocksAreAligned) { expect_pinned_alignment(); }
TEST_F(OnCuda, OptimizersFollowTorchWithEveryOption) {
  for (const char* name : optim::kStored) {
    SCOPED_TRACE(name);
    optim::expect_stored_steps(name, Device("cuda:0"));
  }
}

}  // namespace
}  // namespace neura::test
