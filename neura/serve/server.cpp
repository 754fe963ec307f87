#include "neura/serve/server.h"

#include <condition_variable>
#include <nlohmann/json.hpp>
#include <thread>

#include "neura/core/version.h"
#include "neura/serve/datatype.h"
#include "neura/serve/error_response.h"
#include "neura/serve/message.h"

namespace neura::serve {
namespace {

using nlohmann::json;

constexpr const char* kHeaderLength = "Inference-Header-Content-Length";

std::vector<std::string> segments(const std::string& path) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < path.size();) {
    const std::size_t end = std::min(path.find('/', i), path.size());
    if (end > i) all.push_back(path.substr(i, end - i));
    i = end + 1;
  }
  return all;
}

int code_of(const std::exception_ptr& error, std::string& text) {
  try {
    std::rethrow_exception(error);
  } catch (const ErrorResponse& e) {
    return text = e.what(), e.code;
  } catch (const OutOfMemoryError& e) {
    return text = e.what(), 503;
  } catch (const ValueError& e) {
    return text = e.what(), 400;
  } catch (const ShapeError& e) {
    return text = e.what(), 400;
  } catch (const DTypeError& e) {
    return text = e.what(), 400;
  } catch (const IndexError& e) {
    return text = e.what(), 400;
  } catch (const std::bad_alloc&) {
    return text = "out of memory; send a smaller request", 503;
  } catch (const std::exception& e) {
    return text = e.what(), 500;
  }
}

json ports(const std::vector<Port>& all) {
  json to = json::array();
  for (const Port& p : all) to.push_back({{"name", p.name}, {"datatype", datatype(p.dtype)}, {"shape", p.dims}});
  return to;
}
std::string text(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace); }

// The body of a request that may be empty: an object. ErrorResponse (400).
json object_of(Exchange& x) {
  const std::string body = x.body();
  if (body.find_first_not_of(" \t\r\n") == body.npos) return json::object();
  if (body.size() > 65536) throw ErrorResponse(413, "expected at most 65,536 bytes here, got more");
  json j = json::parse(body, nullptr, false);
  if (!j.is_object()) throw ErrorResponse(400, "expected a JSON object, got something else");
  return j;
}

}  // namespace

struct Server::Parts {
  explicit Parts(ServerOptions o)
      : options(std::move(o)),
        repository(options.models, metrics, [this](const std::string& line) { log(line); }),
        http(options.http, [this](Exchange& x) { answer(x); }) {}

  void log(const std::string& line) const {
    if (options.log) options.log(line);
  }
  void answer(Exchange&);
  void route(Exchange&);
  void about_model(Exchange&, const std::vector<std::string>&);
  void infer(Exchange&, const std::string& name, const std::string& version);
  void infer(Exchange&, LoadedVersion&);
  void about_repository(Exchange&, const std::vector<std::string>&);
  void index(Exchange&);
  void watch();

  const ServerOptions options;
  Metrics metrics;
  Repository repository;
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false, stopping = false;
  std::thread watching;
  Http http;  // the last: its threads use all of the above
};

void Server::Parts::answer(Exchange& x) {
  const auto start = Clock::now();
  try {
    route(x);
  } catch (...) {
    std::string why;
    x.status = code_of(std::current_exception(), why);
    x.headers.clear();
    if (x.status == 429 || x.status == 503) x.headers.emplace_back("Retry-After", "1");
    x.type = "application/json", x.answer = error_body(why);
    if (x.status == 500) log(x.path() + ": " + why);
  }
  if (!options.verbose) return;
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
  log(x.method() + " " + x.path() + " " + std::to_string(x.status) + " " + std::to_string(us) + " us");
}

void Server::Parts::route(Exchange& x) {
  const std::vector<std::string> at = segments(x.path());
  const auto is = [&](std::initializer_list<const char*> path) {
    return std::equal(path.begin(), path.end(), at.begin(), at.end());
  };
  const bool posts = (at.size() >= 2 && at[1] == "repository") || (at.size() >= 4 && at.back() == "infer");
  if (x.method() != (posts ? "POST" : "GET") && !(x.method() == "HEAD" && !posts))
    throw ErrorResponse(405, std::string("expected ") + (posts ? "POST" : "GET") + " here, got " + x.method());
  if (is({"v2"})) {
    x.answer =
        text({{"name", "neura"}, {"version", kVersion}, {"extensions", {"binary_tensor_data", "model_repository"}}});
  } else if (is({"v2", "health", "live"})) {
    x.answer = "{\"live\":true}";
  } else if (is({"v2", "health", "ready"})) {
    const std::scoped_lock lock(mutex);
    if (!ready || stopping) throw ErrorResponse(503, stopping ? "the server stops" : "the models are being loaded");
    x.answer = "{\"ready\":true}";
  } else if (is({"metrics"})) {
    metrics.connections = http.connections();
    x.type = "text/plain; version=0.0.4; charset=utf-8", x.answer = metrics.text();
  } else if (at.size() >= 3 && at[0] == "v2" && at[1] == "models") {
    about_model(x, at);
  } else if (at.size() >= 3 && at[0] == "v2" && at[1] == "repository") {
    about_repository(x, at);
  } else {
    throw ErrorResponse(404, "expected a path of the Open Inference Protocol, such as /v2/models/NAME/infer");
  }
}

// v2 models NAME [versions VERSION] [ready | infer]
void Server::Parts::about_model(Exchange& x, const std::vector<std::string>& at) {
  std::size_t next = 3;
  std::string version;
  if (at.size() > 4 && at[3] == "versions") version = at[4], next = 5;
  const std::string verb = next < at.size() ? at[next] : "";
  if (next + 1 < at.size() || (!verb.empty() && verb != "ready" && verb != "infer"))
    throw ErrorResponse(404, "expected nothing, ready or infer after the model, got " + x.path());
  if (verb == "infer") return infer(x, at[2], version);
  const std::shared_ptr<LoadedVersion> served = repository.find(at[2], version);
  if (verb == "ready") x.answer = text({{"name", served->name}, {"ready", true}});
  else
    x.answer = text({{"name", served->name},
                     {"versions", {served->version}},
                     {"platform", served->model->platform()},
                     {"inputs", ports(served->model->inputs())},
                     {"outputs", ports(served->model->outputs())}});
}

void Server::Parts::infer(Exchange& x, const std::string& name, const std::string& version) {
  const std::shared_ptr<LoadedVersion> served = repository.find(name, version);
  try {
    infer(x, *served);
  } catch (...) {
    std::string why;
    served->metrics->count(code_of(std::current_exception(), why));
    throw;
  }
  served->metrics->count(200);
}

void Server::Parts::infer(Exchange& x, LoadedVersion& served) {
  Batcher::Arrival arrival(served.batcher);
  const auto start = Clock::now();
  const std::string body = x.body();
  const std::string length = x.header(kHeaderLength);
  std::size_t json_size = body.size();
  if (!length.empty()) {
    if (length.size() > 18 || length.find_first_not_of("0123456789") != length.npos ||
        std::stoull(length) > body.size())
      throw ErrorResponse(
          400, std::string("infer: expected a number of bytes of the body as ") + kHeaderLength + ", got another");
    json_size = std::size_t(std::stoull(length));
  }
  const InferRequest request = read_request(std::string_view(body).substr(0, json_size));
  check_outputs(request, served.model->outputs());
  std::vector<Tensor> inputs = read_inputs(request, std::string_view(body).substr(json_size), served.model->inputs());
  auto deadline = start + std::chrono::hours(24 * 365);
  if (request.timeout && *request.timeout) {
    constexpr std::uint64_t kMost = 1'000'000'000'000;  // microseconds: 11 days
    deadline = start + std::chrono::microseconds(std::min(*request.timeout, kMost));
  } else if (options.timeout_seconds > 0) {
    deadline = start + std::chrono::microseconds(std::int64_t(1e6 * options.timeout_seconds));
  }
  const std::vector<Tensor> results = served.batcher.run(std::move(inputs), deadline, &arrival);
  InferResponse r = write_response(served.name, served.version, request, served.model->outputs(), results);
  x.answer = std::move(r.body);
  if (!r.binary) return;
  x.type = "application/octet-stream";
  x.headers.emplace_back(kHeaderLength, std::to_string(r.json));
}

// v2 repository index | models NAME load | unload
void Server::Parts::about_repository(Exchange& x, const std::vector<std::string>& at) {
  if (at.size() == 3 && at[2] == "index") return index(x);
  if (at.size() != 5 || at[2] != "models" || (at[4] != "load" && at[4] != "unload"))
    throw ErrorResponse(404,
                        "expected /v2/repository/index or /v2/repository/models/NAME/load or unload, got " + x.path());
  const json given = object_of(x);
  if (at[4] == "unload") return repository.unload(at[3]);
  const json parameters = given.value("parameters", json::object());
  if (!parameters.empty())
    throw ErrorResponse(400, "load: expected no parameters, got some; models come from the server's folder");
  repository.load(at[3]);
}

void Server::Parts::index(Exchange& x) {
  const json given = object_of(x);
  const bool ready_alone = given.contains("ready") && given["ready"] == true;
  json all = json::array();
  for (const Repository::VersionState& r : repository.index())
    if (!ready_alone || r.state == "READY")
      all.push_back({{"name", r.name}, {"version", r.version}, {"state", r.state}, {"reason", r.reason}});
  x.answer = text(all);
}

void Server::Parts::watch() {
  std::unique_lock lock(mutex);
  while (!stopping) {
    lock.unlock();
    try {
      repository.look();
    } catch (const std::exception& e) {
      log(std::string("looking at the folder failed: ") + e.what());
    }
    lock.lock();
    ready = true;
    changed.notify_all();
    const auto stop = [&] { return stopping; };
    if (options.poll_seconds > 0) changed.wait_for(lock, std::chrono::duration<double>(options.poll_seconds), stop);
    else changed.wait(lock, stop);
  }
}

Server::Server(ServerOptions options) : parts_(std::make_unique<Parts>(std::move(options))) {}
Server::~Server() { stop(); }

void Server::start() {
  parts_->http.start();
  parts_->watching = std::thread([p = parts_.get()] { p->watch(); });
}
int Server::port() const { return parts_->http.port(); }
void Server::wait_ready() {
  std::unique_lock lock(parts_->mutex);
  parts_->changed.wait(lock, [&] { return parts_->ready || parts_->stopping; });
}
void Server::look() { parts_->repository.look(); }
void Server::stop() {
  {
    const std::scoped_lock lock(parts_->mutex);
    parts_->stopping = true;
    parts_->changed.notify_all();
  }
  parts_->http.stop();
  if (parts_->watching.joinable()) parts_->watching.join();
}
const Repository& Server::repository() const { return parts_->repository; }
std::string Server::metrics() const { return parts_->metrics.text(); }

}  // namespace neura::serve
