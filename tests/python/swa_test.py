"""Averages of weights."""

import math

import neura
import pytest
from neura import errors, nn
from neura.optim import swa_utils


def filled(value, layers=1):
    model = nn.Sequential(*(nn.Linear(2, 2) for _ in range(layers)))
    with neura.no_grad():
        for p in model.parameters():
            p.fill_(value)
    return model


def test_the_mean_of_all_weights():
    average = swa_utils.AveragedModel(filled(9.0))
    for value in (1.0, 2.0, 6.0):
        average.update_parameters(filled(value))
    assert average.n_averaged.item() == 3
    for p in average.module.parameters():
        assert neura.allclose(p, neura.full_like(p, 3.0))
    assert set(average.state_dict()) == {"n_averaged", "module.0.weight", "module.0.bias"}
    assert neura.allclose(average(neura.ones(1, 2)), neura.full((1, 2), 9.0))


@pytest.mark.parametrize(
    "kwargs",
    [
        {"avg_fn": swa_utils.get_ema_avg_fn(0.75)},
        {"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.75)},
    ],
)
def test_exponential_averages(kwargs):
    average = swa_utils.AveragedModel(filled(0.0), **kwargs)
    average.update_parameters(filled(4.0))
    average.update_parameters(filled(8.0))
    for p in average.module.parameters():
        assert neura.allclose(p, neura.full_like(p, 5.0))


def test_the_model_is_copied_and_refuses_another():
    model = filled(1.0)
    average = swa_utils.AveragedModel(model)
    with neura.no_grad():
        model[0].weight.zero_()
    assert average.module[0].weight.min() == 1
    with pytest.raises(errors.ShapeError, match="update_parameters"):
        average.update_parameters(filled(1.0, layers=2))
    with pytest.raises(errors.ValueError, match="got both"):
        swa_utils.AveragedModel(model, avg_fn=min, multi_avg_fn=min)


def test_buffers_follow_or_are_averaged():
    def norm(mean):
        layer = nn.BatchNorm1d(2)
        layer.running_mean.fill_(mean)
        return layer

    for use, expected in ((False, 4.0), (True, 3.0)):
        average = swa_utils.AveragedModel(norm(0.0), use_buffers=use)
        average.update_parameters(norm(2.0))
        average.update_parameters(norm(4.0))
        assert average.module.running_mean.tolist() == [expected] * 2


@pytest.mark.parametrize("strategy", ["cos", "linear"])
def test_rates_go_to_the_last_one(strategy):
    optimizer = neura.optim.SGD([neura.zeros(1, requires_grad=True)], lr=1.0)
    scheduler = swa_utils.SWALR(optimizer, swa_lr=0.2, anneal_epochs=4, anneal_strategy=strategy)
    rates = []
    for _ in range(6):
        optimizer.step()
        scheduler.step()
        rates.append(optimizer.param_groups[0]["lr"])
    parts = [min(1, e / 4) for e in range(1, 7)]
    if strategy == "cos":
        parts = [(1 - math.cos(math.pi * p)) / 2 for p in parts]
    assert rates == pytest.approx([1 + (0.2 - 1) * p for p in parts])


def test_an_added_group_goes_there_too():
    optimizer = neura.optim.SGD([neura.zeros(1, requires_grad=True)], lr=1.0)
    scheduler = swa_utils.SWALR(optimizer, swa_lr=0.2, anneal_epochs=2)
    optimizer.add_param_group({"params": [neura.zeros(1, requires_grad=True)], "lr": 0.6})
    for _ in range(4):
        optimizer.step()
        scheduler.step()
    assert [g["lr"] for g in optimizer.param_groups] == pytest.approx([0.2, 0.2])


def test_statistics_of_batch_norm_are_computed_anew():
    model = nn.Sequential(nn.BatchNorm1d(2), nn.Dropout(0.5))
    model.eval()
    data = neura.randn(3, 8, 2) * 2 + 5
    swa_utils.update_bn([(batch, 0) for batch in data], model)
    assert not model.training and model[0].momentum == 0.1
    assert neura.allclose(model[0].running_mean, data.mean(1).mean(0), atol=1e-5)
    swa_utils.update_bn(iter([]), nn.Linear(2, 2))
