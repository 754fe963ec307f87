"""A row with an option in Python: a function, a method, in place, and what its check says."""

import neura
import pytest


def test_it_is_a_function_of_its_option():
    x = neura.tensor([1.0, 2.0])
    assert neura.log_shifted(x, shift=3).allclose(neura.log(x + 3))
    assert x.log_shifted(3).equal(neura.log_shifted(x, 3))
    assert x.clone().log_shifted_(3).equal(neura.log_shifted(x, 3))


@pytest.mark.parametrize("n", [2, 100_000])
def test_its_option_is_checked_before_anything_is_written(n):
    x = neura.ones(n)
    for call in (neura.log_shifted, neura.Tensor.log_shifted_):
        with pytest.raises(ValueError, match=r"log_shifted: expected shift > 0, got 0"):
            call(x, shift=0)
    assert x.equal(neura.ones(n))
