// The version of this Neura, as CMakeLists.txt has it.
#pragma once

namespace neura {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace neura
