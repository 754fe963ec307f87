// Prints docs/settings.md: the environment's variables, from tables/settings.def. tools/docs.sh writes the page, or
// checks it.
#include <cstdio>

namespace {

enum class Concerns { library, cuda, python };
struct Row {
  Concerns concerns;
  const char *variable, *values, *effect;
};
constexpr Row kRows[] = {
#define SETTING(name, variable, concerns, values, effect) {Concerns::concerns, variable, values, effect},
#include "neura/tables/settings.def"
#undef SETTING
};

void print(const char* title, Concerns wanted) {
  std::printf("\n## %s\n\n| variable | effect |\n|---|---|\n", title);
  for (const Row& r : kRows)
    if (r.concerns == wanted) std::printf("| `%s%s` | %s |\n", r.variable, r.values, r.effect);
}

}  // namespace

int main() {
  std::printf(
      "# Environment variables\n\n"
      "Made from `neura/tables/settings.def` by `make docs`: do not edit. A variable is read when what it concerns is "
      "needed. Of\na switch, 0 is off, and everything else on.\n");
  print("The library", Concerns::library);
  print("CUDA", Concerns::cuda);
  std::printf("\n`CUDA_VISIBLE_DEVICES` is the driver's: which devices there are, in which order.\n");
  print("Python", Concerns::python);
  return 0;
}
