// Settings from the environment. The variables are rows of tables/settings.def, and are read here alone, which
// tools/check_floors.py sees to.
#pragma once
#include <cstdlib>
#include <string_view>

namespace neura {

enum class Setting {
#define SETTING(name, ...) name,
#include "neura/tables/settings.def"
#undef SETTING
};

inline const char* variable_of(Setting s) {
#ifdef __EMSCRIPTEN__  // has nothing of CUDA, not even a name
#define NEURA_VARIABLE_cuda(variable) ""
#else
#define NEURA_VARIABLE_cuda(variable) variable
#endif
#define NEURA_VARIABLE_library(variable) variable
#define NEURA_VARIABLE_python(variable) variable
  constexpr const char* names[] = {
#define SETTING(name, variable, concerns, ...) NEURA_VARIABLE_##concerns(variable),
#include "neura/tables/settings.def"
#undef SETTING
  };
#undef NEURA_VARIABLE_cuda
#undef NEURA_VARIABLE_library
#undef NEURA_VARIABLE_python
  return names[int(s)];
}
// The variable's value; null if it is not set.
inline const char* setting(Setting s) { return std::getenv(variable_of(s)); }
// The same; null also where it is empty.
inline const char* setting_given(Setting s) {
  const char* text = setting(s);
  return text && *text ? text : nullptr;
}
// A switch: 0 is off, everything else on.
inline bool setting_on(Setting s, bool otherwise) {
  const char* text = setting_given(s);
  return text ? std::string_view(text) != "0" : otherwise;
}

}  // namespace neura
