// Which device "cuda" without an index means, for each thread: 0 until it is set.
#pragma once

namespace neura {

int current_cuda_index();
void set_current_cuda_index(int);

}  // namespace neura
