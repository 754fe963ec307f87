// Streams and pinned memory of the device for tests.
#pragma once
#include "neura/core/pinned_api.h"
#include "neura/core/stream_api.h"

namespace neura::test {

const StreamApi& host_streams();
const PinnedApi& host_pinned(Failed (*copy)(Device, void*, Device, const void*, std::size_t));

}  // namespace neura::test
