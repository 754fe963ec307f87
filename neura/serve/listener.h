// The socket at which a server listens.
#pragma once
#include <netdb.h>

namespace neura::serve {

// At the first of a name's addresses that can be had: `localhost` may be ::1 first where IPv6 is off. -1, with the
// first one's errno, where none can.
int listener_at(const addrinfo* addresses);

}  // namespace neura::serve
