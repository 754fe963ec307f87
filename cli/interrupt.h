// Ctrl-C asks a run to stop at the next batch; a second one ends the program at once.
#pragma once

namespace neura::cli {

class Interrupt {  // listens while it lives, to SIGINT and SIGTERM
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  static bool asked();
};

}  // namespace neura::cli
