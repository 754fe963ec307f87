#include "cli/html.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace neura::cli {
namespace {

// A step of 1, 2 or 5 times a power of ten that cuts the range into about `parts`.
double nice_step(double range, int parts) {
  const double rough = range / parts, power = std::pow(10, std::floor(std::log10(rough)));
  for (double factor : {1., 2., 5.})
    if (factor * power >= rough) return factor * power;
  return 10 * power;
}

struct Frame {
  double left = 48, top = 12, width = 480, height = 220;
  double x0 = 0, x1 = 1, y0 = 0, y1 = 1;
  double x(double v) const { return left + (v - x0) / (x1 - x0) * width; }
  double y(double v) const { return top + height - (v - y0) / (y1 - y0) * height; }
};

Frame frame_of(const std::vector<Series>& series) {
  Frame f;
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (const Series& s : series)
    for (const auto& [x, y] : s.points) {
      f.x1 = std::max(f.x1, x);
      if (std::isfinite(y)) low = std::min(low, y), high = std::max(high, y);
    }
  if (low > high) low = 0, high = 1;
  const double step = nice_step(std::max(high - low, 1e-6), 5);
  f.y0 = std::floor(low / step) * step, f.y1 = std::max(std::ceil(high / step), std::floor(low / step) + 1) * step;
  return f;
}

std::string axes(const Frame& f, int digits) {
  std::string out;
  const double step = nice_step(f.y1 - f.y0, 5);
  for (double v = f.y0; v <= f.y1 + step / 2; v += step) {
    const std::string y = fixed(f.y(v), 1);
    out += "<line class=grid x1=" + fixed(f.left, 0) + " x2=" + fixed(f.left + f.width, 0) + " y1=" + y + " y2=" + y +
           " /><text text-anchor=end x=" + fixed(f.left - 6, 0) + " y=" + fixed(f.y(v) + 4, 1) + ">" +
           fixed(v, digits) + "</text>";
  }
  const double every = std::max(1., std::ceil(f.x1 / 10));
  for (double v = 0; v <= f.x1 + 1e-9; v += every)
    out += "<text text-anchor=middle x=" + fixed(f.x(v), 1) + " y=" + fixed(f.top + f.height + 18, 0) + ">" +
           fixed(v, 0) + "</text>";
  return out + "<text text-anchor=middle x=" + fixed(f.left + f.width / 2, 0) +
         " y=" + fixed(f.top + f.height + 36, 0) + ">epochs</text>";
}

}  // namespace

std::string fixed(double x, int digits) {
  char text[48];
  std::snprintf(text, sizeof(text), "%.*f", digits, x);
  return text;
}

std::string escape(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '"') out += "&quot;";
    else if (c == '\'') out += "&#39;";
    else out += c;
  }
  return out;
}

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;
    const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k) out += k <= n ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::string chart(const std::string& title, const std::vector<Series>& series, int digits) {
  const Frame f = frame_of(series);
  std::string lines, legend;
  for (const Series& s : series) {
    std::string points, dots;
    for (const auto& [x, y] : s.points) {
      if (!std::isfinite(y)) continue;
      points += fixed(f.x(x), 1) + "," + fixed(f.y(y), 1) + " ";
      if (s.dots)
        dots += "<circle class=" + s.style + " r=3.5 cx=" + fixed(f.x(x), 1) + " cy=" + fixed(f.y(y), 1) + "><title>" +
                escape(s.name) + " after " + fixed(x, 0) + ": " + fixed(y, digits + 2) + "</title></circle>";
    }
    lines += "<polyline class=" + s.style + " points=\"" + points + "\" />" + dots;
    legend += "<span class=\"key " + s.style + "\">" + escape(s.name) + "</span>";
  }
  return "<figure><figcaption>" + escape(title) + legend +
         "</figcaption><svg viewBox=\"0 0 544 272\" role=img aria-label=\"" + escape(title) + "\">" + axes(f, digits) +
         lines + "</svg></figure>";
}

std::string figure(const std::string& value, const std::string& text) {
  return "<div><b>" + escape(value) + "</b><small>" + escape(text) + "</small></div>";
}

std::string facts(const std::vector<std::pair<std::string, std::string>>& names_and_values) {
  std::string out = "<dl class=card>";
  for (const auto& [name, value] : names_and_values) out += "<dt>" + escape(name) + "<dd>" + escape(value);
  return out + "</dl>";
}

std::string confusion_table(const std::vector<std::string>& classes,
                            const std::vector<std::vector<std::int64_t>>& confusion) {
  std::string out = "<div class=\"card scroll\"><table class=matrix><thead><tr><th>";
  for (const std::string& name : classes) out += "<th>" + escape(name);
  out += "</tr></thead>";
  for (std::size_t label = 0; label < classes.size(); ++label) {
    const auto& row = confusion[label];
    std::int64_t all = 0;
    for (std::int64_t n : row) all += n;
    out += "<tr><th>" + escape(classes[label]);
    for (std::size_t predicted = 0; predicted < row.size(); ++predicted) {
      const double part = all ? double(row[predicted]) / double(all) : 0;
      // The eye should find few mistakes among many hits: their shade grows faster.
      const double shade = label == predicted ? 0.1 + 0.6 * part : std::min(0.75, 4 * part);
      out += std::string("<td style=\"background: rgba(var(--") + (label == predicted ? "good" : "bad") + "), " +
             fixed(shade, 3) + ")\" title=\"" + escape(classes[label]) + " taken for " + escape(classes[predicted]) +
             ": " + fixed(100 * part, 2) + " %\">" + (row[predicted] ? std::to_string(row[predicted]) : "");
    }
    out += "</tr>";
  }
  return out + "</table><small>Rows: labels. Columns: predictions.</small></div>";
}

std::string html_page(const std::string& title, const std::string& body) {
  return "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content=\"width=device-width\">"
         "<title>" +
         escape(title) + "</title><style>" + kStyle + "</style></head><body>" + body + "</body></html>\n";
}

const char* const kStyle = R"(
:root { color-scheme: light dark; --paper: #fbfaf8; --card: #fff; --ink: #1d1f24; --soft: #6b7078; --line: #e4e2dd;
  --one: #2f6fde; --two: #e0662b; --three: #3d9a5f; --good: 47, 111, 222; --bad: 214, 69, 61; }
@media (prefers-color-scheme: dark) { :root { --paper: #15171b; --card: #1d2025; --ink: #e8e6e1; --soft: #979ca5;
  --line: #32363d; --one: #7aa7ff; --two: #ff9a63; --three: #74cf97; --good: 122, 167, 255; --bad: 255, 117, 107; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1120px; padding: 2.5rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2.5rem 0 .75rem; }
.sub, figcaption, th, dt, small { color: var(--soft); }
.big { display: flex; flex-wrap: wrap; gap: 1rem; margin: 1.5rem 0; }
.big div, figure, .card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1rem 1.25rem; }
.big div { flex: 1 1 150px; } .big b { display: block; font-size: 1.6rem; font-variant-numeric: tabular-nums; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 1rem; }
figure { margin: 0; } svg { width: 100%; height: auto; }
svg text { fill: var(--soft); font-size: 11px; } .grid { stroke: var(--line); }
polyline { fill: none; stroke-width: 2; stroke-linejoin: round; }
polyline.one { stroke: var(--one); } polyline.two { stroke: var(--two); } polyline.three { stroke: var(--three); stroke-dasharray: 4 3; } circle.one { fill: var(--one); } circle.two { fill: var(--two); }
.key { margin-left: 1rem; } .key::before { content: ""; display: inline-block; width: .7em; height: .7em; border-radius: 50%; margin-right: .35em; }
.key.one::before { background: var(--one); } .key.two::before { background: var(--two); } .key.three::before { background: var(--three); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.matrix td { text-align: center; min-width: 3rem; padding: .35rem .25rem; border: 1px solid var(--card); border-radius: 4px; }
.matrix th { font-weight: 500; font-size: .8rem; padding: .25rem .5rem; text-align: right; } .matrix thead th { text-align: center; }
.list td, .list th { padding: .3rem .9rem .3rem 0; text-align: right; } .list th { font-weight: 500; }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(118px, 1fr)); gap: .75rem; }
.pictures figure { padding: .6rem; } .pictures img { width: 100%; image-rendering: pixelated; border-radius: 6px; display: block; }
.pictures figcaption { font-size: .78rem; line-height: 1.35; margin-top: .4rem; } .pictures b { color: var(--ink); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.25rem; margin: 0; } dd { margin: 0; }
)";

}  // namespace neura::cli
