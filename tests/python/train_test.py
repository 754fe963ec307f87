"""Run, Trainer, callbacks and metrics: steps, accumulation, logs, events."""

import io
import json
import math

import neura
import pytest
from neura import nn
from neura.train import (
    Accuracy,
    Callback,
    CSVLog,
    EarlyStopping,
    JSONLog,
    Progress,
    Recall,
    Run,
    TensorBoardLog,
    Trainer,
)
from neura.utils.data import DataLoader, TensorDataset

F = nn.functional


def net(seed=0, inputs=5):
    neura.manual_seed(seed)
    return nn.Sequential(nn.Linear(inputs, 12), nn.Tanh(), nn.Linear(12, 3))


def sgd(model, lr=0.5):
    return neura.optim.SGD(model.parameters(), lr=lr, momentum=0.9)


def farthest(a, b):
    return max((x - y).abs().max().item() for x, y in zip(a.parameters(), b.parameters()))


@pytest.mark.parametrize("options", [{}, {"precision": "bf16"}, {"scaler": "cpu"}, {"clip_norm": 0.05}])
@pytest.mark.parametrize("lengths", [[4, 4, 4, 4], [1, 7, 3, 5], [0, 9, 0, 2]])
def test_a_step_of_four_batches_is_that_of_one_large_batch(lengths, options):
    x, y = neura.randn(sum(lengths), 5), neura.randint(3, (sum(lengths),))
    large, small = net(), net()
    options = dict(options)

    def run_of(model, k):
        if "scaler" in options:
            return Run(model, sgd(model), scaler=neura.amp.GradScaler("cpu", init_scale=256.0), accumulate=k)
        return Run(model, sgd(model), accumulate=k, **options)

    whole, parts = run_of(large, 1), run_of(small, 4)
    start = net()
    for _ in range(5):
        assert whole.step(lambda: F.cross_entropy(large(x), y))
        taken = [
            parts.step(lambda: (F.cross_entropy(small(a), b, reduction="sum"), len(b)))
            for a, b in zip(x.split(lengths), y.split(lengths))
        ]
        assert taken == [False, False, False, True]
    assert parts.steps == whole.steps == 5
    assert farthest(large, start) > 0.01
    limit = 1e-2 if options.get("precision") else 1e-6  # bfloat16 rounds the sums of batches
    assert farthest(large, small) <= limit


def test_means_without_weights_count_alike_and_a_short_group_by_what_it_has():
    x, y = neura.randn(12, 5), neura.randint(3, (12,))
    large, small = net(), net()
    parts = Run(small, sgd(small), accumulate=4)
    for _ in parts.epochs(1):
        for a, b in parts.batches(list(zip(x.split(4), y.split(4)))):
            assert not parts.step(lambda: F.cross_entropy(small(a), b))
    Run(large, sgd(large)).step(lambda: F.cross_entropy(large(x), y))
    assert parts.steps == 1 and farthest(large, small) <= 1e-6 < farthest(large, net())


def test_a_group_of_no_weight_is_no_step():
    model = net()
    run = Run(model, sgd(model))
    assert not run.step(lambda: (model(neura.ones(1, 5)).sum(), 0))
    assert run.steps == 0 and farthest(model, net()) == 0
    with pytest.raises(ValueError, match="step: expected a weight of 0 or more, got -1"):
        run.step(lambda: (model(neura.ones(1, 5)).sum(), -1))


def test_steps_that_the_scaler_leaves_out_move_nothing():
    model = net()
    optimizer = sgd(model)
    schedule = neura.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    run = Run(model, optimizer, schedule, scaler=neura.amp.GradScaler("cpu", init_scale=2.0**10))
    x = neura.ones(2, 5)
    assert not run.step(lambda: model(x).sum() * float("inf"))
    assert run.steps == 0 and schedule.last_epoch == 0 and run.scaler.get_scale() == 2.0**9
    assert run.step(lambda: model(x).sum())
    assert run.steps == 1 and schedule.last_epoch == 1


def test_clipping_raises_for_gradients_that_are_not_finite():
    model = net()
    run = Run(model, sgd(model), clip_norm=1.0)
    with pytest.raises(RuntimeError, match="finite"):
        run.step(lambda: model(neura.ones(2, 5)).sum() * float("inf"))
    assert farthest(model, net()) == 0


@pytest.mark.parametrize("per, expected", [("step", 6), ("epoch", 2)])
def test_schedules_move_once_a_step_or_once_an_epoch(per, expected):
    model = net()
    optimizer = sgd(model)
    schedule = neura.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    run = Run(model, optimizer, schedule, schedule_per=per, accumulate=2)
    for _ in run.epochs(2):
        for x in run.batches([neura.ones(2, 5)] * 6):
            run.step(lambda: model(x).square().mean())
    assert schedule.last_epoch == expected
    assert math.isclose(optimizer.param_groups[0]["lr"], 0.5 * 0.9**expected)


def test_plateaus_look_at_the_monitored_value():
    model = net()
    optimizer = sgd(model)
    run = Run(model, optimizer, neura.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0), monitor="v")
    for epoch in run.epochs(3):
        run.log({"v": 1.0})
    assert math.isclose(optimizer.param_groups[0]["lr"], 0.5 * 0.1**2)


def test_the_average_follows_the_weights():
    model = net()
    run = Run(model, sgd(model), ema=0.75)
    averages = None
    for _ in range(3):
        run.step(lambda: model(neura.ones(2, 5)).square().mean())
        now = model[0].weight.detach().clone()
        averages = now if averages is None else 0.75 * averages + 0.25 * now
    assert (run.ema.module[0].weight - averages).abs().max() < 1e-6
    assert not neura.equal(run.ema.module[0].weight, model[0].weight)


class Recorder(Callback):
    def __init__(self):
        self.events = []


def _note(event):
    def note(self, run, *values):
        self.events.append(event.removeprefix("on_") + "".join(f" {v}" for v in values if isinstance(v, str)))

    return note


for _event in (
    "on_fit_start on_fit_end on_epoch_start on_epoch_end on_batch_start on_batch_end on_step on_evaluate_start "
    "on_evaluate_end on_log on_save on_load"
).split():
    setattr(Recorder, _event, _note(_event))
Recorder.on_exception = lambda self, run, error: self.events.append(f"exception {error}")


def test_events_come_in_their_order(tmp_path):
    model, recorder = net(), Recorder()
    data = [(neura.ones(2, 5), neura.tensor([0, 1]))] * 2
    trainer = Trainer(model, sgd(model), F.cross_entropy, accumulate=2, folder=tmp_path, callbacks=[recorder])
    trainer.fit(data, data, max_epochs=1)
    expected = "fit_start,epoch_start,batch_start,batch_end,batch_start,step,batch_end,evaluate_start val,log,"
    expected += "evaluate_end val,epoch_end,save,fit_end"
    assert recorder.events == expected.split(",")
    recorder.events.clear()
    trainer.training_step = lambda batch: 1 / 0
    with pytest.raises(ZeroDivisionError):
        trainer.fit(data, max_epochs=2, resume=True)
    assert recorder.events == ["load", "fit_start", "epoch_start", "batch_start", "exception division by zero"]


@pytest.mark.parametrize("mode, values, epochs", [("min", [3, 2, 2, 2.5, 1], 4), ("max", [1, 2, 1, 3, 2, 3, 9], 6)])
def test_early_stopping_waits_as_long_as_it_is_told(mode, values, epochs):
    model = net()
    run = Run(model, sgd(model), callbacks=[EarlyStopping("v", patience=2, mode=mode)])
    seen = [run.log({"v": values[epoch]}) for epoch in run.epochs(len(values))]
    assert len(seen) == epochs and "v has not improved for 2 times" in run.stopped


def test_checkpoints_keep_the_newest_and_the_best(tmp_path):
    model = net()
    run = Run(model, sgd(model), folder=tmp_path, save_every=3, keep=2, monitor="v", mode="max")
    kept = {}
    for epoch in run.epochs(3):
        for x in run.batches([neura.ones(2, 5)] * 5):
            run.step(lambda: model(x).square().mean())
        kept[epoch] = model[0].weight.detach().clone()
        run.log({"v": [1, 5, 2][epoch]})
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == ["best.safetensors", "step-000000012.safetensors", "step-000000015.safetensors"]
    best = neura.load(tmp_path / "best.safetensors")
    assert neura.equal(best["model"]["0.weight"], kept[1]) and best["values"]["v"] == 5 and best["step"] == 10


def test_ten_steps_are_read_back_from_every_log(tmp_path):
    model = net()
    logs = [CSVLog(tmp_path / "a" / "log.csv"), JSONLog(tmp_path / "log.jsonl"), TensorBoardLog(tmp_path / "events")]
    losses = []
    run = Run(model, sgd(model), log_every=1, callbacks=logs)
    for _ in run.epochs(1):
        for x in run.batches([neura.ones(2, 5)] * 10):

            def loss():
                value = model(x).square().mean()
                losses.append(value.item())
                return value

            run.step(loss)
        run.log({"val/new": 0.5})
    rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [row["loss"] for row in rows[:10]] == losses and [row["step"] for row in rows[:10]] == list(range(1, 11))
    table = [line.split(",") for line in (tmp_path / "a" / "log.csv").read_text().splitlines()]
    assert table[0] == ["step", "epoch", "loss", "lr", "val/new"]
    assert [float(row[2]) for row in table[1:11]] == losses and table[11] == ["10", "0", "", "", "0.5"]
    (events,) = (tmp_path / "events").iterdir()
    data = events.read_bytes()
    import struct

    assert all(struct.pack("<f", value) in data for value in losses) and b"val/new" in data


def test_progress_is_a_line_for_each_epoch():
    model, out = net(), io.StringIO()
    run = Run(model, sgd(model), log_every=2, callbacks=[Progress(out)])
    for _ in run.epochs(2):
        for x in run.batches([neura.zeros(2, 5)] * 4):
            run.step(lambda: model(x).mean() * 0 + 2)
    first, second = out.getvalue().splitlines()
    assert first.startswith("epoch 0  batch 4/4  step 4  loss 2  lr 0.5  ") and first.endswith(" steps/s")
    assert second.startswith("epoch 1  batch 4/4  step 8")


def loop(model, loader, epochs):
    optimizer = sgd(model, 0.1)
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()


def pictures():
    neura.manual_seed(1)
    return TensorDataset(neura.randn(40, 1, 6, 6), neura.randint(3, (40,)))


@pytest.mark.parametrize("kind", ["mlp", "cnn"])
def test_the_trainer_trains_as_the_loop_by_hand_does(kind):
    def make():
        neura.manual_seed(3)
        if kind == "mlp":
            return nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))
        return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))

    data = pictures()
    by_hand = make()
    loop(by_hand, DataLoader(data, batch_size=8, shuffle=True), 3)
    model = make()
    trainer = Trainer(model, sgd(model, 0.1), F.cross_entropy, metrics={"accuracy": Accuracy()})
    trainer.fit(DataLoader(data, batch_size=8, shuffle=True), DataLoader(data, batch_size=16), max_epochs=3)
    assert all(neura.equal(a, b) for a, b in zip(model.state_dict().values(), by_hand.state_dict().values()))
    model.eval()
    x, y = data.tensors
    result = trainer.test(DataLoader(data, batch_size=7))
    assert math.isclose(result["loss"], F.cross_entropy(model(x), y).item(), rel_tol=1e-5)
    assert result["accuracy"] == (model(x).argmax(1) == y).sum().item() / 40
    (whole,) = trainer.predict([x])
    assert neura.equal(whole, model(x)) and not whole.requires_grad


def test_steps_can_be_overridden_and_the_loop_can_be_mixed():
    class Regression(Trainer):
        def training_step(self, batch):
            return (self.model(batch) - 1).square().sum(), batch.shape[0]

        def evaluation_step(self, batch):
            return {"distance": (self.model(batch) - 1).abs().mean()}

    model = nn.Linear(5, 1)
    trainer = Regression(model, neura.optim.SGD(model.parameters(), lr=0.05))
    trainer.fit([neura.ones(3, 5)] * 60, max_epochs=1)
    assert trainer.validate([neura.ones(3, 5)])["distance"] < 1e-3
    run = trainer.run
    for _ in range(4):  # steps of your own
        run.optimizer.zero_grad()
        (loss := model(neura.ones(1, 5)).sum()).backward()
        run.optimizer.step()
        run.advance(loss)
    assert run.steps == 64


def test_evaluation_leaves_modes_gradients_and_random_numbers_alone():
    model = nn.Sequential(nn.Linear(5, 3), nn.Dropout(0.5))
    model[0].eval()
    run = Run(model, sgd(model))
    before = neura.get_rng_state()
    loader = DataLoader(TensorDataset(neura.ones(4, 5)), batch_size=2, shuffle=True)
    run.evaluate("val", loader, lambda b: {"x": model(b[0]).mean(), "r": neura.rand(())})
    assert [m.training for m in model.modules()] == [True, False, True] and neura.is_grad_enabled()
    assert neura.equal(before, neura.get_rng_state())


def test_the_average_is_evaluated_in_eval_mode():
    neura.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 64), nn.BatchNorm1d(64), nn.Dropout(0.5), nn.Linear(64, 1))
    data = [(neura.randn(8, 4), neura.zeros(8, 1))] * 2
    optimizer = neura.optim.SGD(model.parameters(), lr=0.1)
    trainer = Trainer(model, optimizer, nn.functional.mse_loss, ema=0.5)
    trainer.fit(data, max_epochs=1)
    average = trainer.run.ema.module
    before = {name: value.clone() for name, value in average.state_dict().items()}
    assert trainer.test(data) == trainer.test(data)
    assert all(neura.equal(value, before[name]) for name, value in average.state_dict().items())
    assert average.training and average[2].training
    output = average.eval()(data[0][0])
    assert trainer.test(data)["loss"] == pytest.approx(float(nn.functional.mse_loss(output, data[0][1])))


def test_means_of_batches_of_unequal_sizes_count_items():
    model = net()
    run = Run(model, sgd(model))
    values = neura.arange(7.0)
    result = run.evaluate("val", values.split(3), lambda b: {"mean": b.mean(), "sum": (b.sum(), 2 * len(b))})
    assert result == {"mean": 3.0, "sum": 1.5} and run.values == {"val/mean": 3.0, "val/sum": 1.5}


@pytest.mark.parametrize(
    "options, text",
    [
        ({"accumulate": 0}, "Run: expected accumulate of 1 or more, got 0"),
        ({"precision": "int8"}, 'Run: expected precision None, "bf16" or "fp16", got'),
        ({"clip_norm": 0}, "Run: expected a positive clip_norm, got 0"),
        ({"save_every": 5}, "Run: expected a folder where save_every is given"),
        ({"mode": "best"}, 'Run: expected mode "min" or "max", got'),
        ({"schedule_per": "day"}, 'Run: expected schedule_per "step" or "epoch", got'),
    ],
)
def test_options_out_of_range(options, text):
    model = net()
    with pytest.raises(ValueError, match=text):
        Run(model, sgd(model), **options)


def test_what_cannot_be_is_refused(tmp_path):
    model = net()
    run = Run(model, sgd(model), accumulate=2, folder=tmp_path)
    run.step(lambda: model(neura.ones(1, 5)).sum())
    with pytest.raises(ValueError, match="save: expected a group of 2 batches to be complete, got 1"):
        run.save()
    for _ in run.epochs(1):
        list(run.batches([1, 2]))
        with pytest.raises(ValueError, match="batches: expected one pass in an epoch, got a second"):
            run.batches([1])
    with pytest.raises(ValueError, match="save: expected a folder, got None"):
        Run(model, sgd(model)).save()
    with pytest.raises(IndexError, match=r"Recall: expected labels in \[0, 2\), got 0 to 3"):
        Recall().update(neura.tensor([0, 3]), neura.tensor([0, 1]))
    with pytest.raises(neura.errors.ShapeError, match="Accuracy: expected targets"):
        Accuracy().update(neura.ones(2, 3), neura.ones(3))
