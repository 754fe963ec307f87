// What cannot be replayed is refused when it is asked for; tests/cuda/replay_test.cpp replays.
#include "neura/graph/replay.h"

#include "neura/graph/trace.h"
#include "neura/neura.h"
#include "tests/support/close.h"

namespace neura::test {
namespace {

TEST(Replay, IsForProgramsOnOneDeviceOfCuda) {
  const graph::Program p = graph::trace([](auto in) { return std::vector{in[0] + 1}; }, {{ones({2})}});
  EXPECT_EQ(error_of<DeviceError>([&] { graph::Replay{graph::Program(p)}; }),
            "replay: expected a program on one device of CUDA, got float32 [2] as %0 ; move it with .cuda()");
  EXPECT_EQ(error_of<ValueError>([] { graph::Replay{graph::Program()}; }),
            "replay: expected a program that computes something, got an empty one");
}

}  // namespace
}  // namespace neura::test
