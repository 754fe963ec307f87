// What crosses the border: calls, attributes, statuses, streams, collectives, and the back end of the guide.
#include "neura/neura.h"
#include "tests/border/border.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

// A device type whose kernels tell what they were given.
struct Seen {
  std::string name, text;
  bool pointwise = false;
  int inputs = 0, outputs = 0, rank = 0;
  std::int64_t integer = -1, listed = -1, list[4] = {};
  double real = -1, number = -1;
  bool absent = false;
  int answer = NEURA_NONE;
  const char *integer_name = "", *real_name = "", *list_name = "";
} seen;
int look(void*, const neura_call* c) {
  char text[200];
  EXPECT_EQ(c->size, sizeof(neura_call));
  const std::size_t length = c->host->text(c, text, sizeof text);
  EXPECT_EQ(length, std::string(text).size());
  EXPECT_EQ(c->host->text(c, text, 3), length);
  c->host->text(c, text, sizeof text);
  seen.name = c->name, seen.text = text, seen.pointwise = c->pointwise;
  seen.inputs = c->inputs, seen.outputs = c->outputs, seen.rank = c->out->rank;
  if (!neura_integer(c, seen.integer_name, &seen.integer)) seen.integer = -1;
  if (!neura_real(c, seen.real_name, &seen.real)) seen.real = -1;
  seen.listed = neura_integers(c, seen.list_name, seen.list, 4);
  for (int i = 0; i < c->inputs; ++i) {
    if (c->in[i].on_host) seen.number = c->host->number(&c->in[i]);
    EXPECT_EQ(c->in[i].data == nullptr, c->in[i].rank == -1);
    seen.absent |= !c->in[i].data;
  }
  std::snprintf(c->error->text, sizeof c->error->text, "expected luck, got none");
  return seen.answer;
}
const neura_kernel kLooking[] = {{"leaky_relu", 0, look}, {"add", 0, look},
                                 {"sum", 0, look},        {"roll", 0, look},
                                 {"full", 0, look},       {"mul_backward_0", 1u << NEURA_FLOAT32, look},
                                 {"layer_norm", 0, look}};
Device probe() {
  static const bool added = [] {
    (void)Device("npu");  // those of the environment come first
    neura_device_type t = plain_type("probe");
    t.kernels = kLooking, t.kernel_count = std::size(kLooking);
    return refusal_of(t).empty();
  }();
  EXPECT_TRUE(added);
  seen = Seen();
  return "probe";
}

TEST(BorderCall, AttributesAreReadByName) {
  const Tensor x = sample({2, 3}).to(probe());
  seen.real_name = "negative_slope";
  leaky_relu(x, 0.25);
  EXPECT_EQ(seen.name, "leaky_relu");
  EXPECT_EQ(seen.text, "negative_slope=0.25");
  EXPECT_EQ(seen.real, 0.25);
  seen.integer_name = "dims", seen.real_name = "keepdim", seen.list_name = "keepdim";
  x.sum(Dims{1}, true);
  EXPECT_EQ(seen.integer, 2);
  EXPECT_EQ(seen.real, 1);
  EXPECT_EQ(seen.listed, -1) << "it is no list";
  seen.list_name = "shifts", seen.integer_name = "shifts", seen.real_name = "no_such";
  roll(x, {1, 2}, {0, 1});
  EXPECT_EQ(seen.name, "roll");
  ASSERT_EQ(seen.listed, 2);
  EXPECT_TRUE(seen.list[0] == 1 && seen.list[1] == 2);
  EXPECT_EQ(seen.integer, -1) << "a list is no integer";
  EXPECT_EQ(seen.real, -1);
}

TEST(BorderCall, PointwiseOperandsAreMergedAndNumbersStayOnTheHost) {
  const Tensor x = sample({2, 3, 4}).to(probe());
  x + x;
  EXPECT_TRUE(seen.pointwise && seen.inputs == 2 && seen.outputs == 1 && seen.rank == 1);
  x + x.select(1, 0).unsqueeze(1);
  EXPECT_EQ(seen.rank, 3);
  x + 2.5;
  EXPECT_EQ(seen.number, 2.5);
  x.sum(Dims{0});
  EXPECT_TRUE(!seen.pointwise && seen.inputs == 1);
}

TEST(BorderCall, DerivativesHaveNamesAndAbsentOperands) {
  Tensor x = ones({3}).to(probe()).requires_grad_(), y = x * x.detach();
  y.sum().backward();
  EXPECT_EQ(seen.name, "mul_backward_0");
  EXPECT_TRUE(seen.absent);
  EXPECT_EQ(seen.inputs, 4);
}

TEST(BorderCall, StatusesBecomeTypedErrors) {
  const Tensor x = ones({3}).to(probe());
  seen.answer = NEURA_FAILED;
  EXPECT_EQ(error_of<DeviceError>([&] { x + x; }).find("add: expected luck, got none"), 0u);
  seen.answer = NEURA_NO_MEMORY;
  EXPECT_EQ(error_of<OutOfMemoryError>([&] { x.sum(); }).find("sum: expected luck, got none"), 0u);
  seen.answer = NEURA_BAD_INDEX;
  EXPECT_EQ(error_of<IndexError>([&] { x.sum(); }).find("sum: expected luck, got none"), 0u);
  seen.answer = NEURA_NONE;
  EXPECT_EQ(x.sum().item<float>(), 3);
}

TEST(BorderCall, ALateNoIsAnsweredByTheDefinition) {
  const Tensor a = sample({2, 3}), x = a.to(probe());
  reset_host_fallbacks();
  expect_close(layer_norm(x, {3}).to(Device()), layer_norm(a, {3}));
  EXPECT_EQ(fallbacks("probe", "layer_norm"), 0);
  EXPECT_GT(fallbacks("probe", "add"), 0);
}

TEST(BorderStreams, KernelsGetTheThreadsOwn) {
  const RegisteredType& npu = registered(Device("npu").type);
  const neura_streams& s = npu.streams;
  void *stream = nullptr, *event = nullptr;
  neura_error e{};
  ASSERT_EQ(s.create(npu.table.self, 0, &stream, &e), NEURA_OK);
  ASSERT_EQ(s.create_event(npu.table.self, 0, &event, &e), NEURA_OK);
  EXPECT_EQ(set_current_border_stream("npu:0", stream), nullptr);
  const Tensor x = ones({2}, {.device = "npu:0"}), y = ones({2}, {.device = "npu:1"});
  const std::int64_t before = *static_cast<std::int64_t*>(stream);
  x + x, y + y;
  EXPECT_EQ(*static_cast<std::int64_t*>(stream), before + 1) << "the other device has a stream of its own";
  EXPECT_EQ(s.record(npu.table.self, 0, event, stream, &e), NEURA_OK);
  EXPECT_EQ(s.wait(npu.table.self, 0, stream, event, &e), NEURA_OK);
  EXPECT_EQ(s.synchronize(npu.table.self, 0, stream, &e), NEURA_OK);
  EXPECT_EQ(set_current_border_stream("npu:0", nullptr), stream);
  x + x;
  EXPECT_EQ(*static_cast<std::int64_t*>(stream), before + 1);
  s.destroy_event(npu.table.self, 0, event), s.destroy(npu.table.self, 0, stream);
  EXPECT_EQ(registered(Device("fpga").type).streams.create, nullptr);
}

TEST(BorderCollectives, ALoopbackGivesBackWhatItGot) {
  const RegisteredType& npu = registered(Device("npu").type);
  const neura_collectives& c = npu.collectives;
  void *self = npu.table.self, *comm = nullptr;
  neura_error e{};
  EXPECT_EQ(c.open(self, 0, "all", 1, 2, &comm, &e), NEURA_FAILED);
  EXPECT_STREQ(e.text, "expected rank 0 of 1, got 1 of 2");
  ASSERT_EQ(c.open(self, 0, "all", 0, 1, &comm, &e), NEURA_OK);
  const Tensor a = sample({5}), x = a.to("npu");
  void* from = x.raw_data();
  const auto arrives = [&](auto&& call) {
    Tensor y = zeros({5}, {.device = "npu"});
    EXPECT_EQ(call(y.raw_data()), NEURA_OK);
    expect_same(y.to(Device()), a);
  };
  arrives([&](void* to) { return c.all_reduce(self, comm, from, to, 5, NEURA_FLOAT32, NEURA_SUM, nullptr, &e); });
  arrives([&](void* to) { return c.all_gather(self, comm, from, to, 5, NEURA_FLOAT32, nullptr, &e); });
  arrives([&](void* to) { return c.reduce_scatter(self, comm, from, to, 5, NEURA_FLOAT32, NEURA_MAX, nullptr, &e); });
  arrives([&](void* to) {
    EXPECT_EQ(c.send(self, comm, from, 5, NEURA_FLOAT32, 0, nullptr, &e), NEURA_OK);
    return c.receive(self, comm, to, 5, NEURA_FLOAT32, 0, nullptr, &e);
  });
  EXPECT_EQ(c.broadcast(self, comm, from, 5, NEURA_FLOAT32, 0, nullptr, &e), NEURA_OK);
  c.close(self, comm);
  EXPECT_EQ(registered(Device("fpga").type).collectives.all_reduce, nullptr);
}

TEST(BackendPage, TheBackEndOfTheGuideWorks) {
  load_backend(NEURA_BACKEND_PAGE);
  const RegisteredType& page = registered(Device("page").type);
  const int* calls = static_cast<const int*>(page.table.self);
  const Tensor a = sample({3, 4}), x = a.to("page");
  expect_same((x + x).to(Device()), a + a);
  expect_same((x + 1).to(Device()), a + 1);
  expect_close(leaky_relu(x, 0.1).to(Device()), leaky_relu(a, 0.1));
  EXPECT_EQ(*calls, 3);
  expect_same((x + x.select(0, 0)).to(Device()), a + a.select(0, 0));  // not lines: the host
  expect_close(softmax(x, 1).to(Device()), softmax(a, 1));
  EXPECT_EQ(*calls, 3);
}

}  // namespace
}  // namespace neura::test
