// The device tables that neura/cuda calls. NotImplementedError where a device comes without.
#pragma once
#include <string>

#include "neura/core/device_api.h"
#include "neura/core/graph_api.h"
#include "neura/core/library_api.h"
#include "neura/core/memory_api.h"
#include "neura/core/pinned_api.h"
#include "neura/core/stream_api.h"

namespace neura::cuda {

const StreamApi& streams_of(Device);
inline const MemoryApi& memory_of(Device d) { return *streams_of(d).memory; }
const PinnedApi& pinned();
const GraphApi& graphs_of(Device);
const LibraryApi& libraries_of(Device);
std::string architecture_of(Device);  // "sm_90"

}  // namespace neura::cuda
