"""tools/coverage.py on a build of one source: which lines ran, which errors were raised; what it says of no counts."""

import pathlib
import shutil
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).parents[2] / "tools" / "coverage.py"
SOURCE = """#include <stdexcept>
#include <string>
template <class E, class F> inline void check(bool ok, F text) {
  if (!ok) throw E(text());
}
int f(int x) {
  check<std::runtime_error>(x > 0, [&] { return std::string("raised"); });
  check<std::runtime_error>(x < 9, [&] { return std::string("never raised"); });
  if (x == 5) throw std::runtime_error("raised");
  if (x == 6) throw std::runtime_error("never raised");
  return x;
}
"""
TEST = "int f(int);\nint main() {\n  int all[] = {0, 1, 5};\n  for (int x : all) try { f(x); } catch (...) {}\n}\n"


def tool(root, *arguments):
    return subprocess.run(
        [sys.executable, root / "tools" / SCRIPT.name, *arguments], cwd=root, capture_output=True, text=True
    )


@pytest.mark.skipif(not (shutil.which("g++") and shutil.which("gcov")), reason="no g++ or no gcov")
def test_lines_and_errors_are_counted(tmp_path):
    root, build = tmp_path / "source", tmp_path / "build"
    for folder in (root / "neura" / "core", root / "tools", build):
        folder.mkdir(parents=True)
    shutil.copy(SCRIPT, root / "tools")
    (root / "neura/core/f.cpp").write_text(SOURCE)
    (build / "test.cpp").write_text(TEST)
    compiled = ["g++", "--coverage", "-O1", "-g1", "-fno-inline", "-o", "test", root / "neura/core/f.cpp", "test.cpp"]
    subprocess.run(compiled, cwd=build, check=True)

    said = tool(root, build)
    assert said.returncode == 1 and "got none of 2 units" in said.stderr and "cannot open data file" in said.stdout
    subprocess.run([build / "test"], cwd=build, check=True)
    said = tool(root, build, "--write", "page.md", "--commit", "abc")
    assert said.returncode == 0 and "coverage: 2 errors that no test raises, 2 of them unexplained" in said.stdout
    page = (root / "page.md").read_text()
    assert "Of commit abc" in page and page.count("never raised") == 2 and '"raised"' not in page
    [core] = [line.split("|")[2:] for line in page.splitlines() if line.startswith("| core |")]
    assert int(core[0]) >= int(core[1]) > 0 and [int(core[3]), int(core[4])] == [5, 3]
    assert tool(root, build, "--check").returncode == 1

    moved = tmp_path / "moved"
    root.rename(moved)
    assert tool(moved, build).returncode == 1
    (moved / "tools/coverage.reasons").write_text("neura/core/f.cpp\tnever raised\tit cannot be\n")
    assert tool(moved, build, "--source", root, "--check").returncode == 0
