#include "neura/serve/http.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <list>
#include <mutex>
#include <thread>

#include "neura/serve/connection.h"
#include "neura/serve/error_response.h"
#include "neura/serve/listener.h"
#include "neura/serve/message.h"

namespace neura::serve {
namespace {

constexpr std::uint64_t kHead = 65536;  // bytes of a request's line and headers
constexpr std::size_t kPath = 1024;

using Clock = std::chrono::steady_clock;

// What the handlers of cpp-httplib, which know no connection, need of the one whose thread they run on.
struct Current {
  Connection* wire = nullptr;
  bool prepared = false;  // was the head read?
  bool chunked = false;
  bool finished = false;     // was all of the body read?
  std::uint64_t length = 0;  // of the body, as it comes
  int code = 0;              // why the request is refused unread
  std::string refusal;
};
thread_local Current* current = nullptr;

bool is_chunked(const std::string& coding) { return ::strcasecmp(coding.c_str(), "chunked") == 0; }
bool is_number(const std::string& s) {
  return !s.empty() && s.size() < 19 && s.find_first_not_of("0123456789") == s.npos;
}

// The bytes of all bodies that are here.
class Bodies {
 public:
  explicit Bodies(std::size_t most) : most_(most) {}
  bool take(std::size_t bytes) {
    if (held_.fetch_add(bytes) + bytes <= most_) return true;
    return give_back(bytes), false;
  }
  void give_back(std::size_t bytes) { held_ -= bytes; }

 private:
  const std::size_t most_;
  std::atomic<std::size_t> held_ = 0;
};

class HttpExchange final : public Exchange {
 public:
  HttpExchange(const httplib::Request& request, const httplib::ContentReader* reader, std::size_t most, Bodies& all)
      : request_(request), reader_(reader), most_(most), all_(all) {}
  ~HttpExchange() override { all_.give_back(held_); }
  const std::string& method() const override { return request_.method; }
  const std::string& path() const override { return request_.path; }
  std::string header(const std::string& name) const override { return request_.get_header_value(name); }
  std::string body() override {
    std::string text;
    if (!reader_ || (!current->chunked && current->length == 0)) return text;
    bool large = false, full = false;
    text.reserve(std::size_t(std::min<std::uint64_t>(current->length, 1 << 20)));
    const bool whole = (*reader_)([&](const char* data, std::size_t size) {
      large = size > most_ - text.size();
      full = !large && !all_.take(size);
      if (large || full) return false;
      held_ += size;
      text.append(data, size);
      return true;
    });
    if (full) throw ErrorResponse(503, "the server holds as many bytes of requests as it may; try again later");
    if (large) throw ErrorResponse(413, "expected a body of at most " + std::to_string(most_) + " bytes, got more");
    if (!whole && current->wire->late()) throw ErrorResponse(408, "the body did not arrive in time");
    if (!whole) throw ErrorResponse(400, "expected a body as the headers describe it, got another");
    current->finished = true;
    return text;
  }

 private:
  const httplib::Request& request_;
  const httplib::ContentReader* reader_;
  const std::size_t most_;
  Bodies& all_;
  std::size_t held_ = 0;
};

void answer(httplib::Response& to, Exchange& from) {
  to.status = from.status;
  for (auto& [name, value] : from.headers) to.set_header(name, value);
  to.headers.emplace("Content-Type", from.type);
  if (!current->finished && (current->chunked || current->length)) to.set_header("Connection", "close");
  to.body = std::move(from.answer);
}
void answer_error(httplib::Response& to, int code, const std::string& text) {
  to.status = code, to.body = error_body(text);
  to.headers.erase("Content-Type");
  to.headers.emplace("Content-Type", "application/json");
}

class Parser final : public httplib::Server {
 public:
  Parser(const HttpOptions& options, Http::Handler handler)
      : options_(options), handler_(std::move(handler)), bodies_(options.bodies ? options.bodies : 8 * options.body) {
    using Done = httplib::Server::HandlerResponse;
    set_payload_max_length(options.body);
    set_keep_alive_timeout(options.idle_seconds);
    set_keep_alive_max_count(1'000'000'000);  // it is only said to the client
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      if (current->code) return answer_error(response, current->code, current->refusal), Done::Handled;
      if (request.method == "POST") return Done::Unhandled;
      HttpExchange exchange(request, nullptr, 0, bodies_);
      handler_(exchange);
      return answer(response, exchange), Done::Handled;
    });
    Post(".*",
         [this](const httplib::Request& request, httplib::Response& response, const httplib::ContentReader& reader) {
           HttpExchange exchange(request, &reader, options_.body, bodies_);
           handler_(exchange);
           answer(response, exchange);
         });
    const Handler on_error = [](const httplib::Request&, httplib::Response& response) {
      if (response.body.empty())
        answer_error(
            response, response.status,
            response.status == 400 ? "expected a request of HTTP, got something else" : "the request cannot be served");
    };
    set_error_handler(on_error);
  }

  // One request and its answer. False: the connection ends.
  bool once(Connection& wire, bool last) {
    Current state;
    state.wire = &wire, current = &state;
    wire.limit(kHead, options_.head_seconds);
    bool closed = false;
    const bool went =
        process_request(wire, last, closed, [this](httplib::Request& request) { prepare(request, *current); });
    current = nullptr;
    const bool read = state.chunked ? state.finished : state.length == wire.taken();
    return wire.flush() && went && !closed && !last && state.prepared && read;
  }

 private:
  // Headers that cpp-httplib would take in ways that hang or surprise.
  void prepare(httplib::Request& request, Current& state) const {
    state.prepared = true;
    request.ranges.clear();
    if (request.get_header_value("Accept-Encoding") != "gzip") request.headers.erase("Accept-Encoding");
    const std::string length = request.get_header_value("Content-Length");
    const auto refuse = [&](int code, const char* text) {
      if (!state.code) state.code = code, state.refusal = text;
      request.headers.erase("Connection");
      request.set_header("Connection", "close");
    };
    state.chunked = request.has_header("Transfer-Encoding");
    if (state.chunked && (!is_chunked(request.get_header_value("Transfer-Encoding")) || !length.empty()))
      refuse(400, "expected a Content-Length or the Transfer-Encoding chunked");
    if (request.get_header_value_count("Content-Length") > 1 || (!length.empty() && !is_number(length)))
      refuse(400, "expected one Content-Length, a number");
    else if (!length.empty()) state.length = std::stoull(length);
    else if (!state.chunked) request.set_header("Content-Length", "0");
    if (state.length > options_.body) refuse(413, "expected a smaller body; see --max-body-mb");
    if (request.path.size() > kPath) refuse(414, "expected a path of at most 1,024 bytes, got a longer one");
    if (request.get_header_value("Content-Type").starts_with("multipart/"))
      refuse(400, "expected JSON or bytes, got parts of a form");
    state.wire->limit(state.chunked ? 2 * std::uint64_t(options_.body) + kHead : state.length, options_.body_seconds);
  }

  const HttpOptions options_;
  const Http::Handler handler_;
  Bodies bodies_;
};

}  // namespace

struct Http::Parts {
  struct Open {
    int socket;
    std::thread thread = {};
    bool idle = true;
    Clock::time_point since = Clock::now();
  };
  using Place = std::list<Open>::iterator;

  Parts(const HttpOptions& o, Handler h) : options(o), parser(o, std::move(h)) {}

  const HttpOptions options;
  Parser parser;
  int listener = -1, port = 0;
  std::thread accepting;
  mutable std::mutex mutex;
  std::condition_variable ended;
  std::list<Open> open, gone;  // gone: their threads end, and are to be joined
  bool stopping = false;

  void listen();
  void accept_all();
  void make_room(std::unique_lock<std::mutex>&);
  void add(int socket);
  void join_gone();
  void serve(Place);
  bool turn(Place, bool idle);
};

void Http::Parts::listen() {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM, hints.ai_flags = AI_PASSIVE;
  const std::string where = options.host + ":" + std::to_string(options.port);
  const int wrong = ::getaddrinfo(options.host.c_str(), std::to_string(options.port).c_str(), &hints, &found);
  check<IoError>(wrong == 0, [&] { return "serve: expected an address, got " + where + ": " + ::gai_strerror(wrong); });
  listener = listener_at(found);
  const std::string why = errno == EADDRINUSE ? "another program listens there; take another port, or 0 for a free one"
                                              : std::string(std::strerror(errno));
  ::freeaddrinfo(found);
  check<IoError>(listener >= 0, [&] { return "serve: cannot listen at " + where + ": " + why; });
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&name), &size);
  port = ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(name).sin6_port
                                          : reinterpret_cast<sockaddr_in&>(name).sin_port);
}

void Http::Parts::accept_all() {
  for (;;) {
    {
      std::unique_lock lock(mutex);
      make_room(lock);
      if (stopping) return;
    }
    join_gone();
    pollfd p{listener, POLLIN, 0};
    if (::poll(&p, 1, 200) <= 0) continue;
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket >= 0) add(socket);
    else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// At the limit the connection that is idle longest goes; where all are busy, the next one waits.
void Http::Parts::make_room(std::unique_lock<std::mutex>& lock) {
  while (!stopping && open.size() >= std::size_t(options.connections)) {
    Open* oldest = nullptr;
    for (Open& o : open)
      if (o.idle && (!oldest || o.since < oldest->since)) oldest = &o;
    if (oldest && Clock::now() - oldest->since > std::chrono::milliseconds(100)) {
      ::shutdown(oldest->socket, SHUT_RD);
      oldest->since = Clock::now();
    }
    ended.wait_for(lock, std::chrono::milliseconds(50));
  }
}

void Http::Parts::add(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const std::scoped_lock lock(mutex);
  if (stopping) return void(::close(socket));  // stop() has seen to those that were there
  const Place place = open.insert(open.end(), Open{socket});
  try {
    place->thread = std::thread([this, place] { serve(place); });
  } catch (const std::exception&) {  // no more threads
    ::close(socket);
    open.erase(place);
  }
}

void Http::Parts::join_gone() {
  std::list<Open> all;
  {
    const std::scoped_lock lock(mutex);
    all.swap(gone);
  }
  for (Open& o : all) o.thread.join();
}

// False: the server stops.
bool Http::Parts::turn(Place place, bool idle) {
  const std::scoped_lock lock(mutex);
  place->idle = idle, place->since = Clock::now();
  return !stopping;
}

void Http::Parts::serve(Place place) {
  try {
    Connection wire(place->socket);
    wire.set_write_seconds(options.write_seconds);
    bool more = true;
    while (more && wire.wait(options.idle_seconds)) {
      const bool stays = turn(place, false);
      more = parser.once(wire, !stays) && turn(place, true);
    }
    wire.close_gently();
  } catch (const std::exception&) {  // no memory: this connection ends
    current = nullptr;
  }
  const std::scoped_lock lock(mutex);
  ::close(place->socket);
  gone.splice(gone.end(), open, place);
  ended.notify_all();
}

Http::Http(const HttpOptions& options, Handler handler)
    : parts_(std::make_unique<Parts>(options, std::move(handler))) {}
Http::~Http() { stop(); }

void Http::start() {
  parts_->listen();
  parts_->accepting = std::thread([p = parts_.get()] { p->accept_all(); });
}
int Http::port() const { return parts_->port; }
int Http::connections() const {
  const std::scoped_lock lock(parts_->mutex);
  return int(parts_->open.size());
}

void Http::stop() {
  Parts& p = *parts_;
  {
    const std::scoped_lock lock(p.mutex);
    p.stopping = true;
    for (const Parts::Open& o : p.open)
      if (o.idle) ::shutdown(o.socket, SHUT_RD);
    p.ended.notify_all();
  }
  if (p.accepting.joinable()) p.accepting.join();
  if (p.listener >= 0) ::close(p.listener);
  p.listener = -1;
  std::unique_lock lock(p.mutex);
  p.ended.wait_for(lock, std::chrono::seconds(p.options.drain_seconds), [&] { return p.open.empty(); });
  for (const Parts::Open& o : p.open) ::shutdown(o.socket, SHUT_RDWR);
  p.ended.wait(lock, [&] { return p.open.empty(); });
  lock.unlock();
  p.join_gone();
}

}  // namespace neura::serve
