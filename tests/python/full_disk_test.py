"""What the system refuses to write is an IoError that names the file, and leaves what was there."""

import subprocess
import sys

import neura
import pytest

PROGRAM = """
import resource, signal, sys
import neura
from neura.train import CSVLog, JSONLog, Run

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))  # as of a disk that is full

def say(call):
    try:
        call()
    except OSError as error:
        print(type(error).__name__, error)

def train(log):
    model = neura.nn.Linear(1, 1)
    run = Run(model, neura.optim.SGD(model.parameters(), lr=0.0), callbacks=[log], log_every=1)
    for _ in run.epochs(1):
        for _ in run.batches(range(200)):
            run.step(lambda: model(neura.ones(1, 1)).sum())

say(lambda: neura.data.write_tokens("a.bin", [[1] * 5000]))
say(lambda: neura.data.write_shard("a.tar", [("x", {"bin": bytes(5000)})]))
say(lambda: train(JSONLog("a.jsonl")))
say(lambda: train(CSVLog("a.csv")))
say(lambda: train(JSONLog("a.bin/log.jsonl")))
"""


def test_a_full_disk_is_named(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"old")
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    said = done.stdout.splitlines()
    for line, name in zip(said, ("a.bin", "a.tar", "a.jsonl", "a.csv")):
        assert line == f'IoError cannot write "{name}": File too large', done.stdout + done.stderr
    assert said[4] == 'IoError cannot write "a.bin": File exists', done.stdout + done.stderr
    assert (tmp_path / "a.bin").read_bytes() == b"old" and not (tmp_path / "a.tar").exists()
    assert not [file for file in tmp_path.iterdir() if ".tmp-" in file.name]


def test_a_run_whose_folder_is_a_file_says_so(tmp_path):
    (tmp_path / "run").write_text("no folder")
    model = neura.nn.Linear(1, 1)
    run = neura.train.Run(model, neura.optim.SGD(model.parameters(), lr=0.1), folder=tmp_path / "run")
    with pytest.raises(neura.errors.IoError, match='cannot write ".*/run": File exists'):
        run.save()


def test_an_error_of_what_is_read_meanwhile_stays_what_it_is(tmp_path):
    def samples():
        yield "a", {"bin": b"x"}
        yield "b", {"bin": (tmp_path / "none").read_bytes()}

    with pytest.raises(FileNotFoundError, match="none"):
        neura.data.write_shard(tmp_path / "new.tar", samples())
    assert not list(tmp_path.iterdir())
