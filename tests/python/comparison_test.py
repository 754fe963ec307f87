"""neura.testing.assert_close."""

import neura
import pytest

assert_close = neura.testing.assert_close
x = neura.tensor([[1.0, 2.0], [3.0, 4.0]])
nan = float("nan")


def test_what_is_close_passes():
    assert_close(x, x + 1e-6)
    assert_close(x.half(), x.half() * 1.0005)
    assert_close([x, {"a": 1, "b": (2.0, None)}], [x.clone(), {"a": 1, "b": (2.0, None)}])
    assert_close(1.0, 1.0 + 1e-9)
    assert_close(x, x + 0.5, rtol=0, atol=0.6)
    assert_close(neura.tensor([nan]), neura.tensor([nan]), equal_nan=True)
    assert_close(x, x.double(), check_dtype=False)
    assert_close(neura.empty(0), neura.empty(0))
    assert_close(neura.tensor(float("inf")), neura.tensor(float("inf")))


WRONG = {
    "expected close tensors, got 1 of 4 elements that differ; most at index (1, 0): 3.0 where 4.0 was": lambda: (
        assert_close(x, neura.tensor([[1.0, 2.0], [4.0, 4.0]]))
    ),
    "expected shape [4], got [2, 2]": lambda: assert_close(x, x.flatten()),
    "expected dtype neura.float64, got neura.float32": lambda: assert_close(x, x.double()),
    "expected strides (1, 2), got (2, 1)": lambda: assert_close(x, x.t().contiguous().t(), check_stride=True),
    "expected 2, got 1": lambda: assert_close(1, 2),
    "at [1]['a']: expected 2.0, got 1.0": lambda: assert_close([1, {"a": 1.0}], [1, {"a": 2.0}]),
    "expected 2 items, got 1": lambda: assert_close([1], [1, 2]),
    "expected the keys ['b'], got ['a']": lambda: assert_close({"a": 1}, {"b": 1}),
    "expected close tensors, got 1 of 1 elements": lambda: assert_close(neura.tensor([nan]), neura.tensor([nan])),
    "index 2: 1 where 0": lambda: assert_close(neura.tensor([0, 0, 1]), neura.tensor([0, 0, 0])),
    "expected int, got float": lambda: assert_close(1.0, 1),
}


@pytest.mark.parametrize("text", WRONG)
def test_what_differs_is_said(text):
    with pytest.raises(AssertionError) as error:
        WRONG[text]()
    assert str(error.value).startswith("assert_close: ") and text in str(error.value)


def test_messages_of_ones_own():
    with pytest.raises(AssertionError, match="^mine$"):
        assert_close(1, 2, msg="mine")
    with pytest.raises(AssertionError, match="mine: assert_close: expected 2"):
        assert_close(1, 2, msg=lambda text: f"mine: {text}")


def test_wrong_arguments():
    with pytest.raises(ValueError, match="both rtol and atol"):
        assert_close(1.0, 1.0, rtol=1)
    with pytest.raises(TypeError, match="expected tensors"):
        assert_close("a", "a")
