// Streams of a device, which are queues of its work, and events, which are marks in them. Handles are the device's own.
#pragma once
#include "neura/core/device_api.h"

namespace neura {

struct MemoryApi;   // core/memory_api.h
struct LibraryApi;  // core/library_api.h

struct StreamApi {
  // A stream that is destroyed finishes its work and is given out again by a later `create`: no handle ever dangles.
  Failed (*create)(int index, int priority, void** stream);
  void (*destroy)(int index, void* stream);
  Failed (*priorities)(int index, int* least, int* greatest);  // lower numbers go first
  void* (*default_stream)(int index);
  void* (*current)(int index);  // of this thread
  void (*set_current)(int index, void* stream);
  Failed (*query)(int index, void* stream, bool* done);
  Failed (*synchronize)(int index, void* stream);
  Failed (*wait)(int index, void* stream, void* event);  // what the stream is given from now on

  Failed (*make_event)(int index, bool timing, bool blocking, void** event);  // blocking: a waiting thread sleeps
  void (*destroy_event)(int index, void* event);
  Failed (*record)(int index, void* event, void* stream);
  Failed (*query_event)(int index, void* event, bool* done);
  Failed (*synchronize_event)(int index, void* event);
  Failed (*elapsed)(int index, void* start, void* end, float* milliseconds);

  const MemoryApi* memory;
  const LibraryApi* libraries = nullptr;  // null: a device without
};

}  // namespace neura
