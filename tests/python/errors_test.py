"""Each kind of error of C++: its class here, the built-ins it also is, and its message word for word."""

import pathlib
import re

import neura
import pytest
from neura import errors

ROOT = pathlib.Path(__file__).resolve().parents[2]
x = neura.ones(2, 3)


def backward_twice():
    y = (neura.ones(2, requires_grad=True) ** 2).sum()
    y.backward()
    y.backward()


def written_over():
    a = neura.ones(2, requires_grad=True)
    b = a * 1
    c = b * b
    b.add_(1)
    c.sum().backward()


# The class, the built-ins that it is too, who raises it, what it says.
RAISED = [
    (
        "ShapeError",
        (RuntimeError, ValueError),
        lambda: x @ x,
        "matmul: expected the second operand's dimension -2 to have size 3, as the first's last has, got 2 "
        "(float32 [2, 3] and float32 [2, 3])",
    ),
    (
        "DTypeError",
        (TypeError, RuntimeError),
        lambda: neura.bitwise_and(x, x),
        "bitwise_and: expected one of bool, uint8, int8, int16, int32, int64, got float32 "
        "(float32 [2, 3], float32 [2, 3])",
    ),
    (
        "DeviceError",
        (RuntimeError,),
        lambda: neura.device("toaster"),
        'device: expected "cpu", "cuda", "cuda:<index>" or "meta", got "toaster"',
    ),
    ("IndexError", (IndexError, RuntimeError), lambda: x.sum(5), "sum: expected a dimension from -2 to 1, got 5"),
    (
        "ValueError",
        (ValueError, RuntimeError),
        lambda: neura.nn.Dropout(2),
        "Dropout: expected a probability in [0, 1], got 2",
    ),
    (
        "ArgumentError",
        (ValueError, TypeError, RuntimeError),
        lambda: neura.nn.Linear(1, 1)(),
        'Linear.forward: expected argument "input", got none',
    ),
    (
        "AutogradError",
        (RuntimeError,),
        backward_twice,
        "pow: expected its saved values, but an earlier backward released them; pass retain_graph to that one",
    ),
    (
        "InplaceError",
        (RuntimeError, errors.AutogradError),
        written_over,
        "mul: expected its saved operand 0 (float32 [2]) at version 0, got version 1: add_ changed it in place; "
        "clone() it first or use the form that returns a new tensor",
    ),
    (
        "NotImplementedError",
        (NotImplementedError, RuntimeError),
        lambda: neura.segment_reduce(x, "sum", indices=x),
        "segment_reduce: expected indices to be None; give lengths or offsets",
    ),
    (
        "OutOfMemoryError",
        (MemoryError, RuntimeError),
        lambda: neura.empty(1 << 47),
        "empty: expected 536870912 MiB ",
    ),
    (
        "LinAlgError",
        (RuntimeError,),
        lambda: neura.linalg.inv(neura.zeros(2, 2)),
        "inv: expected A to be invertible, got a matrix that is singular (info 1)",
    ),
    (
        "IoError",
        (OSError, RuntimeError),
        lambda: neura.load("/nowhere/a.safetensors"),
        'cannot open "/nowhere/a.safetensors": No such file or directory',
    ),
    (
        "FormatError",
        (ValueError, RuntimeError),
        lambda: neura.load(b"\xff" * 64),
        "bytes: the header has 18446744073709551615 bytes by the number at byte 0, but only 56 follow; "
        "the file was cut off or is no safetensors file",
    ),
]
ALONE = {"Error": Exception, "CudaError": RuntimeError}  # the base; and what only a device raises


@pytest.mark.parametrize("name, builtins, call, text", RAISED, ids=[r[0] for r in RAISED])
def test_class_built_ins_and_message(name, builtins, call, text):
    with pytest.raises(getattr(errors, name)) as raised:
        call()
    assert all(isinstance(raised.value, kind) for kind in (errors.Error, *builtins))
    assert str(raised.value).startswith(text)


def test_each_type_of_cpp_is_here_and_above():
    declared = re.findall(r"^struct (\w*Error) ", (ROOT / "neura/core/error.h").read_text(), re.MULTILINE)
    assert len(declared) > 12
    assert set(declared) | {"ArgumentError"} == {r[0] for r in RAISED} | ALONE.keys()
    for name, base in ALONE.items():
        assert issubclass(getattr(errors, name), (base, errors.Error))
    made = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert all(issubclass(getattr(errors, name), errors.Error) for name in made) and made >= set(declared)


def asserted():
    query, long = neura.rand(3, 1, 4), neura.zeros(1, 3, dtype=neura.int64)
    attention, data = neura.nn.MultiheadAttention(4, 2), neura.utils.data
    return {
        "heads": (errors.ValueError, lambda: neura.nn.MultiheadAttention(5, 2)),
        "width": (errors.ShapeError, lambda: attention(*3 * [neura.rand(3, 1, 5)])),
        "key and value": (errors.ShapeError, lambda: attention(query, query, query[:2])),
        "dimensions": (errors.ShapeError, lambda: attention(query, query[0], query[0])),
        "mask": (errors.ShapeError, lambda: attention(query, query, query, attn_mask=neura.ones(2, 2, 3, 3))),
        "padding": (errors.ShapeError, lambda: attention(query, query, query, key_padding_mask=neura.ones(2, 2))),
        "mask of integers": (errors.DTypeError, lambda: attention(query, query, query, key_padding_mask=long)),
        "padding_idx": (errors.ValueError, lambda: neura.nn.Embedding(3, 2, padding_idx=3)),
        "padding_idx of a bag": (errors.ValueError, lambda: neura.nn.EmbeddingBag(3, 2, padding_idx=-4)),
        "_weight": (errors.ShapeError, lambda: neura.nn.Embedding(3, 2, _weight=neura.rand(2, 2))),
        "from_pretrained": (errors.ShapeError, lambda: neura.nn.Embedding.from_pretrained(neura.rand(2))),
        "embedding": (
            errors.ValueError,
            lambda: neura.nn.functional.embedding(neura.tensor([1]), neura.rand(3, 2), padding_idx=3),
        ),
        "TensorDataset": (errors.ValueError, lambda: data.TensorDataset(neura.rand(2), neura.rand(3))),
        "ConcatDataset": (errors.ValueError, lambda: data.ConcatDataset([])),
    }


@pytest.mark.parametrize("which", asserted())
def test_what_pytorch_asserts_is_an_assertion_error_too(which):
    kind, call = asserted()[which]
    with pytest.raises(AssertionError) as raised:
        call()
    assert isinstance(raised.value, kind) and type(raised.value).__name__.startswith("Asserted")
