#include "tests/on_device/automatic_replay.h"

#include "tests/device/device.h"
#include "tests/on_device/replayed_windows.h"

namespace neura::test {
namespace {

using namespace repeats;

class DeviceReplay : public testing::Test {
  const Replayed on_;
};
TEST_F(DeviceReplay, ATrainingStepWaitsFromItsThirdTimeOn) { expect_training_repeats(kDevice); }
TEST_F(DeviceReplay, ReadsBranchesAndWritesAreWhatTheyWere) { expect_changes_are_seen(kDevice); }
TEST_F(DeviceReplay, ValuesThatAreNeededEarlyAreThere) { expect_early_values(kDevice); }
TEST_F(DeviceReplay, AddressesThatAreAskedForAreThere) { expect_addresses_early(kDevice); }
TEST_F(DeviceReplay, WhatAWindowRunsIsThere) { expect_windows(kDevice); }
TEST_F(DeviceReplay, OperandsMayBePartsOfMore) { expect_any_storage(kDevice); }
TEST_F(DeviceReplay, StretchesThatBeginAlikeAreToldApart) { expect_beginnings_are_shared(kDevice); }
TEST_F(DeviceReplay, AnotherThreadReadsAResultThatWaits) { expect_other_threads_read(kDevice); }
TEST_F(DeviceReplay, ErrorsAreRaisedWhereTheyWere) { expect_errors(kDevice); }
TEST_F(DeviceReplay, InPlaceWritesInvalidateWhatAutogradHasSaved) { expect_versions(kDevice); }
TEST_F(DeviceReplay, CompiledFunctionsAndAccumulationGoOn) { expect_compiled_and_accumulated(kDevice); }

}  // namespace
}  // namespace neura::test
