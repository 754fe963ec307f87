"""What a handler may ask of an error: what refused, and which tensors it was given; also from another device."""

import os
import subprocess
import sys

import neura
import pytest
from neura import errors

x = neura.ones(2, 3)
n = neura.ones(2, 3, dtype=neura.int64)


KINDS = [  # class, built-ins, call, what refused, its tensors
    (errors.ShapeError, (RuntimeError, ValueError), lambda: x + neura.ones(4), "add", [(2, 3), (4,)]),
    (errors.DTypeError, (TypeError, RuntimeError), lambda: (x > 0) - (x > 0), "sub", [(2, 3), (2, 3)]),
    (errors.DeviceError, (RuntimeError,), lambda: neura.device("nowhere"), "device", []),
    (
        errors.IndexError,
        (IndexError, RuntimeError),
        lambda: x.index_select(0, neura.tensor([7])),
        "index_select",
        [(2, 3), (1,)],
    ),
    (errors.ValueError, (ValueError, RuntimeError), lambda: n // 0, "floor_divide", [(2, 3)]),
    (errors.AutogradError, (RuntimeError,), lambda: x.backward(), "backward", []),
    (
        errors.InplaceError,
        (RuntimeError, errors.AutogradError),
        lambda: neura.ones(2, requires_grad=True).add_(1),
        "add_",
        [(2,)],
    ),
    (
        errors.NotImplementedError,
        (NotImplementedError,),
        lambda: neura.nn.functional.embedding(n, x, sparse=True, scale_grad_by_freq=True),
        "embedding",
        [],
    ),
    (errors.IoError, (OSError,), lambda: neura.load("/nowhere/at/all.pt"), None, []),
    (errors.ArgumentError, (errors.ValueError, TypeError), lambda: neura.nn.Linear(2, 3)(1), None, []),
]


@pytest.mark.parametrize("kind, builtins, call, op, shapes", KINDS, ids=[k[0].__name__ for k in KINDS])
def test_each_kind_is_a_builtin_and_has_fields(kind, builtins, call, op, shapes):
    with pytest.raises(kind) as caught:
        call()
    e = caught.value
    assert isinstance(e, errors.Error) and all(isinstance(e, b) for b in builtins)
    assert str(e) and (op is None or (e.op == op and str(e).startswith(op + ": ")))
    assert [tuple(shape) for _, shape, _ in e.operands] == shapes
    for dtype, _, device in e.operands:
        assert isinstance(dtype, neura.dtype) and device == neura.device("cpu")


def test_every_class_is_an_error_of_ours():
    for name, kind in vars(errors).items():
        if isinstance(kind, type):
            assert issubclass(kind, errors.Error) and kind.__module__ == "neura.errors", name
            assert kind("text").op == "" and kind("text").operands == ()  # raised by Python code
    assert issubclass(errors.OutOfMemoryError, MemoryError) and issubclass(errors.FormatError, ValueError)


# The build tree has a device for tests; an installed package has none.
DEVICE = os.path.join(os.path.dirname(neura.__file__), "..", "..", "lib", "libneura_host_device.so")
FAILING = """
import neura
x = neura.ones(3, device="cuda")
assert (x + 1).tolist() == [2, 2, 2] and (x + 1).device.type == "cuda"
for call, op in ((lambda: x + neura.ones(3), "add"), (lambda: x @ neura.ones(3), "matmul"),
                 (lambda: neura.nn.functional.mse_loss(x, neura.ones(3)), "mse_loss")):
    try:
        call()
    except neura.errors.DeviceError as e:
        assert isinstance(e, RuntimeError) and str(e).startswith(op + ": expected all tensors on the same device"), e
        assert {str(d) for _, _, d in e.operands} == {"cpu", "cuda:0"}, e.operands
    else:
        raise AssertionError(op)
try:
    neura.zeros(1 << 40, device="cuda")
except neura.errors.OutOfMemoryError as e:
    assert isinstance(e, MemoryError)
assert x.sum().item() == 3
print("fine")
"""


@pytest.mark.skipif(not os.path.exists(DEVICE), reason="no device for tests beside this package")
def test_errors_of_another_device_cross_into_python():
    env = dict(os.environ, NEURA_CUDA_LIBRARY=os.path.realpath(DEVICE))
    done = subprocess.run([sys.executable, "-c", FAILING], env=env, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "fine", done.stderr
