// A double as text that reads back as the same number, in the same letters everywhere: as Python prints it.
#pragma once
#include <string>
#include <string_view>

namespace neura {

std::string number_text(double);                       // 0.01, 1.0, 1e-05, nan, -inf
bool parse_number(std::string_view text, double& to);  // the whole text; false where it is no number

}  // namespace neura
