"""neura.optim.lr_scheduler: PyTorch's rates and states, functions, schedulers written in Python."""

import pathlib
import warnings

import neura
import pytest

TORCH = neura.load(pathlib.Path(__file__).parent / "data/optim.pt")["schedulers"]
lr_scheduler = neura.optim.lr_scheduler


def optimizer_of(*rates, **kwargs):
    groups = [{"params": [neura.zeros(1, requires_grad=True)], "lr": lr} for lr in rates or (0.1, 0.02)]
    return neura.optim.SGD(groups, **{"momentum": 0.9, **kwargs})


def rates_of(scheduler, epochs):
    out = []
    for _ in range(epochs):
        scheduler.optimizer.step()
        scheduler.step()
        groups = scheduler.optimizer.param_groups
        assert scheduler.get_last_lr() == [g["lr"] for g in groups]
        out.append([value for g in groups for value in (g["lr"], g["momentum"])])
    return out


def expected(name, start=0):
    return [pytest.approx([x for pair in row for x in pair], rel=1e-9) for row in TORCH[name]["rates"][start:]]


@pytest.mark.parametrize("name", TORCH)
def test_rates_are_torchs(name):
    scheduler = getattr(lr_scheduler, name)(optimizer_of(), **TORCH[name]["kwargs"])
    assert rates_of(scheduler, 8) == expected(name)


@pytest.mark.parametrize("name", TORCH)
def test_goes_on_from_a_state_of_torch(name):
    optimizer = optimizer_of()
    scheduler = getattr(lr_scheduler, name)(optimizer, **TORCH[name]["kwargs"])
    optimizer.load_state_dict(TORCH[name]["optimizer"])
    scheduler.load_state_dict(TORCH[name]["state"])
    assert rates_of(scheduler, 4) == expected(name, 4)


@pytest.mark.parametrize("name", TORCH)
def test_resumes_from_a_file(name, tmp_path):
    kwargs = TORCH[name]["kwargs"]
    scheduler = getattr(lr_scheduler, name)(optimizer_of(), **kwargs)
    rates_of(scheduler, 3)
    neura.save([scheduler.state_dict(), scheduler.optimizer.state_dict()], tmp_path / "x")
    unbroken = rates_of(scheduler, 4)
    state, optimizer_state = neura.load(tmp_path / "x")
    fresh = getattr(lr_scheduler, name)(optimizer_of(), **kwargs)
    fresh.load_state_dict(state)
    fresh.optimizer.load_state_dict(optimizer_state)
    assert rates_of(fresh, 4) == unbroken


@pytest.mark.parametrize("name", ["StepLR", "MultiStepLR", "ConstantLR", "CyclicLR", "OneCycleLR"])
def test_resumes_at_last_epoch(name):
    """The optimizer's groups have everything; the scheduler is made anew, and its first step is the next."""
    kwargs = TORCH[name]["kwargs"]
    scheduler = getattr(lr_scheduler, name)(optimizer_of(), **kwargs)
    rates_of(scheduler, 3)
    fresh = getattr(lr_scheduler, name)(scheduler.optimizer, **kwargs, last_epoch=3)
    assert [v for g in fresh.optimizer.param_groups for v in (g["lr"], g["momentum"])] == expected(name, 3)[0]
    assert rates_of(fresh, 4) == expected(name, 4)


def test_groups_keep_their_ratio():
    for name in ("StepLR", "ExponentialLR", "PolynomialLR", "CosineAnnealingWarmRestarts"):
        scheduler = getattr(lr_scheduler, name)(optimizer_of(0.1, 0.01), **TORCH[name]["kwargs"])
        for row in rates_of(scheduler, 6):
            assert row[0] == pytest.approx(10 * row[2])


def test_jumps_to_an_epoch():
    for name in ("StepLR", "MultiStepLR", "ConstantLR", "LinearLR", "PolynomialLR", "CosineAnnealingWarmRestarts"):
        scheduler = getattr(lr_scheduler, name)(optimizer_of(), **TORCH[name]["kwargs"])
        scheduler.optimizer.step()
        scheduler.step(5)
        rates = [lr for lr, _ in TORCH[name]["rates"][4]]
        assert scheduler.get_last_lr() == pytest.approx(rates), name


def test_functions_of_the_epoch():
    class Half:
        def __init__(self):
            self.times = 2

        def __call__(self, epoch):
            return 1 / self.times**epoch

    half = Half()
    scheduler = lr_scheduler.LambdaLR(optimizer_of(1.0, 2.0), [half, lambda epoch: epoch + 1])
    assert [row[::2] for row in rates_of(scheduler, 2)] == [[0.5, 4.0], [0.25, 6.0]]
    state = scheduler.state_dict()
    assert state["lr_lambdas"] == [{"times": 2}, None] and "optimizer" not in state
    half.times = 5
    scheduler.load_state_dict(state)
    assert half.times == 2 and state["lr_lambdas"] == [{"times": 2}, None]
    scheduler = lr_scheduler.MultiplicativeLR(optimizer_of(1.0, 2.0), lambda epoch: 0.5)
    assert [row[::2] for row in rates_of(scheduler, 2)] == [[0.5, 1.0], [0.25, 0.5]]
    scheduler = lr_scheduler.CyclicLR(
        optimizer_of(), 0.0, 1.0, 2, scale_fn=lambda cycle: 1 / cycle, cycle_momentum=False
    )
    assert [row[0] for row in rates_of(scheduler, 7)] == pytest.approx([0.5, 1, 0.5, 0, 0.25, 0.5, 0.25])


def test_one_after_the_other():
    optimizer = optimizer_of(1.0)
    warm = lr_scheduler.ConstantLR(optimizer, factor=0.1, total_iters=2)
    scheduler = lr_scheduler.SequentialLR(optimizer, [warm, lr_scheduler.ExponentialLR(optimizer, 0.9)], [2])
    first = optimizer.param_groups[0]["lr"]
    rates = [first] + [row[0] for row in rates_of(scheduler, 4)]
    assert rates == pytest.approx([0.1, 0.1, 1.0, 0.9, 0.81])

    fresh = optimizer_of(1.0)
    warm = lr_scheduler.ConstantLR(fresh, factor=0.1, total_iters=2)
    other = lr_scheduler.SequentialLR(fresh, [warm, lr_scheduler.ExponentialLR(fresh, 0.9)], [2])
    other.load_state_dict(scheduler.state_dict())
    fresh.load_state_dict(optimizer.state_dict())
    assert rates_of(other, 2) == rates_of(scheduler, 2)


def test_all_at_once():
    optimizer = optimizer_of(1.0)
    parts = [lr_scheduler.ConstantLR(optimizer, 0.5, 2), lr_scheduler.ExponentialLR(optimizer, 0.9)]
    scheduler = lr_scheduler.ChainedScheduler(parts)
    assert [row[0] for row in rates_of(scheduler, 3)] == pytest.approx([0.45, 0.81, 0.729])
    state = scheduler.state_dict()
    rest = rates_of(scheduler, 2)
    other_optimizer = optimizer_of(1.0)
    parts = [lr_scheduler.ConstantLR(other_optimizer, 0.5, 2), lr_scheduler.ExponentialLR(other_optimizer, 0.9)]
    other = lr_scheduler.ChainedScheduler(parts)
    other.load_state_dict(state)
    other_optimizer.param_groups[0]["lr"] = state["_last_lr"][0]
    assert rates_of(other, 2) == rest


def test_plateau():
    optimizer = optimizer_of(1.0, 0.1)
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, cooldown=1, min_lr=[0.2, 0.01])
    rates = []
    for loss in [3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]:
        scheduler.step(neura.tensor(float(loss)))
        rates.append(optimizer.param_groups[0]["lr"])
    assert rates == [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2]
    assert scheduler.get_last_lr() == [0.2, 0.0125] and scheduler.best == 2 and scheduler.last_epoch == 11
    state = scheduler.state_dict()
    other = lr_scheduler.ReduceLROnPlateau(optimizer_of(1.0, 0.1))
    other.load_state_dict(state)
    assert other.state_dict() == state
    with pytest.raises(TypeError):
        scheduler.step()


class Halve(lr_scheduler._LRScheduler):
    def get_lr(self):
        return [lr / 2**self.last_epoch for lr in self.base_lrs]


class Slower(lr_scheduler.StepLR):
    def get_lr(self):
        return [lr * 0.5 for lr in super().get_lr()]


def test_a_scheduler_written_in_python():
    scheduler = Halve(optimizer_of(1.0))
    assert [row[0] for row in rates_of(scheduler, 3)] == [0.5, 0.25, 0.125]
    scheduler.base_lrs = [8.0]
    assert rates_of(scheduler, 1)[0][0] == 0.5
    slower = Slower(optimizer_of(1.0), step_size=2)
    slower.gamma = 0.5
    assert [row[0] for row in rates_of(slower, 2)] == [0.25, 0.0625]
    with pytest.raises(NotImplementedError, match="expected a method get_lr"):
        lr_scheduler.LRScheduler(optimizer_of())


def test_rates_that_are_tensors_are_written_in_place():
    lr = neura.tensor(0.1)
    optimizer = optimizer_of(lr)
    scheduler = lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] is lr and lr.item() == pytest.approx(0.05)
    assert scheduler.base_lrs[0].item() == pytest.approx(0.1)


def test_the_updates_of_a_real_optimizer_follow():
    w = neura.zeros(1, requires_grad=True)
    optimizer = neura.optim.SGD([w], lr=1.0)
    scheduler = lr_scheduler.StepLR(optimizer, 1, 0.1)
    w.grad = -neura.ones(1)
    moves = []
    for _ in range(3):
        before = w.item()
        optimizer.step()
        scheduler.step()
        moves.append(w.item() - before)
    assert moves == pytest.approx([1, 0.1, 0.01], rel=1e-5)


def test_order_of_steps_is_watched():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scheduler = lr_scheduler.ExponentialLR(optimizer_of(), 0.9)
        scheduler.optimizer.step()
        scheduler.step()
        scheduler.step()
    scheduler = lr_scheduler.ExponentialLR(optimizer_of(), 0.9)
    with pytest.warns(UserWarning, match="before optimizer.step"):
        scheduler.step()


def test_mistakes_are_named():
    plain = neura.optim.Adagrad([neura.zeros(1, requires_grad=True)])
    o = optimizer_of()
    for make, kind, text in [
        (lambda: lr_scheduler.StepLR(5, 1), TypeError, "StepLR: expected an Optimizer, got int"),
        (lambda: lr_scheduler.StepLR(o, 0), ValueError, "positive step_size, got 0"),
        (lambda: lr_scheduler.ConstantLR(o, 2), ValueError, r"factor in \[0, 1\], got 2"),
        (lambda: lr_scheduler.LinearLR(o, 0), ValueError, r"start_factor in \(0, 1\], got 0"),
        (lambda: lr_scheduler.CosineAnnealingLR(o, 0), ValueError, "positive T_max"),
        (lambda: lr_scheduler.CosineAnnealingWarmRestarts(o, 0), ValueError, "positive integer T_0, got 0"),
        (lambda: lr_scheduler.CyclicLR(o, 0.1, 1, mode="square"), ValueError, "got square"),
        (lambda: lr_scheduler.CyclicLR(plain, 0.1, 1), ValueError, "momentum or betas, got Adagrad"),
        (lambda: lr_scheduler.OneCycleLR(o, 1), ValueError, "expected total_steps, or"),
        (lambda: lr_scheduler.OneCycleLR(o, [1], 5), ValueError, "expected one value or 2"),
        (lambda: lr_scheduler.ReduceLROnPlateau(o, factor=1), ValueError, "factor below 1"),
        (lambda: lr_scheduler.LambdaLR(o, [abs]), ValueError, "expected one value or 2, one per group, got 1"),
        (lambda: lr_scheduler.LambdaLR(o, 3), TypeError, "expected functions, got int"),
        (lambda: lr_scheduler.StepLR(o, 1, last_epoch=3), KeyError, "initial_lr"),
        (lambda: lr_scheduler.ChainedScheduler([]), ValueError, "expected schedulers, got none"),
    ]:
        o = optimizer_of()
        with pytest.raises(kind, match=text):
            make()
    a, b = lr_scheduler.StepLR(o, 1), lr_scheduler.StepLR(optimizer_of(), 1)
    with pytest.raises(ValueError, match="of one optimizer, got two"):
        lr_scheduler.SequentialLR(o, [a, b], [1])
    with pytest.raises(ValueError, match="expected 1 milestones"):
        lr_scheduler.SequentialLR(o, [a, lr_scheduler.StepLR(o, 2)], [])
    last = lr_scheduler.OneCycleLR(optimizer_of(), 1.0, total_steps=2)
    last.optimizer.step(), last.step(), last.step()
    with pytest.raises(ValueError, match="at most 2 steps"):
        last.step()
