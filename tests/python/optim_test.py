"""neura.optim: groups and state as live dicts, saving, hooks, optimizers written in Python."""

import copy
import inspect
import pathlib
import pickle

import neura
import pytest

TORCH = neura.load(pathlib.Path(__file__).parent / "data/optim.pt")["optimizers"]
NAMES = list(TORCH)


def gradient(p, n):
    """As tests/python/data/make_torch_files.py has it."""
    return neura.sin(neura.arange(p.numel(), dtype=p.dtype) + 1.7 * n).reshape(p.shape)


def take_steps(optimizer, params, steps):
    for n in steps:
        for p in params:
            p.grad = gradient(p, n)
        optimizer.step()


LISTED = neura._neura._optim.texts


@pytest.mark.parametrize("name", LISTED)
def test_a_class_is_made_of_each_entry_of_the_list(name):
    cls = getattr(neura.optim, name)
    assert (cls.__name__, cls.__qualname__, cls.__module__) == (name, name, "neura.optim.algorithms")
    assert inspect.getdoc(cls) == LISTED[name]
    assert name in neura.optim.__all__ and pickle.loads(pickle.dumps(cls)) is cls
    assert cls.__mro__[1:2] == ((neura.optim.Adam if name == "AdamW" else neura.optim.optimizer.KernelOptimizer),)
    assert inspect.signature(cls).parameters["params"].default is inspect.Parameter.empty
    assert cls.__init__.__qualname__ == f"{name}.__init__"


def test_all_optimizers_of_pytorch_are_there():
    own = {"lr_scheduler", "swa_utils", "Optimizer", "LBFGS", "SparseAdam"}
    assert set(neura.optim.__all__) == {*LISTED, *own} and neura.optim.__all__ == sorted(neura.optim.__all__)
    torchs = "ASGD Adadelta Adafactor Adagrad Adam AdamW Adamax Muon NAdam RAdam RMSprop Rprop SGD"
    assert set(torchs.split()) <= set(LISTED)


def begin(name, **more):
    params = [neura.linspace(-1, 1, 6).reshape(2, 3).requires_grad_(), neura.ones(4).requires_grad_()]
    groups = [{"params": [params[0]]}, {"params": [params[1]], "lr": 0.02}]
    return params, getattr(neura.optim, name)(groups, **{**TORCH[name]["kwargs"], **more})


def close(a, b):
    return neura.allclose(a, b, rtol=1e-5, atol=1e-6)


def same_structure(a, b):
    if isinstance(a, neura.Tensor):
        return isinstance(b, neura.Tensor) and a.shape == b.shape
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same_structure(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same_structure, a, b))
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("name", NAMES)
def test_state_and_text_are_torchs(name):
    params, optimizer = begin(name)
    assert repr(optimizer) == TORCH[name]["repr"]
    take_steps(optimizer, params, range(3))
    ours, theirs = optimizer.state_dict(), TORCH[name]["state"]
    assert sorted(ours["param_groups"][0]) == sorted(theirs["param_groups"][0])
    assert ours["param_groups"] == theirs["param_groups"]
    assert same_structure(ours["state"], theirs["state"])
    for i in theirs["state"]:
        assert ours["state"][i].get("step", neura.tensor(0.0)).dtype is neura.float32
        for key, value in theirs["state"][i].items():
            assert close(ours["state"][i][key].float(), value), (i, key)
    assert all(map(close, params, TORCH[name]["params"]))


@pytest.mark.parametrize("name", NAMES)
def test_goes_on_from_a_state_of_torch(name):
    params, optimizer = begin(name)
    with neura.no_grad():
        for p, saved in zip(params, TORCH[name]["params"]):
            p.copy_(saved)
    optimizer.load_state_dict(TORCH[name]["state"])
    take_steps(optimizer, params, range(3, 6))
    assert all(map(close, params, TORCH[name]["after"]))


@pytest.mark.parametrize("name", NAMES)
def test_resumes_bit_for_bit(name, tmp_path):
    params, optimizer = begin(name)
    take_steps(optimizer, params, range(3))
    neura.save({"params": params, "optimizer": optimizer.state_dict()}, tmp_path / "run.safetensors")
    take_steps(optimizer, params, range(3, 6))

    saved = neura.load(tmp_path / "run.safetensors")
    again, fresh = begin(name)
    fresh.param_groups[0]["params"][:] = again[:1] = [saved["params"][0]]
    fresh.param_groups[1]["params"][:] = again[1:] = [saved["params"][1]]
    fresh.load_state_dict(saved["optimizer"])
    take_steps(fresh, again, range(3, 6))
    assert all(map(neura.equal, params, again))


@pytest.mark.parametrize("name", NAMES)
def test_signatures_have_the_defaults_of_the_table(name):
    cls = getattr(neura.optim, name)
    parameters = inspect.signature(cls).parameters
    for option, default in getattr(neura._neura._optim, "defaults_" + name)().items():
        if option in parameters:
            assert parameters[option].default == default, option
        else:
            assert (name, option) in [("AdamW", "decoupled_weight_decay"), ("RMSprop", "eps_inside_sqrt")]


def test_groups_are_live():
    w, b = neura.ones(2, requires_grad=True), neura.ones(1, requires_grad=True)
    optimizer = neura.optim.SGD([w], lr=0.5)
    given = {"params": b, "lr": 0.25, "mine": "kept"}
    optimizer.add_param_group(given)
    assert optimizer.param_groups[1] is given and given["momentum"] == 0
    w.grad, b.grad = neura.ones(2), neura.ones(1)
    optimizer.step()
    assert w.tolist() == [0.5, 0.5] and b.tolist() == [0.75]
    optimizer.param_groups[0]["lr"] = 0
    optimizer.param_groups[1]["maximize"] = True
    optimizer.step()
    assert w.tolist() == [0.5, 0.5] and b.tolist() == [1.0]
    assert optimizer.state_dict()["param_groups"][1]["mine"] == "kept"
    optimizer.load_state_dict(optimizer.state_dict())
    assert optimizer.param_groups[1]["mine"] == "kept" and optimizer.param_groups[1]["params"] == [b]
    assert not optimizer.state  # gradient descent without momentum has none
    optimizer.param_groups[0]["params"].clear()
    optimizer.step()
    assert b.tolist() == [1.25]


def test_options_may_be_tensors():
    w = neura.ones(2, requires_grad=True)
    optimizer = neura.optim.Adam([w], lr=neura.tensor(0.5), betas=(neura.tensor(0.9), 0.99))
    w.grad = neura.ones(2)
    optimizer.step()
    assert close(w, neura.full((2,), 0.5))


def test_state_is_live():
    w = neura.ones(2, requires_grad=True)
    optimizer = neura.optim.Adam([w], lr=0.1)
    w.grad = neura.ones(2)
    optimizer.step()
    state = optimizer.state[w]
    assert list(state) == ["step", "exp_avg", "exp_avg_sq"] and state["step"].item() == 1
    average = state["exp_avg"]
    optimizer.step()
    assert optimizer.state[w] is state and state["exp_avg"] is average and state["step"].item() == 2
    state["exp_avg"] = neura.zeros(2)
    state["step"] = 7  # a number, as old files have it
    optimizer.step()
    assert state["step"].item() == 8 and close(state["exp_avg"], neura.full((2,), 0.1))
    state["exp_avg"] = "text"
    with pytest.raises(TypeError, match='expected a tensor for "exp_avg", got str'):
        optimizer.step()


def test_loading_shares_what_fits_as_pytorch_does():
    params, optimizer = begin("Adam")
    take_steps(optimizer, params, range(1))
    saved, kept = optimizer.state_dict(), copy.deepcopy(optimizer.state_dict())
    others, other = begin("Adam")
    other.load_state_dict(saved)
    assert other.state[others[0]]["exp_avg"] is saved["state"][0]["exp_avg"]
    assert other.param_groups[0] is not saved["param_groups"][0]
    take_steps(other, others, range(2))
    assert saved["state"][0]["step"].item() == 3
    assert not neura.equal(optimizer.state[params[0]]["exp_avg"], kept["state"][0]["exp_avg"])
    double = [p.detach().double().requires_grad_() for p in params]
    wide = neura.optim.Adam([{"params": p} for p in double])
    wide.load_state_dict(saved)
    assert wide.state[double[0]]["exp_avg"].dtype is neura.float64
    assert wide.state[double[0]]["step"].dtype is neura.float32


def test_what_does_not_fit_changes_nothing():
    params, optimizer = begin("SGD")
    saved = optimizer.state_dict()
    saved["param_groups"][0]["lr"] = 9
    saved["param_groups"][1]["params"] = []
    with pytest.raises(ValueError, match="expected 1 parameters in group 1, got 0"):
        optimizer.load_state_dict(saved)
    with pytest.raises(ValueError, match="expected 2 parameter groups, got 1"):
        optimizer.load_state_dict({"state": {}, "param_groups": saved["param_groups"][:1]})
    assert optimizer.param_groups[0]["lr"] == 0.1


def test_mistakes_are_named():
    w = neura.ones(2, requires_grad=True)
    for make, kind, text in [
        (lambda: neura.optim.SGD(w), TypeError, "expected an iterable of tensors or dicts, got one Tensor"),
        (lambda: neura.optim.SGD([]), ValueError, "expected parameters, got an empty list"),
        (lambda: neura.optim.SGD([1]), TypeError, "expected tensors as parameters, got int"),
        (lambda: neura.optim.SGD([{"params": {w}}]), TypeError, "got a set"),
        (lambda: neura.optim.SGD([w * 2]), ValueError, "expected leaf tensors"),
        (lambda: neura.optim.SGD([w], lr=-1), ValueError, "SGD: expected lr >= 0, got -1"),
        (lambda: neura.optim.Adam([w], betas=(1.0, 0.9)), ValueError, r"Adam: expected betas in \[0, 1\)"),
        (lambda: neura.optim.Adam([w], betas=0.9), TypeError, 'expected two numbers for "betas", got float'),
        (lambda: neura.optim.SGD([w], nesterov=True), ValueError, "expected a momentum"),
        (lambda: neura.optim.SGD([{"params": [w]}, {"params": [w]}]), ValueError, "in a group already"),
        (lambda: neura.optim.SGD([w], foreach=True, fused=True), RuntimeError, "foreach or fused"),
        (lambda: neura.optim.SGD([w], differentiable=True), NotImplementedError, "differentiable=False"),
    ]:
        with pytest.raises(kind, match=text):
            make()
    optimizer = neura.optim.SGD([w])
    optimizer.param_groups[0]["lr"] = "fast"
    with pytest.raises(TypeError, match='param group: expected a number for "lr", got str'):
        optimizer.step()
    optimizer.param_groups[0]["params"] = None
    with pytest.raises(TypeError, match="expected a list of parameters"):
        optimizer.zero_grad()
    with pytest.warns(UserWarning, match="twice"):
        neura.optim.SGD([w, w])


def test_names_are_kept():
    w, b = neura.ones(2, requires_grad=True), neura.ones(1, requires_grad=True)
    optimizer = neura.optim.SGD([("w", w), ("b", b)])
    assert optimizer.param_groups[0]["params"] == [w, b] and optimizer.param_groups[0]["param_names"] == ["w", "b"]
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["w", "b"]
    with pytest.raises(ValueError, match="of all groups or of none"):
        optimizer.add_param_group({"params": neura.ones(1, requires_grad=True)})


def test_zero_grad():
    w, b = neura.ones(2, requires_grad=True), neura.ones(1, requires_grad=True)
    optimizer = neura.optim.SGD([{"params": w}, {"params": b}])
    (w.sum() + b.sum()).backward()
    kept = w.grad
    optimizer.zero_grad(set_to_none=False)
    assert w.grad is kept and kept.tolist() == [0, 0] and b.grad.tolist() == [0]
    optimizer.zero_grad()
    assert w.grad is None and b.grad is None
    optimizer.step()  # nothing to do
    assert w.tolist() == [1, 1]


def test_parameters_without_gradient_are_skipped():
    for name in NAMES:
        w, b = neura.ones(2, requires_grad=True), neura.ones(1, requires_grad=True)
        optimizer = getattr(neura.optim, name)([w, b], lr=0.1)
        w.grad = neura.ones(2)
        optimizer.step()
        assert w.tolist() != [1, 1] and b.tolist() == [1] and b.grad is None, name
        assert name == "Adagrad" or b not in optimizer.state


def test_closure_is_called_with_recording_on():
    w = neura.ones(2, requires_grad=True)
    optimizer = neura.optim.SGD([w], lr=0.25)

    def closure():
        optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    with neura.no_grad():
        assert optimizer.step(closure).item() == 2
    assert w.tolist() == [0.5, 0.5] and w.is_leaf and w.grad_fn is None


def test_hooks_are_called_in_order():
    w = neura.ones(2, requires_grad=True)
    optimizer = neura.optim.SGD([w])
    seen = []
    handles = [
        optimizer.register_step_pre_hook(lambda o, a, k: seen.append("pre")),
        optimizer.register_step_post_hook(lambda o, a, k: seen.append("post")),
        optimizer.register_state_dict_pre_hook(lambda o: seen.append("save")),
        optimizer.register_state_dict_post_hook(lambda o, d: {**d, "more": 1}),
        optimizer.register_load_state_dict_pre_hook(lambda o, d: seen.append("load")),
        optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded")),
        optimizer.register_load_state_dict_pre_hook(lambda o, d: seen.append("first"), prepend=True),
        neura.optim.optimizer.register_optimizer_step_pre_hook(lambda o, a, k: seen.append("all")),
    ]
    optimizer.step()
    saved = optimizer.state_dict()
    assert saved.pop("more") == 1
    optimizer.load_state_dict(saved)
    assert seen == ["all", "pre", "post", "save", "first", "load", "loaded"]
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert len(seen) == 7
    with optimizer.register_step_pre_hook(lambda o, a, k: ((lambda: neura.tensor(3.0),), k)):
        assert optimizer.step().item() == 3
    with optimizer.register_step_pre_hook(lambda o, a, k: 5), pytest.raises(RuntimeError, match="args, kwargs"):
        optimizer.step()


class Momentum(neura.optim.Optimizer):
    """As a user would write it for PyTorch."""

    def __init__(self, params, lr=neura.optim.optimizer.required, beta=0.9):
        super().__init__(params, dict(lr=lr, beta=beta))

    @neura.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["buffer"] = neura.zeros_like(p)
                state["buffer"].mul_(group["beta"]).add_(p.grad)
                p.data.add_(state["buffer"], alpha=-group["lr"])


def test_an_optimizer_written_in_python():
    def run(make):
        w = neura.tensor([1.0, -2.0], requires_grad=True)
        optimizer = make([w])
        for _ in range(20):
            optimizer.zero_grad()
            (w * w).sum().backward()
            optimizer.step()
        return w, optimizer

    ours, optimizer = run(lambda params: Momentum(params, lr=0.1))
    theirs, _ = run(lambda params: neura.optim.SGD(params, lr=0.1, momentum=0.9))
    assert close(ours, theirs)
    calls = []
    with optimizer.register_step_post_hook(lambda *_: calls.append(1)):
        optimizer.step()
    assert calls == [1]
    scheduler = neura.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] == 0.05
    with pytest.raises(ValueError, match='expected "lr" in every group'):
        Momentum([ours])


def test_complex_parameters_are_pairs():
    """PyTorch steps over the real and the imaginary part as if they were two parameters."""
    for name in NAMES:
        z = neura.tensor([1 + 2j, -1 + 0.5j], requires_grad=True)
        pair = neura.tensor([[1.0, 2.0], [-1.0, 0.5]], requires_grad=True)
        kwargs = TORCH[name]["kwargs"]
        a, b = (getattr(neura.optim, name)([p], **kwargs) for p in (z, pair))
        for n in range(3):
            pair.grad = gradient(pair, n)
            z.grad = neura.tensor([complex(*row) for row in pair.grad.tolist()])
            a.step()
            b.step()
        assert close(z.detach().real, pair.detach()[:, 0]), name
        assert close(z.detach().imag, pair.detach()[:, 1]), name


def test_strided_parameters_and_gradients():
    for name in NAMES:
        plain = neura.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()
        turned = neura.linspace(-1, 1, 12).reshape(3, 4).t().contiguous().t().requires_grad_()
        assert not turned.is_contiguous()
        kwargs = TORCH[name]["kwargs"]
        a, b = (getattr(neura.optim, name)([p], **kwargs) for p in (plain, turned))
        for n in range(3):
            plain.grad = gradient(plain, n)
            turned.grad = gradient(plain, n)
            a.step()
            b.step()
        assert neura.equal(plain, turned), name
