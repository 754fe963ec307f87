// Libraries of the device for tests. It cannot run what a compiler makes: it looks whether that is code with the
// kernel's name, and does in its place what it knows by that name.
#pragma once
#include "neura/core/library_api.h"

namespace neura::test {

const LibraryApi& host_libraries();

}  // namespace neura::test
