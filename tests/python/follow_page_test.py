"""tools/follow_page.py runs what a page says, in a clone, and ends at what fails. And the pages have what it needs."""

import importlib.util
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("follow_page", ROOT / "tools" / "follow_page.py")
follow_page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(follow_page)
PAGE = """# Page

## Setting up

```bash
apt-get install nothing
echo "here $((40 + 2))"   # a comment
test -f page.md && \\
  echo joined
```

```bash
exit 3
echo never
```

## Other

```bash
echo other
```
"""


def test_the_set_up_of_cuda_is_followed():
    lines = follow_page.commands((ROOT / "docs/cuda.md").read_text(), "Setting up")
    assert "make build" in lines and sum("apt-get" in line for line in lines) == 1
    with pytest.raises(SystemExit, match="expected one section 'Nothing', got 0"):
        follow_page.commands(PAGE, "Nothing")


@pytest.mark.skipif(not shutil.which("git"), reason="no git")
def test_lines_run_until_one_fails(tmp_path):
    root = tmp_path / "root"
    (root / "tools").mkdir(parents=True)
    shutil.copy(ROOT / "tools/follow_page.py", root / "tools")
    (root / "page.md").write_text(PAGE)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "page"]):
        subprocess.run(git + command, cwd=root, check=True)
    follow = [sys.executable, root / "tools/follow_page.py", "page.md", "Setting up", "--left-out", "apt-get"]
    said = subprocess.run(follow + ["--clone", tmp_path / "clone"], capture_output=True, text=True)
    assert said.returncode == 1
    assert "here 42" in said.stdout and "\njoined\n" in said.stdout and "other" not in said.stdout
    assert said.stdout.splitlines()[-4:][0] == "left out  apt-get install nothing"
    assert said.stdout.splitlines()[-1] == "FAILED 3, 0 s  exit 3"
