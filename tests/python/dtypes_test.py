"""docs/dtypes.md is what the functions do: dtypes taken and given, promotion, gradient,."""

import importlib.util
import pathlib
import warnings

import neura
import pytest

ROOT = pathlib.Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("dtypes_page", ROOT / "tools" / "dtypes_page.py")
dtypes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(dtypes)


def test_the_page_is_current():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = dtypes.page(neura).splitlines()
    kept = dtypes.PAGE.read_text().splitlines()
    assert [line for line in made if line not in kept] == [], "run: tools/dtypes_page.py build/release/site"
    assert made == kept


def test_every_function_has_its_fields():
    rows = [line.split("|")[1:-1] for line in dtypes.PAGE.read_text().splitlines() if line.startswith("| `")]
    assert len(rows) == len(dtypes.functions()) > 550
    for name, takes, *fields in rows:
        assert takes.strip() and len(fields) == 4, name
        assert all(field.strip() for field in fields) or name.strip(" `") in dtypes.ELSEWHERE, name


@pytest.mark.parametrize(
    "module,name,expected",
    [
        ("neura", "matmul", ("integers, floating, complex", "the same", "refused", "no", "yes")),
        ("neura", "cat", ("all", "the same", "the wider", "no", "yes")),
        ("neura", "argmax", ("bool, integers, floating", "int64", "one operand", "-", "none")),
        (
            "neura.nn.functional",
            "mse_loss",
            ("integers, floating, complex", "the same; int64 of uint8, int8, int16, int32", "the wider", "yes", "yes"),
        ),
        ("neura.linalg", "cholesky", ("float32, float64, complex", "the same", "one operand", "-", "yes")),
    ],
)
def test_cells(module, name, expected):
    assert dtypes.cells(dtypes.Function(neura, dtypes.stored(), module, name, False)) == expected
