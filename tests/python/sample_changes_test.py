"""How many places sample changes touch (tools/sample_changes.py, which also builds and uses them if it is asked to)."""

import importlib.util
import pathlib

import pytest

TOOL = pathlib.Path(__file__).parents[2] / "tools" / "sample_changes.py"


@pytest.fixture
def tool():
    spec = importlib.util.spec_from_file_location("sample_changes", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_change_touches_more_places_than_before_and_every_edit_finds_its_place(tool):
    assert tool.count(list(tool.PLACES)) == []


def test_every_sample_is_in_the_table(tool):
    assert {p.name for p in tool.SAMPLES.iterdir() if p.is_dir()} == set(tool.PLACES)


@pytest.fixture
def small(tool, tmp_path, monkeypatch):
    """A tree with one file, and a sample that edits it as `edits` says."""
    root, samples = tmp_path / "tree", tmp_path / "samples"
    (samples / "small").mkdir(parents=True)
    root.mkdir()
    (root / "list.def").write_text("A\nB\nC\n")
    monkeypatch.setattr(tool, "ROOT", root)
    monkeypatch.setattr(tool, "SAMPLES", samples)

    def made(edits, now, new=()):
        (samples / "small" / "edits.txt").write_text(edits)
        for path in new:
            (samples / "small" / "new" / path).parent.mkdir(parents=True, exist_ok=True)
            (samples / "small" / "new" / path).write_text("new\n")
        monkeypatch.setattr(tool, "PLACES", {"small": ("a small change", 1, now)})
        return tool.count(["small"])

    return made


def test_neighbouring_edits_are_one_place_and_others_are_several(small):
    assert small("edit list.def\nafter ^A$\n|a\nbefore ^B$\n|b\n", 1) == []
    assert small("edit list.def\nafter ^A$\n|a\nafter ^C$\n|c\n", 2) == []
    assert small("edit list.def\nreplace ^B$\n|b\n", 2, ["one/file.h"]) == []


def test_more_places_than_before_are_refused_and_fewer_are_to_be_written_down(small):
    edits = "edit list.def\nafter ^A$\n|a\nafter ^C$\n|c\n"
    assert small(edits, 1) == ["small: expected at most 1 places, got 2"]
    assert "write 2 into PLACES" in small(edits, 3)[0]


def test_an_edit_that_finds_no_place_or_two_is_refused(small):
    assert "got 0" in small("edit list.def\nafter ^D$\n|d\n", 1)[0]
    assert "got 3" in small("edit list.def\nafter .\n|d\n", 1)[0]
    assert "expected a file" in small("edit none.def\nafter .\n|d\n", 1)[0]
    assert "expected no file" in small("", 1, ["list.def"])[0]
    assert "expected edit" in small("edit list.def\nbehind ^A$\n|d\n", 1)[0]
