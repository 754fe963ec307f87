// The C interface: from C, by threads, with bytes, states and results that are memory of something else.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <thread>

#include "neura/capi/neura.h"
#include "neura/core/file.h"
#include "neura/core/memory.h"
#include "neura/core/parallel.h"
#include "neura/graph/trace.h"
#include "neura/io/program.h"
#include "neura/nn/linear.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/scan.h"
#include "tests/capi/use.h"
#include "tests/io/folder.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"
#ifdef NEURA_ONNX
#include "neura/onnx/export.h"
#endif

[[maybe_unused]] static const bool used = (setenv("NEURA_CUDA_LIBRARY", NEURA_HOST_DEVICE, 1), true);

namespace neura {
namespace {

using Results = std::vector<Tensor>;

// A model and a session, closed in the end.
struct Opened {
  neura_model* model = nullptr;
  neura_session* session = nullptr;
  explicit Opened(const std::string& path, const neura_options* o = nullptr) {
    EXPECT_EQ(neura_open(NEURA_ABI, path.c_str(), o, &model), NEURA_DONE) << neura_message();
    start();
  }
  Opened(const std::string& bytes, neura_options o, int) {
    EXPECT_EQ(neura_open_bytes(NEURA_ABI, bytes.data(), bytes.size(), &o, &model), NEURA_DONE) << neura_message();
    start();
  }
  Opened(const Opened&) = delete;
  ~Opened() { neura_session_close(session), neura_close(model); }
  void start() { EXPECT_EQ(neura_session_open(model, &session), NEURA_DONE) << neura_message(); }
};

// float32, rows one after the other.
struct View {
  Shape sizes;
  DLTensor t{};
  explicit View(const Tensor& x) : sizes(x.shape()) {
    t.data = x.raw_data(), t.device = {kDLCPU, 0}, t.ndim = x.dim(), t.dtype = {kDLFloat, 32, 1};
    t.shape = &sizes[0];
  }
};
Results run(neura_session* s, const Results& given, std::size_t outputs = 1) {
  std::vector<View> views;
  for (const Tensor& x : given) views.emplace_back(x);
  std::vector<const DLTensor*> in;
  for (View& v : views) v.t.shape = &v.sizes[0], in.push_back(&v.t);
  std::vector<DLManagedTensorVersioned*> out(outputs);
  EXPECT_EQ(neura_run(s, in.data(), in.size(), out.data(), outputs), NEURA_DONE) << neura_message();
  Results all;
  for (DLManagedTensorVersioned* m : out) {
    if (!m) continue;
    const DLTensor& t = m->dl_tensor;
    EXPECT_EQ(t.dtype.bits, 32);
    all.push_back(
        Tensor::empty(Spec::dense(float32, Shape(std::span<const std::int64_t>(t.shape, std::size_t(t.ndim))))));
    std::memcpy(all.back().raw_data(), t.data, all.back().nbytes());
    neura_release(m);
  }
  return all;
}

struct CInterface : testing::Test {
  test::Folder folder;
  std::string file = folder / "net.neura";
  void TearDown() override {
    for (const int kind : {NEURA_MODELS, NEURA_SESSIONS, NEURA_TENSORS}) EXPECT_EQ(neura_live(kind), 0) << kind;
  }
  std::string saved(const graph::Function& f, const Results& x, const std::vector<graph::Named>& names = {}) {
    save_program(file, graph::trace(f, x, names));
    return file;
  }
  std::string doubling() {
    const Tensor b = arange(3).to(float32);
    const auto f = [&](std::span<const Tensor> in) { return Results{in[0] * 2 + b}; };
    const std::vector<graph::Named> names{{"b", b}};
    save_program(file, graph::trace(f, Results{zeros({2, 3})}, names), {{"x"}, {"y"}, {{"licence", "mine"}}});
    return file;
  }
};

TEST_F(CInterface, IsUsedFromC) { EXPECT_EQ(use_model(doubling().c_str()), 0) << neura_message(); }
TEST_F(CInterface, RefusesMisuse) { EXPECT_EQ(misuse(doubling().c_str()), 0) << neura_message(); }
TEST_F(CInterface, RefusesTensorsThatDoNotFit) { EXPECT_EQ(misuse_tensors(doubling().c_str()), 0) << neura_message(); }

TEST_F(CInterface, ThreadsShareASessionAndGetTheSameBits) {
  nn::Linear one(32, 64), two(64, 8);
  const Tensor x = test::sample({4, 32});
  saved([&](std::span<const Tensor> in) { return Results{two.forward(relu(one.forward(in[0])))}; }, {x});
  const int before = get_num_threads();
  EXPECT_EQ(neura_set_threads(1), NEURA_DONE);
  EXPECT_EQ(neura_threads(), 1);
  {
    Opened m(file);
    const Tensor want = run(m.session, {x})[0];
    test::expect_close(want, two.forward(relu(one.forward(x))).detach());
    std::atomic<int> different = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        neura_session* own = nullptr;
        if (t % 2) EXPECT_EQ(neura_session_open(m.model, &own), NEURA_DONE);
        for (int i = 0; i < 1000; ++i) {
          const Tensor y = run(own ? own : m.session, {x})[0];
          different += std::memcmp(y.const_raw_data(), want.const_raw_data(), want.nbytes()) != 0;
        }
        neura_session_close(own);
      });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(different, 0);
  }
  set_num_threads(before);
}

TEST_F(CInterface, MessagesBelongToTheirThread) {
  EXPECT_EQ(neura_open(NEURA_ABI, "a.txt", nullptr, nullptr), NEURA_E_VALUE);
  std::string other = "not asked";
  std::thread([&] { other = neura_message(); }).join();
  EXPECT_EQ(other, "");
  EXPECT_NE(std::string(neura_message()), "");
}

TEST_F(CInterface, EachSessionHasAStateOfItsOwn) {
  Tensor state = full({2}, 10.0);
  saved(
      [&](std::span<const Tensor> in) {
        add_(state, in[0]);
        return Results{state};
      },
      {ones({2})}, {{"state", state}});
  const float at_first = state.const_data<float>()[0];
  Opened a(file), b(file);
  neura_session* c = nullptr;
  EXPECT_EQ(neura_session_open(a.model, &c), NEURA_DONE);
  const Tensor one = ones({2});
  const Tensor first = run(a.session, {one})[0];
  EXPECT_EQ(first.const_data<float>()[0], at_first + 1);
  EXPECT_EQ(run(a.session, {one})[0].const_data<float>()[0], at_first + 2);
  EXPECT_EQ(first.const_data<float>()[0], at_first + 1);
  EXPECT_EQ(run(c, {one})[0].const_data<float>()[0], at_first + 1);
  EXPECT_EQ(run(b.session, {one})[0].const_data<float>()[0], at_first + 1);
  neura_session_close(c);
}

// What comes out is the caller's alone: neither the input, nor weights, nor another result.
TEST_F(CInterface, ResultsAreMemoryOfTheirOwn) {
  const Tensor w = full({2, 2}, 3.0), x = test::sample({2, 2});
  saved([&](std::span<const Tensor> in) { return Results{in[0].view({4}), w, in[0].t(), w}; }, {x}, {{"w", w}});
  Opened m(file);
  View v(x);
  const DLTensor* in = &v.t;
  DLManagedTensorVersioned* out[4];
  ASSERT_EQ(neura_run(m.session, &in, 1, out, 4), NEURA_DONE) << neura_message();
  for (DLManagedTensorVersioned* o : out) {
    EXPECT_NE(o->dl_tensor.data, v.t.data);
    static_cast<float*>(o->dl_tensor.data)[0] = 77;
  }
  EXPECT_NE(out[1]->dl_tensor.data, out[3]->dl_tensor.data);
  EXPECT_EQ(static_cast<float*>(out[2]->dl_tensor.data)[1], x.const_data<float>()[2]);  // its rows
  for (DLManagedTensorVersioned* o : out) neura_release(o);
  EXPECT_NE(x.const_data<float>()[0], 77);
  EXPECT_EQ(run(m.session, {x}, 4)[1].const_data<float>()[0], 3);
}

TEST_F(CInterface, InputsAreNotCopied) {
  const Tensor x = ones({1 << 20, 4});
  saved([](std::span<const Tensor> in) { return Results{in[0].sum({0})}; }, {x});
  Opened m(file);
  run(m.session, {x});
  reset_peak_memory_stats();
  const std::size_t before = memory_allocated();
  EXPECT_EQ(run(m.session, {x})[0].const_data<float>()[0], 1 << 20);
  EXPECT_LT(max_memory_allocated() - before, x.nbytes() / 2);
}

TEST_F(CInterface, BytesThatAreNotAlignedAreCopied) {
  doubling();
  Opened m(file);
  std::vector<char> bytes(6 * 4 + 1);
  const Tensor x = test::sample({2, 3});
  std::memcpy(bytes.data() + 1, x.const_raw_data(), x.nbytes());
  View v(x);
  v.t.data = bytes.data(), v.t.byte_offset = 1;
  const DLTensor* in = &v.t;
  DLManagedTensorVersioned* out;
  ASSERT_EQ(neura_run(m.session, &in, 1, &out, 1), NEURA_DONE) << neura_message();
  EXPECT_EQ(static_cast<float*>(out->dl_tensor.data)[0], 2 * x.const_data<float>()[0]);
  neura_release(out);
}

TEST_F(CInterface, OpensBytesCopiedAndBorrowed) {
  const Tensor x = test::sample({2, 3});
  const std::string bytes = io::read_file(doubling());
  neura_options borrow{};
  borrow.borrow = 1;
  std::string gone = bytes;
  Opened copied(gone, {}, 0), borrowed(bytes, borrow, 0);
  std::fill(gone.begin(), gone.end(), 'x');
  EXPECT_EQ(run(copied.session, {x})[0].const_data<float>()[1], 2 * x.const_data<float>()[1] + 1);
  EXPECT_EQ(run(borrowed.session, {x})[0].const_data<float>()[1], 2 * x.const_data<float>()[1] + 1);
}

TEST_F(CInterface, VerifiesAndTrustsAsItIsTold) {
  doubling();
  std::string bytes = io::read_file(file);
  bytes.back() = char(bytes.back() ^ 1);  // of a weight
  io::write_file(file, bytes);
  neura_model* m = nullptr;
  neura_options o{};
  o.verify = 1;
  EXPECT_EQ(neura_open(NEURA_ABI, file.c_str(), &o, &m), NEURA_E_FORMAT);
  EXPECT_NE(std::string(neura_message()).find("hash"), std::string::npos) << neura_message();
  EXPECT_EQ(neura_open_bytes(NEURA_ABI, bytes.data(), bytes.size(), nullptr, &m), NEURA_E_FORMAT);
  saved([](std::span<const Tensor> in) { return Results{cumprod(in[0], 0)}; }, {ones({3})});
  EXPECT_EQ(neura_open(NEURA_ABI, file.c_str(), nullptr, &m), NEURA_E_NOT_IMPLEMENTED);
  EXPECT_NE(std::string(neura_message()).find("cumprod"), std::string::npos) << neura_message();
  o.trusted = 1;
  EXPECT_EQ(run(Opened(file, &o).session, {full({3}, 2.0)})[0].const_data<float>()[2], 8);
}

// The device for tests as cuda: what goes in and comes out is in the cpu's memory.
TEST_F(CInterface, AProgramOfADeviceTakesMemoryOfTheCpu) {
  const Device there("cuda:0");
  const Tensor w = test::sample({2, 3}), x = test::sample({2, 3}), on = w.to(there);
  Tensor state = zeros({2, 3}).to(there);
  const std::vector<graph::Named> names{{"w", on}, {"state", state}};
  const auto f = [&](std::span<const Tensor> in) {
    add_(state, in[0]);
    return Results{in[0] * on, state};
  };
  saved(f, {x.to(there)}, names);
  neura_options o{};
  o.device = "cuda:0";
  Opened m(file, &o), n(file);
  const Tensor before = run(m.session, {x}, 2)[1];
  const Results got = run(m.session, {x}, 2);
  test::expect_same(got[0], x * w);
  test::expect_close(got[1] - before, x);
  o.device = "cpu";
  neura_model* none = nullptr;
  EXPECT_EQ(neura_open(NEURA_ABI, file.c_str(), &o, &none), NEURA_E_DEVICE);
  EXPECT_NE(std::string(neura_message()).find("expected a program of the device cpu, got one of cuda:0"),
            std::string::npos);
}

// The program in C on docs/deployment.md.
TEST_F(CInterface, TheProgramOnThePageRuns) {
  const Tensor w = test::sample({4});
  saved([&](std::span<const Tensor> in) { return Results{(in[0] * w).sum({1})}; }, {ones({1, 4})}, {{"w", w}});
  const std::string out = folder / "out";
  EXPECT_EQ(std::system((NEURA_DEPLOYMENT_PAGE " " + file + " >" + out).c_str()), 0);
  const float* p = w.const_data<float>();
  float want = 0;
  for (int i = 0; i < 4; ++i) want += p[i] * 0.5f;
  float got = 0;
  ASSERT_EQ(std::sscanf(io::read_file(out).c_str(), "output_0[0] = %f", &got), 1) << io::read_file(out);
  EXPECT_NEAR(got, want, 1e-4);
  EXPECT_NE(std::system((NEURA_DEPLOYMENT_PAGE " " + (folder / "none.neura") + " >" + out).c_str()), 0);
  EXPECT_NE(io::read_file(out).find("none.neura"), std::string::npos);
}

#ifdef NEURA_ONNX
TEST_F(CInterface, RunsAnOnnxModelOnADevice) {
  nn::Linear net(6, 5);
  const std::string path = folder / "net.onnx";
  const Tensor x = test::sample({2, 6});
  onnx::export_model(net, Results{x}, path, {.input_names = {"x"}, .output_names = {"y"}});
  neura_options o{};
  o.device = "cuda:1";
  test::expect_close(run(Opened(path, &o).session, {x})[0], net.forward(x).detach());
}

TEST_F(CInterface, RunsOnnxModelsOfOpenSizes) {
  nn::Linear net(6, 5);
  const std::string path = folder / "net.onnx";
  onnx::export_model(net, Results{test::sample({2, 6})}, path,
                     {.input_names = {"x"}, .output_names = {"y"}, .dynamic = {{0, 0, "batch"}}});
  const std::string bytes = io::read_file(path);
  Opened m(path), n(bytes, {}, 0);
  neura_port port;
  EXPECT_EQ(neura_input(m.model, 0, &port), NEURA_DONE);
  EXPECT_EQ(port.ndim, 2);
  EXPECT_EQ(port.sizes[0], -1);
  EXPECT_EQ(port.sizes[1], 6);
  for (const std::int64_t rows : {1, 7}) {
    const Tensor x = test::sample({rows, 6});
    test::expect_close(run(m.session, {x})[0], net.forward(x).detach());
    test::expect_close(run(n.session, {x})[0], net.forward(x).detach());
  }
  const Tensor wrong = test::sample({2, 5});
  View v(wrong);
  const DLTensor* in = &v.t;
  DLManagedTensorVersioned* out;
  EXPECT_EQ(neura_run(m.session, &in, 1, &out, 1), NEURA_E_SHAPE);
  EXPECT_EQ(std::string(neura_message()), "neura_run: expected float32 [any, 6] as \"x\", got [2, 5]");
  neura_model* none = nullptr;
  EXPECT_EQ(neura_open_bytes(NEURA_ABI, "nonsense", 8, nullptr, &none), NEURA_E_FORMAT) << neura_message();
}
#endif

}  // namespace
}  // namespace neura
