// True while this thread recomputes what a checkpoint did not keep. What counts its calls, such as running statistics,
// has counted this one.
#pragma once

namespace neura {

bool is_recomputing();

}  // namespace neura
