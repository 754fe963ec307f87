#include "cli/interrupt.h"

#include <csignal>
#include <initializer_list>

namespace neura::cli {
namespace {

volatile std::sig_atomic_t asked_for = 0;

void listen(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART | (handler == SIG_DFL ? 0 : int(SA_RESETHAND));  // the second one has the default effect
  for (int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  asked_for = 0;
  listen([](int) { asked_for = 1; });
}
Interrupt::~Interrupt() { listen(SIG_DFL); }
bool Interrupt::asked() { return asked_for; }

}  // namespace neura::cli
