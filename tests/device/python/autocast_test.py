"""The lists of autocast on CUDA are PyTorch's, on the device for tests: only dtypes are looked at."""

import json
import pathlib
import sys

import neura
import pytest

if not neura.cuda.is_available():
    pytest.skip("no device", allow_module_level=True)

PYTHON = pathlib.Path(__file__).parents[2] / "python"
sys.path.insert(0, str(PYTHON))
from make_autocast import answer  # noqa: E402

STORED = json.loads((PYTHON / "autocast.json").read_text())
# Spellings of names that are tried in another spelling, kernels below them, and named dimensions, which we lack.
ELSEWHERE = """_convolution.deprecated _convolution conv_transpose2d.input conv_transpose3d.input convolution
_thnn_fused_lstm_cell _thnn_fused_gru_cell _scaled_dot_product_flash_attention native_layer_norm nuclear_norm.dim
prod.dim_Dimname softmax.Dimname log_softmax.Dimname cumprod.dimname cumsum.dimname linalg_matrix_norm.str_ord
sum.dim_DimnameList""".split()
LISTED = [(policy, name) for policy, listed in STORED["cuda"].items() for name in listed if name not in ELSEWHERE]
HALF = neura.float16


@pytest.mark.parametrize("policy,name", LISTED, ids=lambda text: text)
def test_listed(policy, name):
    call = STORED["calls"][name]
    if policy == "refuse":
        with pytest.raises(neura.errors.ValueError, match="inside autocast"):
            answer(neura, call, neura.float32, HALF, "cuda")
        return
    for dtype in (neura.float32, HALF):
        got = answer(neura, call, dtype, HALF, "cuda")
        if policy == "low":
            assert got == "float16"
        elif policy == "wide":
            assert got == "float32"
        else:  # the widest of its operands
            mixed = "w(" in call
            assert got == ("float32" if mixed or dtype is neura.float32 else "float16")


def listed(name):
    return any(name in (entry, entry.split(".")[0]) for entries in STORED["cuda"].values() for entry in entries)


@pytest.mark.parametrize("name", "tanh sigmoid relu gelu add mean max_pool2d batch_norm embedding dropout cat".split())
def test_what_is_not_listed_keeps_its_operands(name):
    assert not listed(name)
    call = STORED["calls"][name]
    mixed = name in ("add", "cat")
    assert answer(neura, call, HALF, HALF, "cuda") == ("float32" if mixed else "float16")
    assert answer(neura, call, neura.float32, HALF, "cuda") == "float32"


def test_the_modes_of_kinds_of_devices_are_apart():
    x = neura.ones(2, 2)
    with neura.autocast("cpu"):
        assert (x.cuda() @ x.cuda()).dtype == neura.float32
    with neura.autocast("cuda"):
        assert (x @ x).dtype == neura.float32
        assert (x.cuda() @ x.cuda()).dtype == neura.float16
    with neura.autocast("cuda", neura.bfloat16):
        assert (x.cuda() @ x.cuda()).dtype == neura.bfloat16


def test_sum_keeps_the_dtype_it_is_told():
    x = neura.ones(3, dtype=HALF, device="cuda")
    with neura.autocast("cuda"):
        assert x.sum(dtype=HALF).dtype == HALF
        assert x.softmax(0, dtype=HALF).dtype == HALF
