"""docs/parity.md is what the package has, and says of every name that it lacks why."""

import importlib.util
import pathlib

ROOT = pathlib.Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("parity", ROOT / "tools" / "parity.py")
parity = importlib.util.module_from_spec(spec)
spec.loader.exec_module(parity)


def test_the_page_is_current():
    assert parity.PAGE.read_text() == parity.page(), "run: tools/parity.py build/release/site"


def test_most_names_are_there():
    for space, names in parity.names().items():
        where = parity.place(space)
        missing = sum(not hasattr(where, name) for name in names)
        assert missing <= (0.5 if space == "torch.cuda" else 0.35) * len(names), space


def test_a_name_without_a_reason_is_found():
    try:
        parity.reason("torch", "a_function_of_tomorrow")
    except SystemExit as error:
        assert "torch.a_function_of_tomorrow" in str(error)
    else:
        raise AssertionError("a reason for any name")


def test_requests_say_what_became_of_them(monkeypatch):
    asked = (("torch.nn.Linear", 7, "wanted"), ("torch.linalg.a_function_of_tomorrow", 8, "wanted: needs a kernel"))
    monkeypatch.setattr(parity, "REQUESTS", asked)
    assert parity.requests()[-3:-1] == [
        "- `torch.nn.Linear` (#7): there",
        "- `torch.linalg.a_function_of_tomorrow` (#8): wanted: needs a kernel",
    ]
