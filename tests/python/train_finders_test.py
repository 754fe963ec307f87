"""neura.train: trials before a training, and the end of one whose losses are not finite."""

import copy
import random

import neura
import pytest
from neura import nn
from neura.train import JSONLog, Run, find_batch_size, find_lr
from neura.utils.data import DataLoader, TensorDataset

F = nn.functional


def task(rows=200):
    neura.manual_seed(1)
    x = neura.randn(rows, 6)
    return TensorDataset(x, (x.sum(1) > 0).long())


def network():
    neura.manual_seed(2)
    return nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 2))


def test_the_range_of_rates_has_a_suggestion_that_trains():
    data = task()
    loader, model = DataLoader(data, batch_size=20, shuffle=True), network()
    optimizer = neura.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    found = find_lr(model, optimizer, loader, lambda b: F.cross_entropy(model(b[0]), b[1]), high=100)
    assert 1e-3 < found.suggestion < 1 and found.rates[0] == pytest.approx(1e-7)
    assert len(found.rates) == len(found.losses) <= 100 and found.rates == sorted(found.rates)
    assert f"suggestion {found.suggestion:.2g}" in repr(found)
    optimizer.param_groups[0]["lr"] = found.suggestion
    means = []
    for _ in range(20):
        losses = []
        for x, y in loader:
            optimizer.zero_grad()
            losses.append(F.cross_entropy(model(x), y))
            losses[-1].backward()
            optimizer.step()
        means.append(sum(losses).item() / len(losses))
    assert means[-1] < means[0] / 2


def test_a_trial_leaves_all_as_it_was():
    data, model = task(), network()
    optimizer = neura.optim.AdamW(
        [{"params": model[0].parameters(), "lr": 1e-2}, {"params": model[4].parameters(), "lr": 1e-3}]
    )
    generator = neura.Generator().manual_seed(4)
    loader = DataLoader(data, batch_size=50, shuffle=True, generator=generator)

    def train():
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        return neura.cat([p.detach().flatten() for p in model.parameters()] + [model[1].running_mean])

    train()
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    state, drawn, place = copy.deepcopy(optimizer.state_dict()), neura.get_rng_state(), generator.get_state()
    python = random.getstate()
    whole = train()
    model.load_state_dict(kept)
    optimizer.load_state_dict(state)
    neura.set_rng_state(drawn)
    generator.set_state(place)
    random.setstate(python)
    model.eval()
    find_lr(model, optimizer, loader, lambda b: F.cross_entropy(model(b[0]), b[1]), steps=12)
    assert not model.training and not model[3].training
    assert [group["lr"] for group in optimizer.param_groups] == [1e-2, 1e-3]
    model.train()
    assert find_batch_size(model, optimizer, data, lambda b: F.cross_entropy(model(b[0]), b[1]), limit=64) == 64
    assert train().equal(whole)


def test_a_loss_that_never_falls_has_no_suggestion():
    model = nn.Linear(1, 1, bias=False)
    optimizer = neura.optim.SGD(model.parameters(), lr=1.0)
    found = find_lr(model, optimizer, [0], lambda b: (model.weight * 0).sum() + 1.0, steps=10)
    assert found.suggestion is None and "the loss never fell" in repr(found)


def test_the_batch_that_fits_is_found():
    model = nn.Linear(6, 2)
    optimizer = neura.optim.SGD(model.parameters(), lr=0.1)
    sizes = []

    def loss(batch, most):
        sizes.append(len(batch[0]))
        if len(batch[0]) > most:
            raise neura.errors.OutOfMemoryError("allocation: expected 9 GB, got 8 GB")
        return F.cross_entropy(model(batch[0]), batch[1])

    before = model.weight.detach().clone()
    assert find_batch_size(model, optimizer, task(30), lambda b: loss(b, 100)) == 64
    assert sizes == [2, 4, 8, 16, 32, 64, 128] and model.weight.equal(before)
    assert find_batch_size(model, optimizer, task(30), lambda b: loss(b, 100), start=3, limit=50) == 48
    with pytest.raises(neura.errors.OutOfMemoryError, match="expected 2 items to fit, got: allocation: expected 9 GB"):
        find_batch_size(model, optimizer, task(30), lambda b: loss(b, 1))
    assert model.weight.equal(before)


def test_trials_refuse_what_cannot_be():
    model = nn.Linear(6, 2)
    optimizer = neura.optim.SGD(model.parameters(), lr=0.1)
    for options in ({"low": 1.0, "high": 0.1}, {"low": 0.0}, {"steps": 9}):
        with pytest.raises(ValueError, match="find_lr: expected 0 < low < high and 10 steps or more"):
            find_lr(model, optimizer, [1], None, **options)
    with pytest.raises(ValueError, match="expected a loader with batches, got none"):
        find_lr(model, optimizer, [], None)
    with pytest.raises(ValueError, match="expected a finite loss at the lowest rate"):
        find_lr(model, optimizer, [1], lambda b: model.weight.sum() * float("nan"))
    with pytest.raises(ValueError, match="expected 1 <= start <= limit and items"):
        find_batch_size(model, optimizer, task(), None, start=8, limit=4)


@pytest.mark.parametrize("log_every, save_every", [(5, None), (1000, 5), (1000, None)])
def test_losses_that_are_not_finite_end_the_run_with_a_sentence(tmp_path, log_every, save_every):
    model = nn.Linear(4, 1)
    run = Run(
        model,
        neura.optim.SGD(model.parameters(), lr=1e30),
        folder=tmp_path,
        log_every=log_every,
        save_every=save_every,
        callbacks=[JSONLog(tmp_path / "log.jsonl")],
    )
    batches = [(neura.ones(2, 4), neura.zeros(2, 1))] * 10
    with pytest.raises(ValueError, match="expected finite losses, got (inf|nan) by step .* with a lower learning rate"):
        for _ in run.epochs(1):
            for x, y in run.batches(batches):
                run.step(lambda: F.mse_loss(model(x), y))
    assert not list(tmp_path.glob("step-*")) and not (tmp_path / "log.jsonl").read_text()


def test_a_run_may_be_told_to_go_on_with_losses_that_are_not_finite(tmp_path):
    model = nn.Linear(4, 1)
    run = Run(model, neura.optim.SGD(model.parameters(), lr=1e30), check_finite=False, log_every=1, folder=tmp_path)
    for _ in run.epochs(1):
        for _ in run.batches(range(4)):
            run.step(lambda: model(neura.ones(2, 4)).square().mean())
    assert run.steps == 4 and run.values["loss"] != run.values["loss"]
