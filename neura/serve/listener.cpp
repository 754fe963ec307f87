#include "neura/serve/listener.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace neura::serve {
namespace {

constexpr int kBacklog = 512;

int listener_at_one(const addrinfo& a) {
  const int listener = ::socket(a.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  if (listener < 0) return -1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(listener, a.ai_addr, a.ai_addrlen) == 0 && ::listen(listener, kBacklog) == 0) return listener;
  const int why = errno;
  ::close(listener);
  return errno = why, -1;
}

}  // namespace

int listener_at(const addrinfo* addresses) {
  int why = 0;
  for (const addrinfo* a = addresses; a; a = a->ai_next) {
    const int listener = listener_at_one(*a);
    if (listener >= 0) return listener;
    if (!why) why = errno;
  }
  return errno = why, -1;
}

}  // namespace neura::serve
