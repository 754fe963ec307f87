"""Every optimizer with every option, 20 steps, and every scheduler, 30 epochs, against PyTorch's numbers."""

import pathlib

import neura
import pytest

TORCH = neura.load(pathlib.Path(__file__).parent / "data/sequences.pt")
STEPS, RATES = TORCH["steps"], TORCH["rates"]
START = [1.0, -2.0, 0.5]


def case_name(case):
    return f"{case[0]}-{'-'.join(f'{k}={v}' for k, v in case[1].items())}"


def gradient(n):
    """As tests/python/data/make_torch_files.py has it."""
    return neura.sin(neura.arange(3, dtype=neura.float64) + 1.7 * n) * 0.9**n


def sequence(name, kwargs, dtype=neura.float64):
    p = neura.tensor(START, dtype=dtype, requires_grad=True)
    optimizer = getattr(neura.optim, name)([p], lr=0.1, **kwargs)
    at = p.data_ptr()
    out = []
    for n in range(20):
        p.grad = gradient(n).to(dtype)
        optimizer.step()
        out.append(p.detach().clone())
    assert p.data_ptr() == at and p.is_leaf and p.grad_fn is None
    return neura.stack(out)


@pytest.mark.parametrize("i", range(len(STEPS["cases"])), ids=map(case_name, STEPS["cases"]))
def test_twenty_steps_are_torchs(i):
    """In double precision; hyperparameters of single precision would be off by 1e-8."""
    name, kwargs = STEPS["cases"][i]
    assert neura.allclose(sequence(name, kwargs), STEPS["values"][i], rtol=1e-12, atol=1e-14)
    single = sequence(name, kwargs, neura.float32).double()
    assert neura.allclose(single, STEPS["values"][i], rtol=1e-4, atol=1e-5)


def test_options_matter():
    """No two cases give the same numbers, so that none of the options above goes unseen."""
    values = [(case[0], tuple(v.flatten().tolist())) for case, v in zip(STEPS["cases"], STEPS["values"])]
    doubles = [case for case, v in zip(STEPS["cases"], values) if values.count(v) > 1]
    assert doubles == [("ASGD", {}), ("ASGD", {"t0": 3.0})]  # t0 is for the average alone
    assert len(values) > 90


def test_rmsprop_has_eps_inside_the_root_if_wanted():
    for momentum in (0, 0.9):
        p = neura.tensor(START, dtype=neura.float64, requires_grad=True)
        kwargs = dict(alpha=0.9, eps=0.01, momentum=momentum)
        optimizer = neura.optim.RMSprop([{"params": [p], "eps_inside_sqrt": True}], lr=0.1, **kwargs)
        x, square, buffer = p.detach().clone(), 0, 0
        for n in range(20):
            p.grad = g = gradient(n)
            optimizer.step()
            square = 0.9 * square + 0.1 * g * g
            buffer = momentum * buffer + g / (square + 0.01).sqrt()
            x = x - 0.1 * buffer
            assert neura.allclose(p.detach(), x, rtol=1e-12)


@pytest.mark.parametrize("name", sorted({case[0] for case in STEPS["cases"]}))
def test_groups_have_options_of_their_own(name):
    """Two groups give what two optimizers give."""

    def leaf():
        return neura.tensor(START, dtype=neura.float64, requires_grad=True)

    cases = [kwargs for n, kwargs in STEPS["cases"] if n == name]
    first, second = {**cases[0], "lr": 0.1}, {**cases[-1], "lr": 0.01}
    both, apart = [leaf(), leaf()], [leaf(), leaf()]
    cls = getattr(neura.optim, name)
    optimizer = cls([{"params": both[:1], **first}])
    optimizer.add_param_group({"params": both[1:], **second})
    others = [cls(apart[:1], **first), cls(apart[1:], **second)]
    for n in range(5):
        for p in both + apart:
            p.grad = gradient(n)
        for o in [optimizer, *others]:
            o.step()
    assert neura.equal(both[0], apart[0]) and neura.equal(both[1], apart[1])
    assert not neura.equal(both[0], both[1])


@pytest.mark.parametrize("i", range(len(RATES["cases"])), ids=map(case_name, RATES["cases"]))
def test_thirty_rates_are_torchs_and_the_updates_follow(i):
    name, kwargs = RATES["cases"][i]
    params = [neura.zeros(1, dtype=neura.float64, requires_grad=True) for _ in range(2)]
    groups = [{"params": [p], "lr": lr} for p, lr in zip(params, (0.1, 0.01))]
    if name in ("CyclicLR", "OneCycleLR"):
        kwargs = {**kwargs, "cycle_momentum": False}  # momentum has no part in the rate
    optimizer = neura.optim.SGD(groups)
    scheduler = getattr(neura.optim.lr_scheduler, name)(optimizer, **kwargs)
    for p in params:
        p.grad = -neura.ones(1, dtype=neura.float64)
    for row, metric in zip(RATES["values"][i].tolist(), [*RATES["metrics"], None]):
        assert [g["lr"] for g in optimizer.param_groups] == pytest.approx(row, rel=1e-9, abs=1e-15)
        assert scheduler.get_last_lr() == [g["lr"] for g in optimizer.param_groups]
        before = [p.item() for p in params]
        optimizer.step()
        assert [p.item() - b for p, b in zip(params, before)] == pytest.approx(row, rel=1e-9, abs=1e-14)
        if metric is not None:
            scheduler.step(*([metric] if name == "ReduceLROnPlateau" else []))
