// Which device "cuda" without an index means, for each thread: 0 until it is set.
#pragma once

namespace neura {

int current_cuda_index();          // of this thread
void set_current_cuda_index(int);  // not checked: cuda::set_device does that

}  // namespace neura
