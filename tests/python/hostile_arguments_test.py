"""Numbers too large, lists that are none, tensors that are not there: each is an error that names what was called."""

import subprocess
import sys
import time

import neura
import neura.nn.functional as F
import pytest
from neura import errors, nn

BIG = 2**31
x = neura.ones(2, 3)
none_there = neura.ones(0, 2)

HUGE = {
    "pixel_shuffle": lambda: F.pixel_shuffle(neura.ones(1, 4, 2, 2), 2**32),
    "pixel_shuffle of no channels": lambda: F.pixel_shuffle(neura.ones(1, 0, 2, 2), 2**40),
    "PixelShuffle": lambda: nn.PixelShuffle(2**63 - 1)(neura.ones(1, 4, 2, 2)),
    "pixel_unshuffle": lambda: F.pixel_unshuffle(neura.ones(1, 4, 0, 0), 2**32),
    "rnn_tanh": lambda: neura.rnn_tanh(
        neura.ones(1, 1, 2), neura.ones(1, 1, 2), [], True, 2**62, 0.0, False, False, False
    ),
    "repeat": lambda: x.repeat(2**62, 2**62),
    "tile": lambda: neura.tile(none_there, (2**62, 2**62)),
    "repeat_interleave": lambda: none_there.repeat_interleave(2**63 - 1, dim=1),
    "kron": lambda: neura.kron(neura.ones(1).expand(2**40), neura.ones(1).expand(2**40)),
    "mvlgamma": lambda: neura.mvlgamma(x, BIG - 1),
    "hsplit": lambda: neura.ones(2, 0).hsplit(2**40),
    "vsplit": lambda: none_there.vsplit(2**40),
    "chunk": lambda: none_there.chunk(2**62),
    "tensor_split": lambda: none_there.tensor_split(2**62),
    "unbind": lambda: neura.ones(1).expand(2**40).unbind(),
    "split": lambda: neura.ones(1).expand(2**40).split(1),
    "pad": lambda: F.pad(neura.ones(1, 1, 3), (2**40, 2**40), "replicate"),
    "ReplicationPad1d": lambda: nn.ReplicationPad1d(2**40)(neura.ones(1, 1, 3)),
    "constant_pad": lambda: F.pad(x, (2**63 - 1, 2**63 - 1)),
    "upsample_nearest": lambda: F.interpolate(neura.ones(1, 1, 2), size=2**60),
    "upsample_linear": lambda: F.interpolate(neura.ones(1, 1, 2), size=2**60, mode="linear"),
    "LSTM": lambda: nn.LSTM(2, 2, 2**40),
    "GRU": lambda: nn.GRU(2, 2**62),
    "unfold": lambda: F.unfold(neura.ones(1, 1, 2, 2), 2**32, padding=2**32),
    "fold": lambda: F.fold(neura.ones(1, 1, 1), (2**32, 2**32), (2**32, 2**32)),
    "conv_transpose": lambda: F.conv_transpose1d(neura.ones(1, 1, 2), neura.ones(1, 1, 2), stride=2**62),
    "max_unpool": lambda: F.max_unpool1d(neura.ones(1, 1, 2), neura.ones(1, 1, 2).long(), 2**62),
    "diag_embed": lambda: neura.diag_embed(x, -(2**63)),
    "combinations": lambda: neura.combinations(neura.ones(3), 2**60),
    "as_strided_scatter": lambda: neura.as_strided_scatter(x, neura.ones(2, 2), (2, 2), (2**62, 2**62)),
}


@pytest.mark.parametrize("name", HUGE)
def test_a_huge_number_is_refused_at_once(name):
    begin = time.perf_counter()
    with pytest.raises((errors.Error, TypeError)) as error:
        HUGE[name]()
    assert ": " in str(error.value) or "incompatible function arguments" in str(error.value)
    assert time.perf_counter() - begin < 30


def test_an_empty_tensor_is_filled_by_dirac_whatever_its_groups():
    t = neura.ones(0, 2, 3)
    assert nn.init.dirac_(t, BIG) is t


WRONG = {
    "histogram: expected numbers or None for range, got str": lambda: neura.histogram(x, 3, range="none"),
    "histogramdd: expected range to be numbers": lambda: neura.histogramdd(x, [2, 2, 2], range=["a", "b"]),
    "general_cosine: expected numbers for a, got str": lambda: neura.signal.windows.general_cosine(3, a="abc"),
    "full: expected a number for fill_value, got an integer beyond 64 bits": lambda: neura.full((2,), 2**64),
    "__dlpack__: expected stream": lambda: x.__dlpack__(stream=2**70),
    "format: expected format_spec to be a text": lambda: x.__format__(3),
    "grad: expected": lambda: neura.autograd.grad(neura.ones(1, requires_grad=True).sum(), [None]),
    "decode_png: expected the bytes": lambda: neura.data.decode_png(2**33),
    "nansum: expected real": lambda: neura.nansum(x, dtype=neura.complex64),
    "nanmean: expected real": lambda: neura.nanmean(x, dtype=neura.complex128),
}


@pytest.mark.parametrize("text", WRONG)
def test_an_argument_of_another_kind_is_named(text):
    with pytest.raises((errors.Error, TypeError)) as error:
        WRONG[text]()
    assert text in str(error.value)


def test_a_table_that_is_no_utf8_is_a_format_error(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xff\xfe,2\n1,2\n")
    for header in (False, True):
        with pytest.raises(errors.FormatError, match="expected"):
            neura.data.read_csv(path, header=header)


LISTS = """
import resource, neura
from neura import errors
room = 1 << 30
resource.setrlimit(resource.RLIMIT_AS, (room + 4 * room, room + 4 * room))
for call in (
    lambda: neura.ones(1).expand(2**28).tolist(),
    lambda: neura.ones(0, 2).chunk(2**26),
    lambda: neura.ones(2, 0).hsplit(2**26),
    lambda: neura.nn.functional.pad(neura.ones(1, 1, 3), (2**30, 2**30), "replicate"),
    lambda: neura.nn.functional.interpolate(neura.ones(1, 1, 2), size=2**30),
):
    try:
        call()
    except errors.OutOfMemoryError as e:
        print(e)
"""


def test_lists_that_do_not_fit_into_memory_are_out_of_memory_errors():
    done = subprocess.run([sys.executable, "-c", LISTS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert len(lines) == 5, done.stdout
    for line, name in zip(lines, ["tolist", "chunk", "hsplit", "pad", "interpolate"]):
        assert line.startswith(name + ":"), line


@pytest.mark.parametrize("dtype", [neura.float16, neura.bfloat16, neura.float32, neura.complex64])
def test_a_product_of_halves_has_the_gradient_of_the_other_factors(dtype):
    t = neura.tensor([0.0, 1, 2]).to(dtype).requires_grad_()
    t.prod().real.backward()
    assert t.grad.dtype is dtype and t.grad.real.float().tolist() == [2, 0, 0]
    t = neura.zeros(2, 4, 3, 2, dtype=dtype, requires_grad=True)
    t.prod(dim=0).sum().real.backward()
    assert t.grad.abs().float().sum().item() == 0
    t = neura.tensor([2.0, 3, 4]).to(dtype).requires_grad_()
    t.prod(dtype=neura.complex128 if dtype.is_complex else neura.float64).real.backward()
    assert t.grad.real.float().tolist() == [12, 8, 6]
