// Streams and pinned memory of the device for tests. What is done is done at once, but for copies that need not wait,
// on another stream than the default one: these stay in the stream's queue until somebody waits for it, as late as a
// real device may do them. Whoever reads too early reads what was there before.
#pragma once
#include "neura/core/pinned_api.h"
#include "neura/core/stream_api.h"

namespace neura::test {

const StreamApi& host_streams();
const PinnedApi& host_pinned();

void finish_current(int index);  // what this thread's current stream was given, before a kernel that it is given now
void finish_all();
void forget_copies(const void* block, std::size_t bytes);        // that write there: the block is released
void copy_bytes(void* to, const void* from, std::size_t bytes);  // with the device's memory open; in host_device.cpp

}  // namespace neura::test
