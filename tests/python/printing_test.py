"""Options of printing; which dtype comes out where others meet."""

import math

import neura
import pytest
from neura._tensor_str import printoptions

DEFAULTS = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}


@pytest.fixture(autouse=True)
def restored():
    yield
    neura.set_printoptions(profile="default")


def test_each_option_is_kept_until_it_is_changed():
    assert neura.get_printoptions() == DEFAULTS
    neura.set_printoptions(precision=2, linewidth=40, sci_mode=True)
    assert repr(neura.tensor([1.0, 200.0])) == "tensor([1.00e+00, 2.00e+02])"
    neura.set_printoptions(threshold=5, edgeitems=1)  # sci_mode is what each call says
    assert neura.get_printoptions() == {**DEFAULTS, "precision": 2, "threshold": 5, "edgeitems": 1, "linewidth": 40}
    assert repr(neura.arange(10.0)) == "tensor([0.,  ..., 9.])"
    neura.set_printoptions(sci_mode=False)
    assert repr(neura.tensor([3.14159265, 0.00001234, 1234.5])) == "tensor([   3.14,    0.00, 1234.50])"


def test_profiles():
    neura.set_printoptions(profile="short")
    assert neura.get_printoptions() == {**DEFAULTS, "precision": 2, "edgeitems": 2}
    neura.set_printoptions(profile="full", precision=6)
    assert neura.get_printoptions() == {**DEFAULTS, "precision": 6, "threshold": math.inf}
    assert "..." not in repr(neura.zeros(1001))
    neura.set_printoptions(threshold=math.inf, precision=4)
    neura.set_printoptions(profile="default")
    assert neura.get_printoptions() == DEFAULTS
    assert "..." in repr(neura.zeros(1001))


def test_options_within_a_block():
    with pytest.raises(KeyError), printoptions(precision=1, sci_mode=True):
        assert repr(neura.tensor([1.25])) == "tensor([1.2e+00])"
        raise KeyError
    assert neura.get_printoptions() == DEFAULTS


@pytest.mark.parametrize("wrong", [{"precision": -1}, {"threshold": -1}, {"profile": "long"}, {"threshold": math.nan}])
def test_wrong_options_change_nothing(wrong):
    with pytest.raises(ValueError, match="set_printoptions: expected"):
        neura.set_printoptions(linewidth=20, **wrong)
    assert neura.get_printoptions() == DEFAULTS


def test_promotion():
    i, f = neura.arange(3), neura.ones(3)
    assert neura.result_type(i, 1.0) is neura.float32
    assert neura.result_type(2, f.half()) is neura.float16
    assert neura.result_type(f, neura.tensor(1.0, dtype=neura.float64)) is neura.float32
    assert neura.result_type(1, 1j) is neura.complex64
    assert neura.promote_types(neura.int32, neura.bfloat16) is neura.bfloat16
    assert neura.can_cast(neura.int64, neura.float16) and not neura.can_cast(neura.float64, neura.int64)
    with pytest.raises(TypeError):
        neura.promote_types(neura.float8_e5m2, neura.float32)
    with pytest.raises(TypeError):
        neura.result_type(f, None)
