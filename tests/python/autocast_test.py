"""Autocast on the CPU: its lists against PyTorch's answers, its modes, its decorators, and training inside it."""

import importlib
import json
import pathlib
import pickle
import threading

import pytest
from make_autocast import answer

import neura

F = neura.nn.functional
STORED = json.loads((pathlib.Path(__file__).parent / "autocast.json").read_text())


@pytest.mark.parametrize("name", STORED["calls"])
def test_results_have_the_dtypes_of_pytorch(name):
    for dtype, want in zip((neura.float32, neura.bfloat16), STORED["cpu"][name]):
        if want is not None:  # else PyTorch has no kernel
            assert answer(neura, STORED["calls"][name], dtype, neura.bfloat16, "cpu") == want, dtype


# Kernels below functions that are tried, and what there is no function for here.
NOT_TRIED = """_addmm_activation _convolution _grid_sampler_2d_cpu_fallback _lu_with_info _native_multi_head_attention
fake_quantize_per_tensor_affine mkldnn_rnn_layer multilabel_margin_loss_forward""".split()


def test_every_name_of_pytorchs_list_is_tried():
    tried = {name.split(".")[0] for name in STORED["calls"]}
    assert set(STORED["cpu_names"]) - tried == set(NOT_TRIED)


def product(x=None):
    x = neura.ones(2, 2) if x is None else x
    return (x @ x).dtype


def test_regions_nest_and_end():
    with neura.autocast("cpu"):
        assert product() == neura.bfloat16
        with neura.autocast("cpu", enabled=False):
            assert product() == neura.float32
            with neura.autocast("cpu", neura.float16):
                assert product() == neura.float16
                assert neura.get_autocast_dtype("cpu") == neura.float16
            assert product() == neura.float32
        assert product() == neura.bfloat16
    assert product() == neura.float32
    assert not neura.is_autocast_enabled("cpu") and neura.get_autocast_dtype("cpu") == neura.bfloat16
    with pytest.raises(ZeroDivisionError):
        with neura.amp.autocast("cpu"):
            1 / 0
    assert not neura.is_autocast_enabled("cpu")


def test_one_object_serves_many_regions():
    region = neura.autocast("cpu")
    with region:
        with region:
            assert product() == neura.bfloat16
        assert product() == neura.bfloat16
    assert product() == neura.float32


def test_decorates_functions_and_generators():
    @neura.autocast("cpu")
    def f():
        return product()

    @neura.autocast("cpu")
    def g():
        yield product()
        yield product()

    assert f() == neura.bfloat16
    values = g()
    assert next(values) == neura.bfloat16 and product() == neura.float32 and next(values) == neura.bfloat16


def test_modes_are_set_without_a_region():
    neura.set_autocast_dtype("cpu", neura.float16)
    neura.set_autocast_enabled("cpu", True)
    try:
        assert product() == neura.float16
    finally:
        neura.set_autocast_enabled("cpu", False)
        neura.set_autocast_dtype("cpu", neura.bfloat16)
    assert product() == neura.float32
    neura.set_autocast_enabled(True)  # of cuda
    assert neura.is_autocast_enabled() and not neura.is_autocast_enabled("cpu")
    neura.set_autocast_enabled(False)
    assert neura.autocast_increment_nesting() == 1 and neura.autocast_decrement_nesting() == 0
    assert neura.is_autocast_cache_enabled()
    with neura.autocast("cpu", cache_enabled=False):
        assert not neura.is_autocast_cache_enabled()
    assert neura.amp.is_autocast_available("cpu")


def test_what_cannot_be():
    with pytest.raises(RuntimeError, match="expected device_type 'cpu' or 'cuda', got 'tpu'"):
        neura.autocast("tpu")
    with pytest.raises(ValueError, match="expected device_type as a str"):
        neura.autocast(neura.device("cpu"))
    with pytest.warns(UserWarning, match="expected float16 or bfloat16, got neura.float32"):
        region = neura.autocast("cpu", neura.float32)
    with region:
        assert product() == neura.float32
    with pytest.raises(neura.errors.DTypeError):
        neura.set_autocast_dtype("cpu", neura.int64)


def test_what_has_a_destination_is_not_cast():
    neura.manual_seed(1)
    x, y = neura.rand(3, 3), neura.rand(3, 3)
    exact = x @ y
    with neura.autocast("cpu"):
        assert not neura.equal((x @ y).float(), exact)
        assert neura.equal(neura.zeros(3, 3).addmm_(x, y), exact)
        assert neura.equal(neura.matmul(x, y, out=neura.empty(3, 3)), exact)
        assert neura.equal(neura.mm(x, y, out=neura.empty(3, 3)), exact)


def test_another_thread_starts_without():
    seen = []
    with neura.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append(product()))
        thread.start()
        thread.join()
    assert seen == [neura.float32]


class Scaled(neura.autograd.Function):
    @staticmethod
    @neura.amp.custom_fwd(device_type="cpu")
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        ctx.seen = product()
        return x @ w

    @staticmethod
    @neura.amp.custom_bwd(device_type="cpu")
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        Scaled.backward_saw = product()
        return g @ w.T, x.T @ g


def test_custom_functions_run_backward_as_forward():
    x, w = neura.rand(2, 3, requires_grad=True), neura.rand(3, 2, requires_grad=True)
    with neura.autocast("cpu"):
        y = Scaled.apply(x, w)
    assert y.dtype == neura.bfloat16
    y.sum().backward()
    assert Scaled.backward_saw == neura.bfloat16
    assert w.grad.dtype == neura.float32
    Scaled.apply(x, w).sum().backward()
    assert Scaled.backward_saw == neura.float32


def test_custom_functions_cast_their_inputs():
    class Wide(neura.autograd.Function):
        @staticmethod
        @neura.amp.custom_fwd(device_type="cpu", cast_inputs=neura.float32)
        def forward(ctx, x, rest):
            assert rest["a"][0].dtype == neura.float32 and rest["b"] == 1
            return x @ x

        @staticmethod
        @neura.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            assert not neura.is_autocast_enabled("cpu")
            return g, None

    half = neura.ones(2, 2, dtype=neura.bfloat16, requires_grad=True)
    with neura.autocast("cpu"):
        y = Wide.apply(half, {"a": [half], "b": 1})
    assert y.dtype == neura.float32
    y.sum().backward()
    assert half.grad.dtype == neura.bfloat16


def test_checkpoints_compute_again_in_the_same_modes():
    neura.manual_seed(0)
    layer = neura.nn.Linear(4, 4)
    x = neura.rand(3, 4)

    def part(x):
        assert neura.is_autocast_enabled("cpu")
        return layer(x).tanh()

    grads = []
    for run in (part, lambda x: neura.utils.checkpoint.checkpoint(part, x, use_reentrant=False)):
        layer.zero_grad()
        with neura.autocast("cpu"):
            loss = F.mse_loss(run(x), x)
        loss.backward()
        grads.append(layer.weight.grad.clone())
    assert neura.equal(*grads)


def cnn():
    nn = neura.nn
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 16, 4),
    )


class Gpt(neura.nn.Module):
    """Two causal blocks over 16 tokens."""

    def __init__(self):
        super().__init__()
        nn = neura.nn
        self.token, self.place = nn.Embedding(16, 32), nn.Embedding(8, 32)
        self.blocks = nn.ModuleList([nn.TransformerEncoderLayer(32, 4, 64, 0.0, "gelu", batch_first=True)] * 2)
        self.head = nn.Linear(32, 16)

    def forward(self, tokens):
        x = self.token(tokens) + self.place(neura.arange(tokens.shape[1]))
        mask = neura.nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        for block in self.blocks:
            x = block(x, src_mask=mask, is_causal=True)
        return self.head(x).flatten(0, 1)


def batches(kind):
    neura.manual_seed(7)
    if kind is cnn:
        classes = neura.randint(0, 4, (32,))
        return neura.randn(32, 1, 8, 8) + classes.reshape(-1, 1, 1, 1) * 0.7, classes
    tokens = (neura.arange(9).reshape(1, 9) * neura.randint(1, 4, (16, 1)) + neura.randint(0, 16, (16, 1))) % 16
    return tokens[:, :8], tokens[:, 1:].flatten()


def losses(kind, dtype, steps=30):
    neura.manual_seed(3)
    model = kind()
    optimizer = neura.optim.AdamW(model.parameters(), lr=3e-3)
    x, target = batches(kind)
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        with neura.autocast("cpu", dtype or neura.bfloat16, enabled=dtype is not None):
            loss = F.cross_entropy(model(x), target)
        assert loss.dtype == neura.float32
        loss.backward()
        assert all(p.grad.dtype == neura.float32 for p in model.parameters() if p.grad is not None)
        optimizer.step()
        found.append(loss.item())
    return found


# How far the loss of halves may stray from float32's, as a part of the first loss: three times what was seen.
SPREAD = {(cnn, "bfloat16"): 0.004, (cnn, "float16"): 0.0006, (Gpt, "bfloat16"): 0.001, (Gpt, "float16"): 0.0002}


@pytest.mark.parametrize("kind,dtype", SPREAD, ids=str)
def test_training_stays_near_that_of_float32(kind, dtype):
    exact, got = losses(kind, None), losses(kind, getattr(neura, dtype))
    assert exact[-1] < 0.5 * exact[0]
    assert got != exact
    assert max(abs(a - b) for a, b in zip(exact, got)) < SPREAD[kind, dtype] * exact[0]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_what_is_of_a_device_is_found_by_its_name(device):
    names = importlib.import_module(f"neura.{device}.amp")
    assert names.autocast is getattr(neura, device).amp.autocast
    assert issubclass(names.autocast, neura.amp.autocast) and issubclass(names.GradScaler, neura.amp.GradScaler)
    assert pickle.loads(pickle.dumps(names.GradScaler)) is names.GradScaler
