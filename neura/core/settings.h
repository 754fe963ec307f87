// What the environment asks for. Its variables are rows of tables/settings.def, and are read here alone, which
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
  constexpr const char* names[] = {
#define SETTING(name, variable, ...) variable,
#include "neura/tables/settings.def"
#undef SETTING
  };
  return names[int(s)];
}
// What the variable says; null: it is not set.
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
