"""Groups that are added to an optimizer after its scheduler was made."""

import math

import neura
import pytest

lr_scheduler = neura.optim.lr_scheduler


def parameter():
    return neura.zeros(1, requires_grad=True)


def optimizer():
    return neura.optim.SGD([parameter()], lr=0.1, momentum=0.9)


def add(o, lr=0.1, **options):
    o.add_param_group({"params": [parameter()], "lr": lr, **options})
    return o.param_groups[-1]


MAKE = {
    "LambdaLR": lambda o: lr_scheduler.LambdaLR(o, lambda e: 0.5**e),
    "MultiplicativeLR": lambda o: lr_scheduler.MultiplicativeLR(o, lambda e: 0.5),
    "StepLR": lambda o: lr_scheduler.StepLR(o, 2),
    "MultiStepLR": lambda o: lr_scheduler.MultiStepLR(o, [2, 3]),
    "ConstantLR": lambda o: lr_scheduler.ConstantLR(o, 0.5, 3),
    "LinearLR": lambda o: lr_scheduler.LinearLR(o),
    "ExponentialLR": lambda o: lr_scheduler.ExponentialLR(o, 0.5),
    "PolynomialLR": lambda o: lr_scheduler.PolynomialLR(o),
    "CosineAnnealingLR": lambda o: lr_scheduler.CosineAnnealingLR(o, 4),
    "CosineAnnealingWarmRestarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 4),
    "CyclicLR": lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1, 4),
    "OneCycleLR": lambda o: lr_scheduler.OneCycleLR(o, 0.1, 12),
}


@pytest.mark.parametrize("name", MAKE)
def test_an_added_group_is_scheduled_too(name):
    o = optimizer()
    scheduler = MAKE[name](o)
    o.step()
    scheduler.step()
    group = add(o, o.param_groups[0]["lr"], momentum=o.param_groups[0]["momentum"])
    rates = [group["lr"]]
    for _ in range(4):
        o.step()
        scheduler.step()
        rates.append(group["lr"])
        assert scheduler.get_last_lr() == [g["lr"] for g in o.param_groups]
    assert len(set(rates)) > 1
    assert len(scheduler.base_lrs) == 2


@pytest.mark.parametrize("name", ["CyclicLR", "OneCycleLR"])
def test_an_added_group_goes_through_the_same_cycle(name):
    o = optimizer()
    scheduler = MAKE[name](o)
    o.step()
    scheduler.step()
    group = add(o)
    for _ in range(6):
        o.step()
        scheduler.step()
        assert group["lr"] == o.param_groups[0]["lr"]
        assert group["momentum"] == o.param_groups[0]["momentum"]


def test_a_function_of_the_epoch_starts_from_the_rate_of_the_added_group():
    o = optimizer()
    scheduler = MAKE["LambdaLR"](o)
    group = add(o, 0.8)
    o.step()
    scheduler.step()
    assert [g["lr"] for g in o.param_groups] == pytest.approx([0.05, 0.4])
    assert group["initial_lr"] == 0.8


def test_a_plateau_lowers_the_rate_of_an_added_group():
    o = optimizer()
    scheduler = lr_scheduler.ReduceLROnPlateau(o, patience=0, min_lr=0.02)
    group = add(o, 0.3)
    for loss in (1.0, 1.0, 1.0):
        scheduler.step(loss)
    assert [g["lr"] for g in o.param_groups] == pytest.approx([0.02, 0.02])
    assert scheduler.get_last_lr() == [0.02, group["lr"]]


@pytest.mark.parametrize(
    "make",
    [
        lambda o: lr_scheduler.LambdaLR(o, [lambda e: 1]),
        lambda o: lr_scheduler.CyclicLR(o, [0.01], 0.1, 4),
        lambda o: lr_scheduler.OneCycleLR(o, [0.1], 12),
        lambda o: lr_scheduler.ReduceLROnPlateau(o, min_lr=[0.0]),
    ],
)
def test_lists_with_one_value_per_group_do_not_guess(make):
    o = optimizer()
    scheduler = make(o)
    add(o)
    with pytest.raises(neura.errors.ValueError, match="expected .* got"):
        scheduler.step(1) if isinstance(scheduler, lr_scheduler.ReduceLROnPlateau) else scheduler.step()


def test_a_list_may_be_extended_by_its_owner():
    o = optimizer()
    scheduler = lr_scheduler.LambdaLR(o, [lambda e: 1.0])
    group = add(o, 0.5)
    scheduler.lr_lambdas.append(lambda e: 0.1)
    o.step()
    scheduler.step()
    assert group["lr"] == pytest.approx(0.05)


def test_schedulers_within_others_take_added_groups():
    o = optimizer()
    scheduler = lr_scheduler.SequentialLR(
        o, [lr_scheduler.ConstantLR(o, 1.0, 2), lr_scheduler.CosineAnnealingLR(o, 4)], [2]
    )
    group = add(o, 0.1)
    rates = []
    for _ in range(6):
        o.step()
        scheduler.step()
        rates.append(group["lr"])
    assert rates[-1] == pytest.approx(0.0, abs=1e-9) and math.isclose(rates[0], 0.1)


def test_lbfgs_refuses_a_second_group():
    o = neura.optim.LBFGS([parameter()])
    with pytest.raises(neura.errors.ValueError, match="expected one parameter group"):
        add(o)
