// Pieces of an HTML page.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace neura::cli {

std::string escape(std::string_view text);  // for text and attributes
std::string base64(std::string_view bytes);
std::string fixed(double x, int digits);

struct Series {
  std::string name, style;  // the CSS class of its line
  std::vector<std::pair<double, double>> points;
  bool dots = false;
};
// Lines over epochs, as inline SVG that takes its colours from the page.
std::string chart(const std::string& title, const std::vector<Series>& series, int digits);

std::string figure(const std::string& value, const std::string& text);  // a large number
std::string facts(const std::vector<std::pair<std::string, std::string>>& names_and_values);
std::string confusion_table(const std::vector<std::string>& classes,
                            const std::vector<std::vector<std::int64_t>>& confusion);  // [label][prediction]
std::string html_page(const std::string& title, const std::string& body);

extern const char* const kStyle;  // the page's style sheet, for light and dark screens

}  // namespace neura::cli
