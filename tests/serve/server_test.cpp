// The protocol: health, metadata, inference by JSON and bytes, errors with their codes.
#include "neura/serve/server.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "neura/serve/error_response.h"
#include "neura/serve/http.h"
#include "neura/serve/listener.h"
#include "neura/serve/message.h"
#include "tests/serve/client.h"
#include "tests/serve/models.h"
#include "tests/support/close.h"

namespace neura {
namespace {

using test::Answer;
using test::bytes_of;
using test::Client;
using test::infer_body;
using test::Models;
using test::options_of;
using test::Running;

const char* kInfer = "/v2/models/double/infer";

class Serving : public testing::Test {
 protected:
  Serving() {
    models_.put("double", "1", test::rows_model("Mul", 2));
    models_.put("half", "7", test::unary_model("Neg", onnx::Type::float16, {-1, 2}));
    models_.put("yes", "1", test::unary_model("Not", onnx::Type::boolean, {3}));
    models_.put("long", "1", test::unary_model("Neg", onnx::Type::int64, {2}));
    std::filesystem::create_directories(models_ / "program");
    test::write_program(models_ / "program/model.neura", 3);
    std::filesystem::create_directories(models_ / "broken/1");
    io::write_file(models_ / "broken/1/model.onnx", "no model");
    server_.emplace(options_of(models_));
    client_.emplace(server_->port());
  }
  void expect(const Answer& a, int code, const std::string& text) {
    EXPECT_EQ(a.code, code) << a.body;
    std::string body = a.body;  // with quotes as a reader of the JSON has them
    for (std::size_t i = 0; (i = body.find("\\\"", i)) != body.npos;) body.erase(i, 1);
    EXPECT_NE(body.find(text), body.npos) << a.body;
  }
  Models models_;
  std::optional<Running> server_;
  std::optional<Client> client_;
};

TEST_F(Serving, SaysThatItLivesAndIsReady) {
  expect(client_->get("/v2"), 200, "\"name\":\"neura\"");
  expect(client_->get("/v2/health/live"), 200, "{\"live\":true}");
  expect(client_->get("/v2/health/ready"), 200, "{\"ready\":true}");
  expect(client_->get("/v2/models/double/ready"), 200, "\"ready\":true");
  expect(client_->get("/v2/models/double/versions/1/ready"), 200, "\"ready\":true");
  expect(client_->get("/v2/models/broken/ready"), 503, "not loaded");
  expect(client_->get("/v2/models/other/ready"), 404, "other");
}

TEST_F(Serving, DescribesModels) {
  const Answer a = client_->get("/v2/models/double");
  EXPECT_EQ(a.code, 200);
  EXPECT_EQ(
      a.body,
      "{\"inputs\":[{\"datatype\":\"FP32\",\"name\":\"x\",\"shape\":[-1,4]}],\"name\":\"double\",\"outputs\":[{"
      "\"datatype\":\"FP32\",\"name\":\"y\",\"shape\":[-1,4]}],\"platform\":\"onnx_neura\",\"versions\":[\"1\"]}");
  expect(client_->get("/v2/models/program"), 200, "\"shape\":[2,3]");
  expect(client_->get("/v2/models/half"), 200, "FP16");
  expect(client_->get("/v2/models/half/versions/7"), 200, "\"versions\":[\"7\"]");
  expect(client_->get("/v2/models/half/versions/8"), 404, "expected version 7");
}

TEST_F(Serving, InfersFromJson) {
  const Answer a = client_->post(kInfer, infer_body({1, 2, 3, 4.5}, "\"id\":\"a\\\"7\","));
  EXPECT_EQ(a.code, 200);
  EXPECT_EQ(a.body,
            "{\"model_name\":\"double\",\"model_version\":\"1\",\"id\":\"a\\\"7\",\"outputs\":[{\"name\":\"y\","
            "\"datatype\":\"FP32\",\"shape\":[1,4],\"data\":[2,4,6,9]}]}");
  EXPECT_EQ(a.header("content-type"), "application/json");
  const std::string nested =
      R"({"inputs":[{"name":"x","data":[[1,2,3,4],[5,6,7,8]],"shape":[2,4],"datatype":"FP32","more":{"a":[{}]}}],"x":1})";
  expect(client_->post("/v2/models/double/versions/1/infer", nested), 200, "\"data\":[2,4,6,8,10,12,14,16]");
  expect(client_->post("/v2/models/program/infer",
                       R"({"inputs":[{"name":"x","datatype":"FP32","shape":[2,3],"data":[1,2,3,4,5,6]}]})"),
         200, "[3,6,9,12,15,18]");
  expect(client_->post("/v2/models/half/infer",
                       R"({"inputs":[{"name":"x","datatype":"FP16","shape":[1,2],"data":[0.1,2]}]})"),
         200, "[-0.099975586,-2]");
  expect(client_->post("/v2/models/yes/infer",
                       R"({"inputs":[{"name":"x","datatype":"BOOL","shape":[3],"data":[true,false,1]}]})"),
         200, "[false,true,false]");
  expect(client_->post("/v2/models/long/infer",
                       R"({"inputs":[{"name":"x","datatype":"INT64","shape":[2],"data":[9007199254740993,-1]}]})"),
         200, "[-9007199254740993,1]");
}

TEST_F(Serving, InfersFromBytes) {
  const std::string json =
      R"({"inputs":[{"name":"x","datatype":"FP32","shape":[2,4],"parameters":{"binary_data_size":32}}],)"
      R"("outputs":[{"name":"y","parameters":{"binary_data":true}}]})";
  const std::string body = json + bytes_of<float>({1, 2, 3, 4, 5, 6, 7, 8});
  const test::HeaderList length{{"Inference-Header-Content-Length", std::to_string(json.size())}};
  Answer a = client_->post(kInfer, body, length);
  EXPECT_EQ(a.code, 200) << a.body;
  EXPECT_EQ(a.header("content-type"), "application/octet-stream");
  const std::size_t head = std::stoull(a.header("inference-header-content-length"));
  EXPECT_NE(a.body.substr(0, head).find("\"binary_data_size\":32"), std::string::npos);
  EXPECT_EQ(a.body.substr(head), bytes_of<float>({2, 4, 6, 8, 10, 12, 14, 16}));
  expect(client_->post(kInfer, body + "x", length), 400, "expected no bytes after the inputs, got 1");
  expect(client_->post(kInfer, body.substr(0, body.size() - 1), length), 400, "expected 32 bytes");
  expect(client_->post(kInfer, body, {{"Inference-Header-Content-Length", "-1"}}), 400, "number of bytes");
  expect(client_->post(kInfer, body, {{"Inference-Header-Content-Length", "99999"}}), 400, "number of bytes");
  a = client_->post(kInfer, infer_body({1, 2, 3, 4}, "\"parameters\":{\"binary_data_output\":true},"));
  EXPECT_EQ(a.body.substr(std::stoull(a.header("inference-header-content-length"))), bytes_of<float>({2, 4, 6, 8}));
}

TEST_F(Serving, TakesBoolsOfAnyByteThatIsNotZero) {
  const std::string json =
      R"({"inputs":[{"name":"x","datatype":"BOOL","shape":[3],"parameters":{"binary_data_size":3}}]})";
  const Answer a = client_->post("/v2/models/yes/infer", json + std::string("\x02\x00\xff", 3),
                                 {{"Inference-Header-Content-Length", std::to_string(json.size())}});
  expect(a, 200, "[false,true,false]");
}

TEST_F(Serving, RefusesWhatDoesNotFit) {
  const auto refused = [&](const std::string& body, const std::string& text) {
    expect(client_->post(kInfer, body), 400, text);
  };
  const auto input = [](const std::string& fields) { return "{\"inputs\":[{" + fields + "}]}"; };
  const std::string x = "\"name\":\"x\",\"datatype\":\"FP32\",", one = "\"data\":[1,2,3,4]";
  refused("", "expected JSON");
  refused("[]", "expected an object");
  refused("{", "expected JSON");
  refused("{}", "expected an input \"x\", got none");
  refused(input(x + "\"shape\":[1,4]"), "got neither");
  refused(input(x + "\"shape\":[1,4],\"data\":[1,2,3]"), "expected 4 numbers for \"x\", got 3");
  refused(input(x + "\"shape\":[4]," + one), "expected sizes [-1, 4] as \"x\", got [4]");
  refused(input(x + "\"shape\":[-1,4]," + one), "whole numbers from 0");
  refused(input(x + "\"shape\":[4611686018427387904,4]," + one), "memory can hold");
  refused(input(x + "\"shape\":[99999999999999999999,4]," + one), "whole numbers");
  refused(input(x + "\"shape\":[1,4],\"data\":[1,2,3,\"4\"]"), "text");
  refused(input(x + "\"shape\":[1,4],\"data\":[1,2,3,null]"), "got null");
  refused(input(x + "\"shape\":[1,4],\"data\":[1,2,3,true]"), "expected numbers");
  refused(input("\"name\":\"x\",\"datatype\":\"FP64\",\"shape\":[1,4]," + one), "expected FP32");
  refused(input("\"name\":\"z\",\"datatype\":\"FP32\",\"shape\":[1,4]," + one), "(x), got \"z\"");
  refused(input(x + "\"shape\":[1,4],\"data\":" + std::string(100, '[')), "64 levels");
  refused(infer_body({1, 2, 3, 4}, "\"outputs\":[{\"name\":\"z\"}],"), "(y), got \"z\"");
  refused(infer_body({1, 2, 3, 4}, "\"outputs\":[{\"name\":\"y\"},{\"name\":\"y\"}],"), "twice");
  refused(infer_body({1, 2, 3, 4}, "\"outputs\":[{\"name\":\"y\",\"parameters\":{\"classification\":2}}],"),
          "classification");
  refused(input(x + "\"shape\":[1,4],\"parameters\":{\"shared_memory_region\":\"a\"}," + one), "shared memory");
  expect(client_->post("/v2/models/other/infer", "{}"), 404, "got \"other\"");
  expect(client_->post("/v2/models/broken/infer", "{}"), 503, "not loaded");
  expect(client_->post("/v2/models/double/versions/2/infer", "{}"), 404, "expected version 1");
  expect(client_->post("/v2/models/double/explain", "{}"), 405, "expected GET");
  expect(client_->get(kInfer), 405, "expected POST");
  expect(client_->get("/"), 404, "Open Inference Protocol");
  expect(client_->get("/v2/../../etc/passwd"), 404, "error");
  expect(client_->post(kInfer, infer_body({1, 2, 3, 4})), 200, "[2,4,6,8]");
}

TEST_F(Serving, ListsLoadsAndUnloadsModels) {
  Answer a = client_->post("/v2/repository/index", "");
  EXPECT_NE(a.body.find(R"({"name":"double","reason":"","state":"READY","version":"1"})"), a.body.npos) << a.body;
  EXPECT_NE(a.body.find("\"state\":\"UNAVAILABLE\""), a.body.npos) << a.body;
  a = client_->post("/v2/repository/index", "{\"ready\":true}");
  EXPECT_EQ(a.body.find("UNAVAILABLE"), a.body.npos) << a.body;
  expect(client_->post("/v2/repository/models/double/unload", "{}"), 200, "");
  expect(client_->post(kInfer, infer_body({1, 2, 3, 4})), 503, "not loaded");
  server_->look();
  expect(client_->post(kInfer, infer_body({1, 2, 3, 4})), 503, "not loaded");
  expect(client_->post("/v2/repository/models/double/load", "{}"), 200, "");
  expect(client_->post(kInfer, infer_body({1, 2, 3, 4})), 200, "[2,4,6,8]");
  expect(client_->post("/v2/repository/models/broken/load", ""), 500, "cannot be loaded");
  expect(client_->post("/v2/repository/models/none/load", ""), 404, "none");
  expect(client_->post("/v2/repository/models/none/unload", ""), 404, "none");
  expect(client_->post("/v2/repository/models/double/load", "{\"parameters\":{\"config\":\"{}\"}}"), 400,
         "no parameters");
}

TEST_F(Serving, CountsForPrometheus) {
  for (int i = 0; i < 3; ++i) client_->post(kInfer, infer_body({1, 2, 3, 4}));
  client_->post(kInfer, "{}");
  const std::string text = client_->get("/metrics").body;
  for (const char* line : {"neura_requests_total{model=\"double\",version=\"1\",code=\"200\"} 3\n",
                           "neura_requests_total{model=\"double\",version=\"1\",code=\"400\"} 1\n",
                           "neura_compute_seconds_count{model=\"double\",version=\"1\"} 3\n",
                           "neura_batch_rows_bucket{model=\"double\",version=\"1\",le=\"1\"} 3\n",
                           "neura_model_loaded{model=\"half\",version=\"7\"} 1\n",
                           "neura_loads_total{model=\"broken\",outcome=\"failed\"} 1\n", "neura_connections 1\n",
                           "# TYPE neura_queue_seconds histogram\n"})
    EXPECT_NE(text.find(line), text.npos) << line << "not in\n" << text;
}

TEST(Server, TakesOneFile) {
  const test::Folder folder;
  test::write_program(folder / "three.neura", 3);
  serve::ServerOptions o = options_of(folder);
  o.models.path = folder / "three.neura";
  Running server(o);
  EXPECT_EQ(Client(server.port()).get("/v2/models/three").code, 200);
  o.models.path = folder / "none";
  EXPECT_THROW(Running{o}, IoError);
}

TEST(Server, RefusesAnAddressThatIsTaken) {
  const Models models;
  Running server(options_of(models));
  serve::ServerOptions o = options_of(models);
  o.http.port = server.port();
  EXPECT_THROW(Running{o}, IoError);
}

// As of a name whose first address is another's, or is of a family that is off.
TEST(Server, TriesEveryAddressOfAName) {
  sockaddr_in here{}, free{};
  here.sin_family = free.sin_family = AF_INET;
  here.sin_addr.s_addr = free.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto entry = [](sockaddr_in& a, addrinfo* next) {
    addrinfo e{};
    e.ai_family = AF_INET, e.ai_addr = reinterpret_cast<sockaddr*>(&a), e.ai_addrlen = sizeof a, e.ai_next = next;
    return e;
  };
  const addrinfo any = entry(here, nullptr);
  const int taken = serve::listener_at(&any);
  socklen_t size = sizeof here;
  ASSERT_EQ(::getsockname(taken, reinterpret_cast<sockaddr*>(&here), &size), 0);
  addrinfo second = entry(free, nullptr), off = entry(here, &second);
  off.ai_family = -1;
  const addrinfo first = entry(here, &off);
  const int got = serve::listener_at(&first);
  EXPECT_GE(got, 0);
  ::close(got);
  off.ai_next = nullptr;
  EXPECT_EQ(serve::listener_at(&first), -1);
  EXPECT_EQ(errno, EADDRINUSE);  // of the first one
  ::close(taken);
}

TEST(Server, SaysWhatToDoWhereAPortIsTaken) {
  const auto nothing = [](serve::Exchange&) {};
  serve::Http one({}, nothing);
  one.start();
  serve::Http two({.port = one.port()}, nothing);
  EXPECT_EQ(test::error_of<IoError>([&] { two.start(); }),
            "serve: cannot listen at 127.0.0.1:" + std::to_string(one.port()) +
                ": another program listens there; take another port, or 0 for a free one");
}

TEST(ServedNumbers, BecomeRealsInTheirPlace) {
  serve::Numbers n;
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  for (int i = 0; i < 1000; ++i) n.add(std::int64_t{i});
  n.add(large);
  EXPECT_EQ(n.integer(1000), large);
  const std::size_t bytes = n.bytes();
  n.add(0.5);
  n.add(std::int64_t{-7});
  EXPECT_EQ(n.bytes(), bytes);  // of 1024 words
  EXPECT_TRUE(n.real());
  EXPECT_EQ(n.number(999), 999);
  EXPECT_EQ(n.number(1000), double(large));
  EXPECT_EQ(n.number(1001), 0.5);
  EXPECT_EQ(n.number(1002), -7);
}

}  // namespace
}  // namespace neura
