#include "neura/surface/page.h"

#include <algorithm>

namespace neura::surface {
namespace {

bool same(const Function& a, const Function& b) { return a.space == b.space && a.name == b.name; }
std::string cell(std::string_view text) {  // within a table, a bar ends a cell
  std::string r;
  for (const char c : text) r += c == '|' ? std::string("\\|") : std::string(1, c == '\n' ? ' ' : c);
  return r;
}
std::string forms_of(const std::deque<Function>& all, const Function& f) {
  std::string r;
  const auto say = [&](bool has, const char* word) {
    if (has) r += (r.empty() ? "" : ", ") + std::string(word);
  };
  say(f.forms & function, "function");
  say(f.forms & method, "method");
  const bool writes = std::any_of(all.begin(), all.end(), [&](const Function& other) {
    return other.in_place && other.space == f.space && other.name == f.name + "_";
  });
  say((f.forms & in_place) || writes, "in place");
  say(f.forms & out, "out=");
  return r;
}
// What the function does, without the details after its first paragraph.
std::string summary(const Function& f) {
  const std::string_view text = f.text;
  return cell(text.substr(0, text.find("\n\n")));
}
std::string line(const std::deque<Function>& all, const Function& first) {
  std::string r = "| ";
  for (const Function& f : all)
    if (same(f, first)) r += (r.size() > 2 ? "<br>" : "") + std::string("`") + signature_of(f) + "`";
  if (!first.also.empty()) r += "<br>also in " + module_of(first.also);
  return r + " | " + forms_of(all, first) + " | " + summary(first) + " |\n";
}

}  // namespace

std::string module_of(std::string_view space) {
  if (space.empty() || space == "neura") return "neura";
  if (space == "functional") return "neura.nn.functional";
  if (space == "windows") return "neura.signal.windows";
  if (space == "audio") return "neura.audio.functional";
  return "neura." + std::string(space);
}
std::string signature_of(const Function& f) {
  std::string r = f.name + "(";
  bool star = false;
  const auto separate = [&] { r += r.back() == '(' ? "" : ", "; };
  for (const Parameter& p : f.parameters) {
    separate();
    if (p.rest) star = true, r += "*";
    else if (p.by_name_alone && !star) star = true, r += "*, ";
    r += p.name + (p.fallback.empty() || p.rest ? "" : "=" + p.fallback);
  }
  if (f.forms & out) separate(), r += star ? "out=None" : "*, out=None";
  return r + ")";
}
std::string page(const std::deque<Function>& all) {
  std::vector<std::string_view> spaces;
  for (const Function& f : all)
    if (std::find(spaces.begin(), spaces.end(), f.space) == spaces.end()) spaces.push_back(f.space);
  std::string r;
  for (const std::string_view space : spaces) {
    r += "\n## " + module_of(space) + "\n\n| function | forms | |\n|---|---|---|\n";
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto earlier = [&](const Function& f) { return same(f, all[i]); };
      if (all[i].space != space || all[i].name.starts_with('_') || all[i].in_place) continue;
      if (std::none_of(all.begin(), all.begin() + std::ptrdiff_t(i), earlier)) r += line(all, all[i]);
    }
  }
  return r;
}

}  // namespace neura::surface
