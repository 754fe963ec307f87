"""Errors are the built-in class that PyTorch and NumPy raise for the same mistake, too."""

import neura
import pytest
from neura import errors

x = neura.ones(2, 3)


@pytest.mark.parametrize(
    "index",
    [
        1.5,
        "a",
        (0, 1.5),
        (neura.tensor([0, 1]), neura.tensor([0, 1, 2])),
        neura.tensor([0.5]),
        5,
        (neura.tensor([0, 9]),),
        neura.tensor([True, False, True]),
        (..., ..., 0),
        (0, 0, 0),
        b"a",
    ],
    ids=repr,
)
def test_a_wrong_index_is_an_index_error(index):
    with pytest.raises(IndexError):
        x[index]
    with pytest.raises(IndexError):
        x.clone()[index] = 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: x.index_select(1, neura.tensor([[0]])),
        lambda: x.index_select(1, neura.tensor([[0.0]])),
        lambda: neura.index_select(x, 0, neura.zeros(0, 1, dtype=neura.int64)),
        lambda: neura.tensor(3).index_select(0, neura.tensor([[0]])),
        lambda: x.index_add(0, neura.tensor([[0]]), x),
        lambda: x.clone().index_copy_(0, neura.tensor([[0]]), x[:1]),
    ],
)
def test_an_index_that_is_no_vector_is_an_index_error(call):
    with pytest.raises(IndexError):
        call()


@pytest.mark.parametrize("text", ["a", b"a", (0, "a"), ["a", 0]], ids=repr)
def test_a_text_as_an_index_is_a_type_error_too(text):
    with pytest.raises(TypeError, match="got (str|bytes)"):
        x[text]


def test_a_tensor_that_is_no_index_is_a_type_error():
    for wrong in (neura.tensor([1, 2]), neura.ones(0), neura.tensor([1.5])):
        with pytest.raises(TypeError, match="expected an integer tensor of one element"):
            wrong.__index__()
        with pytest.raises(TypeError):
            wrong * [1, 2, 3]
    assert neura.tensor([[2]]) * [1] == [1, 1] and neura.tensor(True).__index__() == 1


def test_a_value_that_does_not_fit_is_none():
    with pytest.raises(RuntimeError) as error:
        x.clone()[neura.tensor([0, 1])] = neura.ones(2, 7)
    assert not isinstance(error.value, IndexError)


@pytest.mark.parametrize(
    "call",
    [
        lambda: neura.softmax(neura.arange(3), 0),
        lambda: neura.bitwise_and(x, x),
        lambda: x.cfloat() < x,
        lambda: neura.matmul(x.to(neura.float8_e5m2), x.t().to(neura.float8_e5m2)),
    ],
)
def test_a_dtype_without_a_kernel_is_not_implemented(call):
    for kind in (NotImplementedError, TypeError, RuntimeError, errors.DTypeError):
        with pytest.raises(kind):
            call()


def test_a_folder_that_is_not_there_is_a_runtime_error(tmp_path):
    for kind in (RuntimeError, OSError, errors.IoError):
        with pytest.raises(kind):
            neura.save([x], tmp_path / "none" / "file")
        with pytest.raises(kind):
            neura.safetensors.save_file({"x": x}, tmp_path / "none" / "file")
