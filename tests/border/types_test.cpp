// Device types that are registered while the program runs: their names, what is refused, and libraries that are none.
#include <dlfcn.h>

#include <algorithm>

#include "neura/backend/plugin.h"
#include "neura/core/memory.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "tests/border/border.h"

namespace neura::test {
namespace {

TEST(DeviceType, IsFoundByNameThroughTheEnvironment) {
  EXPECT_EQ(Device("npu:1").str(), "npu:1");
  EXPECT_EQ(Device("npu").str(), "npu:0");
  EXPECT_EQ(Device("fpga").str(), "fpga:0");
  EXPECT_NE(Device("npu"), Device("fpga"));
  EXPECT_FALSE(Device("npu").is_cuda() || Device("npu").is_cpu());
  const std::vector<std::string> all = device_types();
  EXPECT_EQ(std::vector<std::string>(all.begin(), all.begin() + 3), (std::vector<std::string>{"cpu", "cuda", "meta"}));
  const auto npu = std::ranges::find(all, "npu");  // others may be there already
  ASSERT_LT(npu + 1, all.end());
  EXPECT_EQ(npu[1], "fpga");
  EXPECT_EQ(unavailable(Device("npu").type), "");
}

TEST(DeviceType, NamesAreListedInTheErrorAboutAnother) {
  (void)Device("npu");
  const std::string said = error_of<DeviceError>([] { (void)Device("tpu"); });
  EXPECT_EQ(said.find("device: expected \"cpu\", \"cuda\", \"meta\", "), 0u) << said;
  EXPECT_NE(said.find("\"npu\", \"fpga\", "), said.npos) << said;
  EXPECT_NE(said.find("or one of them with \":<index>\", got \"tpu\""), said.npos) << said;
  for (const char* text : {"npu:", "npu:x", "npu:-1", "npu:255", "npus", "npu:1x", "", ":1", "cpu:1"})
    EXPECT_THROW((void)Device(text), DeviceError) << text;
}

TEST(DeviceType, AnIndexThatIsNotThereIsSaid) {
  const std::string said = error_of<DeviceError>([] { ones({2}, {.device = "npu:2"}); });
  EXPECT_NE(said.find("device: expected npu:0 to npu:1, got npu:2"), said.npos) << said;
}

TEST(DeviceType, RefusesTablesThatAreNone) {
  (void)Device("npu");
  EXPECT_EQ(refusal_of(plain_type("npu")),
            "add_device_type: expected the name of no other device type, got \"npu\"; load its back end only once");
  for (const char* name : {"", "Npu", "n pu", "npu:1", "1npu", "cpu", "cuda", "meta"})
    EXPECT_NE(refusal_of(plain_type(name)), "") << name;
  neura_device_type t = plain_type("broken");
  t.version = 7;
  EXPECT_EQ(refusal_of(t),
            "add_device_type: expected version 1 of the border, got 7; compile the back end with the "
            "border.h of this Neura");
  t = plain_type("broken"), t.size = 16;
  EXPECT_EQ(refusal_of(t).find("add_device_type: expected a table of at least "), 0u);
  t = plain_type("broken"), t.copy_out = nullptr;
  EXPECT_EQ(refusal_of(t).find("add_device_type: expected a name, allocate, release, copy_in and copy_out"), 0u);
  for (const int devices : {0, -1, 256}) {
    t = plain_type("broken"), t.devices = devices;
    EXPECT_EQ(refusal_of(t), "add_device_type: expected 1 to 255 devices, got " + std::to_string(devices));
  }
  const auto run = [](void*, const neura_call*) -> int { return NEURA_NONE; };
  const neura_kernel twice[] = {{"add", 0, run}, {"add", 0, run}}, empty[] = {{"add", 0, nullptr}};
  t = plain_type("broken"), t.kernels = twice, t.kernel_count = 2;
  EXPECT_EQ(refusal_of(t), "add_device_type: expected one kernel of each name, got two named add");
  t.kernels = empty, t.kernel_count = 1;
  EXPECT_EQ(refusal_of(t), "add_device_type: expected a name and a function for each kernel, got null in number 0");
  EXPECT_THROW((void)Device("broken"), DeviceError);
  neura_error e{};
  EXPECT_EQ(neura_add_device_type(nullptr, &e), NEURA_FAILED);
}

// A back end that was compiled with an older or a newer border.h.
TEST(DeviceType, TablesOfOtherSizesAreTaken) {
  neura_device_type t = plain_type("older");
  t.size = offsetof(neura_device_type, copy);
  t.copy = [](void*, int32_t, void*, const void*, std::size_t, neura_error*) -> int { return NEURA_FAILED; };
  EXPECT_EQ(refusal_of(t), "");
  EXPECT_EQ(ones({3}, {.device = "older"}).clone().to(Device()).sum().item<float>(), 3);
  struct {
    neura_device_type known;
    void* unknown[4];
  } newer{plain_type("newer"), {}};
  newer.known.size = sizeof newer;
  EXPECT_EQ(refusal_of(newer.known), "");
  EXPECT_EQ((ones({3}, {.device = "newer"}) + 1).to(Device()).sum().item<float>(), 6);
}

TEST(LoadBackend, RefusesWhatIsNone) {
  const std::string absent = error_of<IoError>([] { load_backend("/no/such/library.so"); });
  EXPECT_EQ(absent.find("load_backend: expected a library that can be loaded, got /no/such/library.so ("), 0u)
      << absent;
  EXPECT_THROW(load_backend("library.so"), IoError);
  Dl_info here;
  ASSERT_TRUE(dladdr(reinterpret_cast<const void*>(&load_backend), &here));
  const std::string other = here.dli_fname;
  if (other.find(".so") != std::string::npos)
    EXPECT_EQ(error_of<FormatError>([&] { load_backend(other); }),
              "load_backend: expected a library that exports neura_backend, got " + other + "; see docs/backend.md");
  (void)Device("npu");
  EXPECT_EQ(error_of<ValueError>([] { load_backend(NEURA_NPU); }),
            "load_backend: expected " NEURA_NPU
            " to register its device types, got \"add_device_type: expected the name "
            "of no other device type, got \"npu\"; load its back end only once\"");
}

TEST(DeviceMemory, IsCountedWhereTheBackEndDoes) {
  const std::size_t before = memory_allocated("npu");
  const Tensor x = zeros({1000}, {.device = "npu"});
  EXPECT_EQ(memory_allocated("npu"), before + 4000);
  EXPECT_GE(max_memory_allocated("npu"), before + 4000);
  EXPECT_EQ(error_of<NotImplementedError>([] { memory_allocated("fpga"); }),
            "memory: expected a back end that counts its memory, got that of fpga, which does not");
}
TEST(DeviceMemory, AllOfItComesBack) {
  const std::size_t before = memory_allocated("npu");
  for (int i = 0; i < 3; ++i) (void)(ones({64, 3}, {.device = "npu"}) * 2).sum(Dims{0});
  EXPECT_EQ(memory_allocated("npu"), before);
}

}  // namespace
}  // namespace neura::test
