// What holds on any device, on the one for tests and on the cpu.
#include "tests/on_device/on_device.h"

#include "tests/device/device.h"
#include "tests/on_device/memory.h"
#include "tests/on_device/random.h"
#include "tests/optim/stored.h"

namespace neura::test {
namespace {

class OnDevice : public ::testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(Devices, OnDevice, ::testing::Values(Device(), kDevice, kOther), [](const auto& i) {
  return std::string(i.param.is_cpu() ? "cpu" : "cuda") + std::to_string(std::max<int>(i.param.index, 0));
});

TEST_P(OnDevice, InitialisersFillInPlace) { expect_initialised(GetParam()); }
TEST_P(OnDevice, OperationsWriteInPlaceAndLazyClonesKeepTheirNumbers) { expect_written_in_place(GetParam()); }
TEST_P(OnDevice, RandomNumbersFollowTheirDistributions) { expect_distributed(GetParam()); }
TEST_P(OnDevice, WhatIsMissingIsNamed) { expect_refused_dtypes(GetParam()); }
TEST_P(OnDevice, StepsReturnToTheirBase) { expect_steps_return_to_their_base(GetParam()); }

TEST(PinnedBlocks, AreAligned) { expect_pinned_alignment(); }
TEST(Checkpoints, TakeLess) { expect_checkpoints_take_less(kDevice); }  // of the cpu: tests/nn/checkpoint_test.cpp

class OptimizersOnDevice : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Stored, OptimizersOnDevice, ::testing::ValuesIn(optim::kStored),
                         [](const auto& i) { return i.param; });
TEST_P(OptimizersOnDevice, FollowTorchWithEveryOption) { optim::expect_stored_steps(GetParam(), kDevice); }

}  // namespace
}  // namespace neura::test
