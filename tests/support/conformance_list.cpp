// The expected counts of a list of stored cases, tests/golden/<list>.expected.
#include <cstdlib>
#include <fstream>
#include <map>

#include "tests/support/conformance.h"

namespace neura::test {
namespace {

struct Count {
  int passes = 0, cases = 0;
  bool operator==(const Count&) const = default;
};
const char* const kEnd[] = {"pass", "wrong", "error", "missing", "unreadable"};

std::string path_of(const std::string& list) { return std::string(NEURA_GOLDEN) + "/" + list + ".expected"; }

std::map<std::string, Count> read_list(const std::string& list) {
  std::map<std::string, Count> r;
  std::ifstream file(path_of(list));
  std::string name;
  for (Count c; file >> name >> c.passes >> c.cases;) r[name] = c;
  return r;
}

Count run(const std::string& name, const CaseFunction& call, std::string& report) {
  Count count;
  for (const ConformanceCase& c : read_conformance(name).cases) {
    const Verdict v = judge(c, call);
    ++count.cases, count.passes += v.end == Verdict::pass;
    if (v.end != Verdict::pass)
      report += "  " + name + "[" + std::to_string(c.index) + "] " + c.dtype + ": " + kEnd[v.end] + ": " + v.why + "\n";
  }
  return count;
}

}  // namespace

void expect_conformance(const std::string& list, const std::vector<std::pair<std::string, CaseFunction>>& files) {
  const auto expected = read_list(list);
  std::map<std::string, Count> got;
  Count all;
  int raised = 0;
  std::string reports;
  for (const auto& [name, call] : files) {
    std::string report;
    const Count c = got[name] = run(name, call, report);
    all.passes += c.passes, all.cases += c.cases;
    reports += report;
    const auto old = expected.find(name);
    const bool listed = old != expected.end() && old->second.cases == c.cases;
    raised += listed && c.passes > old->second.passes;
    if (std::getenv("NEURA_UPDATE_EXPECTED") || (listed && c.passes >= old->second.passes)) continue;
    ADD_FAILURE() << name << ": " << c.passes << " of " << c.cases << " cases pass, "
                  << (listed ? std::to_string(old->second.passes) : std::string("nothing")) << " is listed in " << list
                  << ".expected\n"
                  << report;
  }
  for (const auto& [name, c] : expected) EXPECT_TRUE(got.contains(name)) << name << " is listed, and was not judged";
  std::printf("%s%s: %d of %d stored cases pass, %zu files\n", reports.c_str(), list.c_str(), all.passes, all.cases,
              got.size());
  if (raised) std::printf("%d files do better than listed: NEURA_UPDATE_EXPECTED=1 raises the list\n", raised);
  if (!std::getenv("NEURA_UPDATE_EXPECTED")) return;
  std::ofstream file(path_of(list));
  for (const auto& [name, c] : got) file << name << ' ' << c.passes << ' ' << c.cases << '\n';
}

}  // namespace neura::test
