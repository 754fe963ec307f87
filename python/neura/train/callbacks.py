"""Callbacks of a run: progress, logs, early stopping."""

import csv
import io
import json
import math
import os
import sys
import time

from .._neura import errors
from .._replaced import naming
from ._files import replace_text

__all__ = ["CSVLog", "Callback", "EarlyStopping", "JSONLog", "Progress", "TensorBoardLog"]


class Callback:
    """The base. Override the events that matter; those that are not cost nothing.

    In order: on_fit_start; for each epoch on_epoch_start; for each call of `run.step` on_batch_start, on_step where the
    optimizer's step was taken, on_batch_end; on_epoch_end; on_fit_end. The others come where their cause is.
    on_exception tells what leaves a `with run:` block, and nothing comes after it.
    """

    def on_fit_start(self, run):
        """The loop over epochs begins."""

    def on_fit_end(self, run):
        """The loop has ended, without an exception."""

    def on_epoch_start(self, run):
        """An epoch begins; not told again where a run continues within one."""

    def on_epoch_end(self, run):
        """An epoch has ended, evaluation included; its checkpoint comes next."""

    def on_batch_start(self, run):
        """`run.step` begins."""

    def on_batch_end(self, run, loss):
        """`run.step` ends. loss: the batch's mean, a tensor."""

    def on_step(self, run):
        """The optimizer's step was taken; `run.steps` counts it."""

    def on_evaluate_start(self, run, name):
        """`run.evaluate` begins."""

    def on_evaluate_end(self, run, name, values):
        """`run.evaluate` ends. values: numbers by their short names."""

    def on_log(self, run, values):
        """Something was logged. values: numbers by name."""

    def on_save(self, run, path):
        """A checkpoint was written."""

    def on_load(self, run, path):
        """A checkpoint was read: the run continues from it."""

    def on_exception(self, run, error):
        """This exception leaves the block."""

    def state_dict(self):
        """What is saved with the run, of plain values and tensors."""
        return {}

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` gave."""


EVENTS = [name for name in vars(Callback) if name.startswith("on_")]


def told(callback, event):
    """The callback's method for the event, in a list; an empty one where it has none of its own."""
    method = getattr(callback, event, None)
    base = getattr(Callback, event)
    return [] if method is None or getattr(method, "__func__", method) is base else [method]


def is_better(value, best, mode, min_delta=0.0):
    """True if the value is an improvement; never for NaN."""
    if math.isnan(value):
        return False
    return best is None or (value < best - min_delta if mode == "min" else value > best + min_delta)


def check_mode(name, mode):
    """ValueError for neither "min" nor "max"."""
    if mode not in ("min", "max"):
        raise errors.ValueError(f'{name}: expected mode "min" or "max", got {mode!r}')


class EarlyStopping(Callback):
    """Ends the run at the end of an epoch, after `patience` logged values of `monitor` in a row that were no better, by
    more than `min_delta`, than the best one. mode: "min" or "max". ValueError for another mode or a patience below 1.

    >>> stopping = neura.train.EarlyStopping("val/loss", patience=3)
    """

    def __init__(self, monitor, patience=3, mode="min", min_delta=0.0):
        check_mode("EarlyStopping", mode)
        if patience < 1:
            raise errors.ValueError(f"EarlyStopping: expected a patience of 1 or more, got {patience}")
        self.monitor, self.patience, self.mode, self.min_delta = monitor, patience, mode, min_delta
        self.best, self.waited = None, 0

    def on_log(self, run, values):
        if self.monitor not in values:
            return
        if is_better(values[self.monitor], self.best, self.mode, self.min_delta):
            self.best, self.waited = values[self.monitor], 0
        else:
            self.waited += 1
            if self.waited >= self.patience:
                run.stop(f"{self.monitor} has not improved for {self.waited} times; the best is {self.best}")

    def state_dict(self):
        return {"best": self.best, "waited": self.waited}

    def load_state_dict(self, state_dict):
        self.best, self.waited = state_dict["best"], state_dict["waited"]


class Progress(Callback):
    """A line that says where the run is: rewritten in place on a terminal, elsewhere one line for each epoch.

    file: where to, sys.stderr if None. every: seconds between two versions of the line.
    """

    def __init__(self, file=None, every=0.2):
        self.file, self.every = file, every
        self._values, self._next, self._since = {}, 0.0, None

    def on_fit_start(self, run):
        self._since = time.monotonic(), run.steps

    def on_log(self, run, values):
        self._values.update(values)

    def on_step(self, run):
        now = time.monotonic()
        if now >= self._next and self._terminal():
            self._next = now + self.every
            self._out().write("\r\x1b[K" + self._line(run))
            self._out().flush()

    def on_epoch_end(self, run):
        self._out().write(("\r\x1b[K" if self._terminal() else "") + self._line(run) + "\n")
        self._out().flush()

    def _out(self):
        return sys.stderr if self.file is None else self.file

    def _terminal(self):
        return bool(getattr(self._out(), "isatty", lambda: False)())

    def _line(self, run):
        begin, first = self._since or (time.monotonic(), run.steps)
        rate = (run.steps - first) / max(time.monotonic() - begin, 1e-9)
        batch = f"{run.batch}/{run.length}" if run.length is not None else str(run.batch)
        values = "".join(f"  {name} {value:.4g}" for name, value in self._values.items())
        return f"epoch {run.epoch}  batch {batch}  step {run.steps}{values}  {rate:.1f} steps/s"


class _FileLog(Callback):
    """Rows of the run in a file. Where a run continues from a checkpoint, rows of later steps go: they come again."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self._columns = []

    def on_fit_start(self, run):
        folder = os.path.dirname(self.path)
        if folder:
            with naming(folder):
                os.makedirs(folder, exist_ok=True)
        self._rewrite(self._read()[: run.rows] if run.rows and os.path.exists(self.path) else [])

    def on_log(self, run, values):
        self._append({"step": run.steps, "epoch": run.epoch, **values})


class JSONLog(_FileLog):
    """A JSON object in a line for all that is logged: step, epoch, and the values.

    path: the file. A new run replaces it; one that continues keeps the lines up to its checkpoint.
    """

    def _read(self):
        rows = []
        with open(self.path, encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):  # the last one may be half written
                    rows.append(json.loads(line))
        return rows

    def _rewrite(self, rows):
        replace_text(self.path, "".join(json.dumps(row) + "\n" for row in rows))

    def _append(self, row):
        with naming(self.path), open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


class CSVLog(_FileLog):
    """A table with a column for each name that was ever logged, and a row for each time.

    path: the file. A new name adds a column: the file is written again, as a whole. Otherwise as `JSONLog`.
    """

    def _read(self):
        with open(self.path, encoding="utf-8", newline="") as file:
            text = file.read()
        text = text[: text.rfind("\n") + 1]
        return [{k: v for k, v in row.items() if v != ""} for row in csv.DictReader(io.StringIO(text))]

    def _text(self, rows, header):
        out = io.StringIO()
        writer = csv.DictWriter(out, self._columns, lineterminator="\n")
        if header:
            writer.writeheader()
        writer.writerows(rows)
        return out.getvalue()

    def _rewrite(self, rows):
        self._columns = list(dict.fromkeys(["step", "epoch", *(name for row in rows for name in row)]))
        replace_text(self.path, self._text(rows, True))

    def _append(self, row):
        if set(row) - set(self._columns):
            return self._rewrite([*(self._read() if self._columns else []), row])
        with naming(self.path), open(self.path, "a", encoding="utf-8", newline="") as file:
            file.write(self._text([row], False))


class TensorBoardLog(Callback):
    """Curves for TensorBoard, by neura.utils.tensorboard. log_dir: the folder; a resumed run adds a file to it."""

    def __init__(self, log_dir):
        self.log_dir = os.fspath(log_dir)
        self._writer = None

    def on_log(self, run, values):
        if self._writer is None:
            from ..utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(self.log_dir)
        for name, value in values.items():
            self._writer.add_scalar(name, value, run.steps)
        self._writer.flush()

    def on_fit_end(self, run):
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def on_exception(self, run, error):
        self.on_fit_end(run)
