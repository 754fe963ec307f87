"""A run that was stopped anywhere, by an exception or by SIGKILL, ends with the weights of one that never was."""

import copy
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import neura
import pytest
from neura import nn
from neura.train import Callback, EarlyStopping, JSONLog, Run
from neura.utils.data import DataLoader, Dataset

F = nn.functional
EPOCHS = 3


class Noisy(Dataset):
    """Items that are drawn anew each time, from all generators that a worker has of its own."""

    def __init__(self, threads=False):
        self.draw = (lambda: 0.5) if threads else random.random  # which threads share

    def __len__(self):
        return 22

    def __getitem__(self, i):
        x = neura.full((6,), i / 22) + 0.1 * neura.randn(6)
        return x + self.draw() / 100, i % 3


class Stop(Exception):
    pass


class Saboteur(Callback):
    """Raises at the n-th thing that happens."""

    def __init__(self, after=None):
        self.left = after

    def happen(self, *_):
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Stop

    on_batch_start = on_batch_end = on_step = on_save = on_log = on_evaluate_start = on_epoch_start = happen


def make(folder, after=None, *, workers=0, kind=None, precision=None, accumulate=1, persistent=False, seed=5):
    neura.manual_seed(seed)
    random.seed(seed)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.BatchNorm1d(16), nn.Dropout(0.3), nn.Linear(16, 3))
    optimizer = neura.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = neura.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=40)
    callbacks = [JSONLog(pathlib.Path(folder) / "log.jsonl"), EarlyStopping("val/loss", 50), Saboteur(after)]
    run = Run(
        model,
        optimizer,
        schedule,
        precision=precision,
        accumulate=accumulate,
        clip_norm=1.0,
        ema=0.9,
        folder=folder,
        save_every=2,
        monitor="val/loss",
        log_every=3,
        callbacks=callbacks,
    )
    more = {"worker_type": kind, "persistent_workers": persistent} if workers else {}
    return run, DataLoader(Noisy(kind == "thread"), batch_size=4, shuffle=True, num_workers=workers, **more)


def train(run, loader):
    model = run.model
    held = DataLoader(Noisy(), batch_size=5)
    run.resume()
    with run:
        for _ in run.epochs(EPOCHS):
            for x, y in run.batches(loader):
                run.step(lambda: (F.cross_entropy(model(x), y, reduction="sum"), len(y)))
                random.random()  # what comes after the step belongs to it
            run.evaluate("val", held, lambda b: {"loss": F.cross_entropy(run.ema.module(b[0]), b[1])})
    return run


def weights(run):
    state = {**run.model.state_dict(), **{f"ema.{k}": v for k, v in run.ema.state_dict().items()}}
    return {name: value.clone() for name, value in state.items()}, run.optimizer.param_groups[0]["lr"]


def expect_equal(run, reference):
    (found, lr), (expected, expected_lr) = weights(run), reference
    assert found.keys() == expected.keys() and lr == expected_lr
    assert [name for name in expected if not neura.equal(found[name], expected[name])] == []


SETTINGS = {
    "plain": {},
    "amp_and_accumulation": {"precision": "fp16", "accumulate": 4},
    "worker_processes": {"workers": 2, "kind": "process", "precision": "bf16", "accumulate": 2},
    "worker_threads": {"workers": 2, "kind": "thread"},
    "persistent_workers": {"workers": 2, "kind": "process", "persistent": True},
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", SETTINGS)
def test_a_run_stopped_at_random_moments_ends_with_the_same_weights(name, threads, tmp_path):
    before = neura.get_num_threads()
    neura.set_num_threads(threads)
    try:
        whole = train(*make(tmp_path / "whole", **SETTINGS[name]))
        reference = weights(whole)
        lot = random.Random(f"{name}{threads}")
        stops = 0
        while True:
            run, loader = make(tmp_path / "parts", lot.randrange(8, 30), **SETTINGS[name])
            try:
                train(run, loader)
                break
            except Stop:
                stops += 1
        assert stops >= 2
        expect_equal(run, reference)
        assert run.steps == whole.steps and run.best == whole.best and run.values == whole.values
        log = [(tmp_path / part / "log.jsonl").read_text() for part in ("whole", "parts")]
        assert log[0] == log[1] and log[0]
    finally:
        neura.set_num_threads(before)


def test_other_seeds_give_other_weights(tmp_path):
    one, other = (weights(train(*make(tmp_path / str(s), seed=s)))[0] for s in (5, 6))
    assert not neura.equal(one["0.weight"], other["0.weight"])


def test_a_loader_with_a_generator_of_its_own_goes_on_where_it_was(tmp_path):
    def once(folder, after):
        run, _ = make(folder, after)
        loader = DataLoader(Noisy(), batch_size=4, shuffle=True, generator=neura.Generator().manual_seed(1))
        try:
            return train(run, loader), True
        except Stop:
            return run, False

    reference, _ = once(tmp_path / "whole", None)
    reference, done = weights(reference), False
    for after in (25, 31, 27, 40, 10**9):
        run, done = once(tmp_path / "parts", after)
        if done:
            break
    assert done
    expect_equal(run, reference)


def test_streams_and_plain_lists_go_on_where_they_were(tmp_path):
    batches = [(neura.full((3, 6), i / 9), neura.tensor([0, 1, 2])) for i in range(9)]
    reference = weights(train(make(tmp_path / "whole")[0], batches))
    with pytest.raises(Stop):
        train(make(tmp_path / "parts", 30)[0], batches)
    expect_equal(train(make(tmp_path / "parts")[0], batches), reference)


PROGRAM = """
import sys
sys.path.insert(0, {tests!r})
import train_resume_test as t
run, loader = t.make({folder!r}, workers=int(sys.argv[1]), kind="process", accumulate=2, precision="bf16")
run._batch_end.append(lambda *_: t.time.sleep(0.05))
t.train(run, loader)
t.neura.save(t.weights(run)[0], {folder!r} + "/final.safetensors")
"""


@pytest.mark.parametrize("workers", [0, 2])
def test_a_process_killed_at_random_moments_ends_with_the_same_weights(workers, tmp_path):
    reference = weights(train(*make(tmp_path / "w", workers=workers, kind="process", accumulate=2, precision="bf16")))
    folder, lot, kills = tmp_path / "killed", random.Random(workers), 0
    program = PROGRAM.format(tests=str(pathlib.Path(__file__).parent), folder=str(folder))
    while True:
        process = subprocess.Popen([sys.executable, "-c", program, str(workers)])
        wait = None if kills >= 3 else lot.uniform(0.02, 0.25)
        begin = time.monotonic()
        while not any(folder.glob("step-*")) and process.poll() is None and time.monotonic() - begin < 60:
            time.sleep(0.005)  # the first one shall come at all
        try:
            assert process.wait(wait) == 0
            break
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            kills += 1
            for path in folder.glob("*.safetensors"):
                neura.load(path)  # each is complete
    assert kills >= 1
    final = neura.load(folder / "final.safetensors")
    assert [name for name, value in reference[0].items() if not neura.equal(value, final[name])] == []
    assert not list(folder.glob("*.tmp-*"))


def test_resuming_an_early_stop_stays_stopped(tmp_path):
    run, loader = make(tmp_path)
    run.stop("enough")
    assert list(run.epochs(3)) == []
    run.save()
    again, _ = make(tmp_path)
    assert again.resume() and again.stopped == "enough"


def saved(folder, *, until, path=None, keep=2):
    """The checkpoint that is written `until` steps after the beginning, or after path, and what is there then."""
    model = nn.Linear(2, 1)
    run = Run(model, neura.optim.SGD(model.parameters(), lr=0.1), folder=folder, keep=keep)
    if path:
        run.resume(path)
    while run.steps < until:
        run.step(lambda: model(neura.ones(1, 2)).sum())
        path = run.save()
        assert path.exists()
    return path, [int(p.stem[5:]) for p in sorted(folder.glob("step-*"))]


def test_a_run_that_goes_back_leaves_the_checkpoints_of_later_steps(tmp_path):
    assert saved(tmp_path, until=6, keep=3)[1] == [4, 5, 6]
    first = tmp_path / "step-000000004.safetensors"
    assert saved(tmp_path, until=5, path=first, keep=1)[1] == [5]
    assert saved(tmp_path, until=7, path=tmp_path / "step-000000005.safetensors")[1] == [6, 7]


def test_another_run_in_a_folder_keeps_what_it_writes(tmp_path):
    saved(tmp_path, until=6)
    path, there = saved(tmp_path, until=3)
    assert path.exists() and there == [2, 3, 5, 6]


def test_what_does_not_fit_is_refused_and_nothing_changes(tmp_path):
    run, loader = make(tmp_path / "a")
    run.save()
    other, _ = make(tmp_path / "b", precision="fp16")
    before = copy.deepcopy(other.model.state_dict())
    with pytest.raises(ValueError, match="resume: expected one as scaler, as this run has, got none in the file"):
        other.resume(tmp_path / "a" / "step-000000000.safetensors")
    assert all(neura.equal(before[k], v) for k, v in other.model.state_dict().items())
    neura.save({"a": 1}, tmp_path / "x.safetensors")
    with pytest.raises(neura.errors.FormatError, match="resume: expected a checkpoint of a run"):
        run.resume(tmp_path / "x.safetensors")
    assert not make(tmp_path / "none")[0].resume()
