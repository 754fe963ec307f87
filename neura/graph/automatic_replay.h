// Launches that repeat on a device are replayed as one CUDA graph, without a change to the program.
//
// What a thread launches between two boundaries (the end of an optimizer's step, the first call of a module, a value
// that is read) is a stretch. One that was seen twice, and whose launches cost the host more than the device, waits
// from its third time on: a call is checked, inferred and recorded as ever, and its results have no bytes yet. When its
// last launch has come, all of them are captured, and from then on replayed. A launch that is another one than before,
// or a value that is needed earlier: what waits runs one by one, in order, and nothing has changed.
//
// Numbers of draws and of optimizers' steps are those of each time. Results of a replay that are still referred to when
// the next one begins move to memory of their own first. Between the first and the last launch of a stretch the memory
// that it reads must not be written by another thread.
#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace neura::graph {

// Of all threads; the setting NEURA_REPLAY says how it begins. Turned off, this thread gives its graphs back, as it
// does by cuda::empty_cache().
void automatic_replay(bool on);
bool is_automatic_replay();

// What it has done in this process.
struct ReplayCounts {
  std::int64_t stretches = 0;  // learned
  std::int64_t captures = 0, replays = 0;
  std::int64_t launches = 0;                  // that replays took the place of
  std::int64_t moved = 0;                     // results that moved to memory of their own
  std::map<std::string, std::int64_t> apart;  // launches that had waited and ran one by one, by what asked for it
};
ReplayCounts replay_counts();
void reset_replay_counts();

}  // namespace neura::graph
