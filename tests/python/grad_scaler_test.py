"""GradScaler: what it skips and how its scale moves are PyTorch's, which is stored here."""

import copy
import math
import pickle

import pytest

import neura


def parts(**options):
    w, v = neura.nn.Parameter(neura.ones(3)), neura.nn.Parameter(neura.ones(2))
    options = {"init_scale": 64.0, "backoff_factor": 0.25, "growth_interval": 3} | options
    return w, v, neura.optim.SGD([w], lr=0.125), neura.optim.SGD([v], lr=0.125), neura.amp.GradScaler("cpu", **options)


# (torch 2.11) After each of 16 steps: w[0], v[0], the scale and the steps counted towards its growth. See `run`.
SEQUENCE = [
    [0.75, 0.75, 64.0, 1],
    [0.7139156460762024, 0.5625, 64.0, 2],
    [0.535436749458313, 0.421875, 128.0, 0],
    [0.499352365732193, 0.31640625, 128.0, 1],
    [0.499352365732193, 0.2373046875, 32.0, 0],
    [0.463267982006073, 0.177978515625, 32.0, 1],
    [0.34745097160339355, 0.13348388671875, 32.0, 2],
    [0.31136661767959595, 0.1001129150390625, 64.0, 0],
    [0.23352496325969696, 0.07508468627929688, 64.0, 1],
    [0.19744062423706055, 0.07508468627929688, 16.0, 0],
    [0.19744062423706055, 0.056313514709472656, 4.0, 0],
    [0.19744062423706055, 0.056313514709472656, 1.0, 0],
    [0.1480804681777954, 0.04223513603210449, 1.0, 1],
    [0.11199614405632019, 0.03167635202407837, 2.0, 0],
    [0.08399710804224014, 0.023757264018058777, 2.0, 1],
    [0.06299783289432526, 0.017817948013544083, 4.0, 0],
]
NOT_FINITE = {4: "w", 9: "v", 10: "w", 11: "wv"}  # in which step the gradients of which


def test_skips_and_scales_as_pytorch():
    w, v, a, b, scaler = parts()
    for i, want in enumerate(SEQUENCE):
        a.zero_grad(), b.zero_grad()
        bad = NOT_FINITE.get(i, "")
        scaler.scale((w * w).sum() * (math.inf if "w" in bad else 1.0)).backward()
        scaler.scale((v * v).sum() * (math.nan if "v" in bad else 1.0)).backward()
        if i % 2:
            scaler.unscale_(a)
            neura.nn.utils.clip_grad_norm_([w], 0.5)
        scaler.step(a), scaler.step(b), scaler.update()
        got = [w[0].item(), v[0].item(), scaler.get_scale(), scaler.state_dict()["_growth_tracker"]]
        assert got == pytest.approx(want, rel=1e-6), i
        if i == 12:
            scaler.set_growth_interval(2)


def test_calls_out_of_order():
    w, v, a, b, scaler = parts()
    with pytest.raises(neura.errors.ValueError, match="unscale_: expected a loss that scale.. has scaled"):
        scaler.step(a)
    with pytest.raises(RuntimeError, match="update: expected a loss"):
        scaler.update()
    scaler = parts()[-1]
    scaler.scale(w.sum()).backward()
    with pytest.raises(neura.errors.ValueError, match="update: expected a step since the last"):
        scaler.update()
    with pytest.raises(neura.errors.ValueError, match="step: expected parameters with gradients"):
        scaler.step(b)
    scaler.unscale_(a)
    with pytest.raises(RuntimeError, match="unscale_: expected one call"):
        scaler.unscale_(a)
    with pytest.raises(RuntimeError, match="expected no closure"):
        scaler.step(a, closure=lambda: None)
    scaler.step(a)
    with pytest.raises(RuntimeError, match="unscale_: expected a call before step"):
        scaler.unscale_(a)
    with pytest.raises(RuntimeError, match="step: expected one call"):
        scaler.step(a)
    for factors in ({"growth_factor": 1.0}, {"backoff_factor": 1.0}):
        with pytest.raises(neura.errors.ValueError, match="GradScaler: expected growth_factor above 1"):
            parts(**factors)
    half = neura.ones(2, dtype=neura.float16, requires_grad=True)
    optimizer, scaler = neura.optim.SGD([half]), neura.amp.GradScaler("cpu")
    scaler.scale(half.float().sum() * 0.5).backward()
    with pytest.raises(neura.errors.ValueError, match="got float16; keep parameters in float32"):
        scaler.unscale_(optimizer)


def test_takes_iterables_and_returns_what_the_optimizer_does():
    w, v, a, b, scaler = parts()
    one, (two, three) = scaler.scale([w.sum(), (v.sum(), w.sum())])
    assert [one.item(), two.item(), three.item()] == [192, 128, 192]
    assert [x.item() for x in scaler.scale(x for x in [w.sum()])] == [192]
    with pytest.raises(ValueError, match="an iterable of tensors, got int"):
        scaler.scale(3)
    (one + two).backward()
    a.step = lambda: "stepped"
    assert scaler.step(a) == "stepped"
    scaler.update(8.0)
    assert scaler.get_scale() == 8
    scaler.update(neura.tensor(16.0))
    assert scaler.get_scale() == 16


def test_state_is_saved():
    w, v, a, b, scaler = parts()
    for _ in range(4):
        scaler.scale(w.sum()).backward()
        scaler.step(a), scaler.update()
    state = scaler.state_dict()
    assert state == {
        "scale": 128.0,
        "growth_factor": 2.0,
        "backoff_factor": 0.25,
        "growth_interval": 3,
        "_growth_tracker": 1,
    }
    other = parts()[-1]
    other.load_state_dict(copy.deepcopy(state))
    assert other.state_dict() == state
    for again in (other, pickle.loads(pickle.dumps(scaler))):
        for _ in range(2):
            again.scale(w.sum()).backward()
            again.step(a), again.update()
        assert again.get_scale() == 256
    with pytest.raises(RuntimeError, match="got an empty one"):
        scaler.load_state_dict({})


def test_off_it_changes_nothing():
    w, v, a, b, scaler = parts(enabled=False)
    loss = w.sum()
    assert scaler.scale(loss) is loss and scaler.get_scale() == 1 and scaler.state_dict() == {}
    loss.backward()
    scaler.unscale_(a), scaler.step(a), scaler.update(), scaler.load_state_dict({})
    assert w.tolist() == [0.875] * 3
    if not neura.cuda.is_available():
        with pytest.warns(UserWarning, match="expected a CUDA device"):
            assert not neura.cuda.amp.GradScaler().is_enabled()
        with pytest.warns(UserWarning, match="expected a CUDA device"):
            neura.cuda.amp.autocast()


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_finds_what_is_not_finite_in_many_tensors(dtype):
    neura.manual_seed(0)
    params = [neura.randn(n).to(getattr(neura, dtype)).requires_grad_() for n in (1, 7, 5000, 70000)]
    optimizer = neura.optim.SGD(params, lr=0.5)
    for where in (None, (0, 0), (2, 4999), (3, 69999)):
        scaler = neura.amp.GradScaler("cpu", init_scale=4.0)
        scaler.scale(params[0].sum())
        for p in params:
            p.grad = neura.randn(p.shape).to(p.dtype) * 4
        want = [p.detach() - 0.5 * (p.grad / 4) for p in params]
        if where:
            params[where[0]].grad[where[1]] = math.inf
            want = [p.detach().clone() for p in params]
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == (2 if where else 4)
        neura.testing.assert_close([p.detach() for p in params], want)


def test_training_in_float16_follows_float32():
    def losses(dtype, clip):
        neura.manual_seed(5)
        nn = neura.nn
        model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
        optimizer = neura.optim.Adam(model.parameters(), lr=1e-2)
        scaler = neura.amp.GradScaler("cpu", init_scale=2.0**24, growth_interval=10, enabled=dtype is not None)
        x = neura.randn(64, 8)
        y, found = x.sin().sum(1, keepdim=True) * 1e-3, []
        for _ in range(40):
            optimizer.zero_grad()
            with neura.autocast("cpu", dtype or neura.float16, enabled=dtype is not None):
                loss = nn.functional.mse_loss(model(x), y)
            scaler.scale(loss).backward()
            if clip:
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            scaler.step(optimizer)
            scaler.update()
            found.append(loss.item())
        return found, scaler.get_scale()

    for clip in (False, True):
        (exact, _), (got, scale) = losses(None, clip), losses(neura.float16, clip)
        assert scale != 2.0**24  # it fell, for the first gradients overflow
        skipped = sum(a == b for a, b in zip(got, got[1:]))
        assert 0 < skipped < 12
        assert got[-1] < 0.1 * got[0] and exact[-1] < 0.1 * exact[0]
