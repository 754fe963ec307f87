"""Places in sorted sequences: the dtypes that meet there as PyTorch promotes them. The values are PyTorch 2.11's."""

import neura
import pytest

INTEGERS = [neura.uint8, neura.int8, neura.int16, neura.int32, neura.int64]
FLOATS = [neura.float16, neura.bfloat16, neura.float32, neura.float64]
INF, NAN = float("inf"), float("nan")


def both(sequence, values, **keywords):
    """What searchsorted and bucketize say, which are one."""
    found = neura.searchsorted(sequence, values, **keywords)
    bucket = neura.bucketize(values, sequence, **keywords)
    assert found.dtype is bucket.dtype and found.shape == bucket.shape and found.tolist() == bucket.tolist()
    return found.tolist()


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=str)
def test_a_sequence_and_values_of_two_dtypes(dtype):
    s, v = neura.tensor([1, 3, 5]).to(dtype), neura.tensor([1.5, 2, 4])
    for values in INTEGERS:
        assert both(s, v.to(values)) == [0, 1, 2], values
    for values in FLOATS:
        assert both(s, v.to(values)) == [1, 1, 2], values
    assert both(s, v.to(neura.bool)) == [0, 0, 0] and both(s, True) == 0
    assert both(s, 1.5) == both(s, neura.tensor(1.5)) == both(s, 2) == 1


def test_flags_meet_any_number_but_flags():
    s, v = neura.tensor([True, True, True]), neura.tensor([1, 2, 4])
    for dtype in (*INTEGERS, *FLOATS):
        assert both(s, v.to(dtype)) == [0, 3, 3]
    for flags in (v.to(neura.bool), True):
        for call in (neura.searchsorted, lambda sequence, values: neura.bucketize(values, sequence)):
            with pytest.raises(RuntimeError, match="expected real numbers, got bool"):
                call(s, flags)


@pytest.mark.parametrize("dtype", [neura.bool, *INTEGERS, *FLOATS, neura.complex64], ids=str)
def test_complex_numbers_have_no_order(dtype):
    s, z = neura.tensor([1, 3, 5]).to(dtype), neura.tensor([1 + 0j])
    for first, second in ((s, z), (z, s), (s, 2.5 + 0j)):
        with pytest.raises(RuntimeError, match="searchsorted: expected real numbers, got complex"):
            neura.searchsorted(first, second)


def test_both_are_rounded_to_the_dtype_they_meet_in():
    n = 2**24
    many = neura.tensor([n, n + 1, n + 2])
    assert both(many, neura.tensor([float(n)])) == both(many, neura.tensor([n + 1.0])) == [0]
    assert both(many, neura.tensor([float(n)]), right=True) == [2] and both(many, float(n), right=True) == 2
    assert both(many, neura.tensor([n + 1.0], dtype=neura.float64)) == [1]
    single, double = neura.tensor([0.1, 0.2]), neura.tensor([0.1, 0.2], dtype=neura.float64)
    assert both(single, double) == [0, 1] and both(double, single) == [1, 2]
    # A number, or a tensor without dimensions, takes the dtype of the sequence.
    assert both(single, 0.1) == both(single, double[0]) == 0 and both(single, 0.1, right=True) == 1
    assert both(neura.tensor([2048, 2049], dtype=neura.int32), neura.tensor([2049], dtype=neura.float16)) == [0]
    assert both(neura.tensor([1, 3, 5], dtype=neura.int8), neura.tensor([300])) == [3]
    assert both(neura.tensor([1, 200], dtype=neura.uint8), neura.tensor([-1], dtype=neura.int8)) == [0]


def test_infinities_nan_and_nothing_among_integers():
    s = neura.tensor([1, 3, 5])
    assert both(s, neura.tensor([NAN, 2.0, INF, -INF])) == [3, 1, 3, 0] and both(s, NAN) == 3
    assert both(s, neura.tensor([])) == [] and both(neura.tensor([], dtype=neura.int64), neura.tensor([1.5])) == [0]


def test_two_dtypes_with_the_other_arguments():
    v, order = neura.tensor([1.5]), neura.tensor([1, 2, 0])
    found = neura.searchsorted(neura.tensor([1, 3, 5]), v, out_int32=True, side="right")
    assert found.dtype is neura.int32 and found.tolist() == [1]
    assert neura.searchsorted(neura.tensor([5, 1, 3]), v, sorter=order).tolist() == [1]
    rows = neura.tensor([[1, 3, 5], [2, 4, 6]])
    assert neura.searchsorted(rows, neura.tensor([[1.5], [4.5]])).tolist() == [[1], [2]]
