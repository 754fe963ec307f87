// What a caller should know and no error is worth: a UserWarning in Python, a line on the standard error in C++.
#pragma once
#include <string>

namespace neura {

void warn(const std::string& text);  // throws where the interpreter makes errors of warnings

}  // namespace neura
