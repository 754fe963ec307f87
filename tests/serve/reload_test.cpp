// New versions take the place of old ones while requests run, and none of these fails.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/serve/client.h"
#include "tests/serve/models.h"

namespace neura {
namespace {

using test::Answer;
using test::Client;
using test::infer_body;
using test::Lines;
using test::Models;
using test::options_of;
using test::Running;

const char* kInfer = "/v2/models/net/infer";

std::string version_of(Client& client) {
  const Answer a = client.post(kInfer, infer_body({1, 1, 1, 1}));
  const std::size_t at = a.body.find("\"model_version\":\"");
  return at == a.body.npos ? std::to_string(a.code) : a.body.substr(at + 17, a.body.find('"', at + 17) - at - 17);
}
std::string index_of(Client& client) { return client.post("/v2/repository/index", "").body; }
bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

TEST(Reload, TakesANewVersionWhenItsFilesRest) {
  Models models;
  models.put("net", "1", test::rows_model("Mul", 2));
  Running server(options_of(models));
  Client client(server.port());
  EXPECT_EQ(version_of(client), "1");
  models.put("net", "2", test::rows_model("Mul", 3));
  server.look();
  EXPECT_EQ(version_of(client), "1");  // it may still be written
  server.look();
  EXPECT_EQ(version_of(client), "2");
  models.put("net", "10", test::rows_model("Mul", 3));
  server.look(), server.look();
  EXPECT_EQ(version_of(client), "10");
  std::filesystem::remove_all(models / "net/10");
  server.look(), server.look();
  EXPECT_EQ(version_of(client), "2");
  std::filesystem::rename(models / "net", models / ".net");
  server.look();
  EXPECT_EQ(version_of(client), "2");  // it may only be moved
  server.look();
  EXPECT_EQ(version_of(client), "404");
}

TEST(Reload, KeepsTheOldVersionWhereTheNewOneFails) {
  Models models;
  Lines log;
  const std::string good = test::rows_model("Mul", 2);
  models.put("net", "1", good);
  Running server(options_of(models, &log));
  Client client(server.port());
  models.put("net", "2", good.substr(0, good.size() / 2));
  server.look(), server.look();
  EXPECT_EQ(version_of(client), "1");
  EXPECT_TRUE(has(log.text(), "failed to load net version 2: ")) << log.text();
  EXPECT_TRUE(has(log.text(), "version 1 stays")) << log.text();
  EXPECT_TRUE(has(index_of(client), R"("state":"UNAVAILABLE","version":"2")")) << index_of(client);
  const std::string before = log.text();
  server.look();
  EXPECT_EQ(log.text(), before);  // not again, as it is
  EXPECT_EQ(client.post("/v2/repository/models/net/load", "").code, 500);
  EXPECT_EQ(version_of(client), "1");
  models.put("net", "2", good);
  server.look(), server.look();
  EXPECT_EQ(version_of(client), "2");
  EXPECT_FALSE(has(index_of(client), "UNAVAILABLE")) << index_of(client);
  models.put("net", "2", "overwritten");
  server.look(), server.look();
  EXPECT_EQ(version_of(client), "2");
}

TEST(Reload, AnswersFromAnOlderVersionWhereTheNewestIsBrokenAtTheStart) {
  Models models;
  Lines log;
  models.put("net", "1", test::rows_model("Mul", 2));
  models.put("net", "2", "broken");
  Running server(options_of(models, &log));
  Client client(server.port());
  EXPECT_EQ(version_of(client), "1");
  const std::string before = log.text();
  server.look(), server.look();
  EXPECT_EQ(log.text(), before);
}

TEST(Reload, AFolderWithoutModelsIsSaidToBeOneOnce) {
  Models models;
  Lines log;
  Running server(options_of(models, &log));
  const std::string said = "no models in " + models.path() + ": expected NAME/model.neura, NAME/model.onnx";
  EXPECT_TRUE(has(log.text(), said)) << log.text();
  const std::string before = log.text();
  server.look();
  EXPECT_EQ(log.text(), before);
  models.put("net", "1", test::rows_model("Mul", 2));  // and it is served as soon as it is there
  server.look(), server.look();
  Client client(server.port());
  EXPECT_EQ(version_of(client), "1");
}

// A model of fixed sizes that cannot run is not taken, whatever its file looks like.
TEST(Reload, RefusesAModelThatFailsOnASample) {
  Models models;
  onnx::GraphProto g = test::graph({test::node("MatMul", {"x", "x"}, {"y"})}, {}, {});
  g.input = {test::declared("x", onnx::Type::float32, {2, 3})},
  g.output = {test::declared("y", onnx::Type::float32, {2, 2})};
  models.put("net", "1", onnx::write(test::model(g)));
  Running server(options_of(models));
  Client client(server.port());
  EXPECT_EQ(version_of(client), "503");
}

TEST(Reload, RowsThatDependOnEachOtherAreNotPutTogether) {
  Models models;
  Lines log;
  onnx::GraphProto g =
      test::graph({test::node("Softmax", {"x"}, {"y"}, {test::attribute("axis", std::int64_t(0))})}, {}, {});
  g.input = {test::declared("x", onnx::Type::float32, {-1, 4})},
  g.output = {test::declared("y", onnx::Type::float32, {-1, 4})};
  models.put("net", "1", onnx::write(test::model(g)));
  Running server(options_of(models, &log));
  EXPECT_FALSE(server.repository().find("net")->model->batches());
  EXPECT_TRUE(has(log.text(), "not independent")) << log.text();
}

TEST(Reload, FailsNoRequestOfThoseThatRun) {
  constexpr int kReloads = 1000, kClients = 4;
  Models models;
  models.put("net", "1", test::rows_model("Mul", 2));
  Running server(options_of(models));
  std::atomic<bool> over = false;
  std::atomic<int> asked = 0;
  std::vector<std::string> wrong(kClients);
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i)
    clients.emplace_back([&, i] {
      Client client(server.port());
      while (!over) {
        const Answer a = client.post(kInfer, infer_body({1, 2, 3, 4}));
        ++asked;
        if (a.code != 200 || !has(a.body, "\"data\":[2,4,6,8]"))
          wrong[std::size_t(i)] = std::to_string(a.code) + a.body;
      }
    });
  Client control(server.port());
  int failed = 0;
  for (int i = 0; i < kReloads; ++i) failed += control.post("/v2/repository/models/net/load", "").code != 200;
  over = true;
  for (std::thread& t : clients) t.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(wrong, std::vector<std::string>(kClients));
  EXPECT_GT(asked, kClients);
}

TEST(Reload, WatchesTheFolderByItself) {
  Models models;
  models.put("net", "1", test::rows_model("Mul", 2));
  serve::ServerOptions o = options_of(models);
  o.poll_seconds = 0.02;
  Running server(o);
  Client client(server.port());
  EXPECT_EQ(version_of(client), "1");
  models.put("net", "2", test::rows_model("Mul", 2));
  for (int i = 0; i < 2000 && version_of(client) != "2"; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(version_of(client), "2");
}

}  // namespace
}  // namespace neura
