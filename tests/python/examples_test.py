"""The programs of examples/python run, check what they show, and are on the page of examples."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PROGRAMS = sorted(p for p in (ROOT / "examples" / "python").glob("*.py") if p.stem != "example")
NEEDS = {"python_bindings_example": ["numpy"]}


def run(*arguments, cwd):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=cwd, timeout=300)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_runs(program, tmp_path):
    for package in NEEDS.get(program.stem, []):
        pytest.importorskip(package)
    done = run(program, "--quick", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("\n") >= 2 or done.stdout.startswith("nothing to show"), done.stdout
    assert not list(tmp_path.iterdir()), "an example leaves nothing in the folder that it runs in"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_says_what_it_shows(program, tmp_path):
    text = program.read_text(encoding="utf-8")
    if "from example import" not in text:
        assert text.startswith('"""')
        return
    done = run(program, "--help", cwd=tmp_path)
    first = text.split('"""')[1].splitlines()[0]
    assert done.returncode == 0 and first in done.stdout and "--device" in done.stdout and "--quick" in done.stdout


def test_the_gallery_is_up_to_date():
    done = run(ROOT / "tools" / "gallery.py", "--check", cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
