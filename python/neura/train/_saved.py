"""What a run writes and continues from."""

import math
import os

from .._neura import errors
from . import _files, _random


class Saved:
    """The part of a Run that is saved."""

    def state_dict(self):
        """All that a checkpoint holds, of tensors and plain values. Not within a group of `accumulate` batches:
        ValueError."""
        if self._micro:
            raise errors.ValueError(
                f"save: expected a group of {self.accumulate} batches to be complete, got {self._micro}; call flush()"
            )
        parts = {"scheduler": self.scheduler, "scaler": self.scaler, "ema": self.ema}
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            **{name: part.state_dict() for name, part in parts.items() if part is not None},
            "callbacks": [c.state_dict() if hasattr(c, "state_dict") else {} for c in self.callbacks],
            "position": {
                "steps": self.steps,
                "epoch": self.epoch,
                "batch": self.batch,
                "rows": self.rows,
                "best": self.best,
                "stopped": self.stopped,
                "values": dict(self.values),
                "losses": [(float(value), weight) for value, weight in self._losses],
            },
            "random": _random.state(self._loader),
            "order": self._order,
        }

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` gave. ValueError, and nothing changed, where parts are missing or too many."""
        parts = {"scheduler": self.scheduler, "scaler": self.scaler, "ema": self.ema}
        for name, part in parts.items():
            if (part is not None) != (name in state_dict):
                have, other = ("one", "none") if part is not None else ("none", "one")
                raise errors.ValueError(f"resume: expected {have} as {name}, as this run has, got {other} in the file")
        if len(state_dict["callbacks"]) != len(self.callbacks):
            raise errors.ValueError(
                f"resume: expected the states of {len(self.callbacks)} callbacks, got {len(state_dict['callbacks'])}"
            )
        self.model.load_state_dict(state_dict["model"])
        self.optimizer.load_state_dict(state_dict["optimizer"])
        for name, part in parts.items():
            if part is not None:
                part.load_state_dict(state_dict[name])
        for callback, state in zip(self.callbacks, state_dict["callbacks"]):
            if hasattr(callback, "load_state_dict"):
                callback.load_state_dict(state)
        at = state_dict["position"]
        self.steps, self.epoch, self.batch, self.rows = at["steps"], at["epoch"], at["batch"], at["rows"]
        self.best, self.stopped, self.values = at["best"], at["stopped"], dict(at["values"])
        self._losses = [(value, weight) for value, weight in at["losses"]]
        self._micro, self._weight, self._due, self._passed = 0, 0.0, False, None
        self._order, self._now = state_dict["order"], state_dict["random"]
        _random.restore(self._now)

    def _check_losses(self):
        """Before losses that are not finite are logged, or weights that came from them saved."""
        if not self.check_finite or self.scaler is not None:
            return
        self._losses = [(float(value), weight) for value, weight in self._losses]
        for value, _ in self._losses:
            if not math.isfinite(value):
                raise errors.ValueError(
                    f"Run: expected finite losses, got {value} by step {self.steps}; go on from an earlier "
                    f"checkpoint or begin anew with a lower learning rate or clip_norm=1, or look for the operation "
                    f"with neura.profiler.NanTracker (check_finite=False lets it run on)"
                )

    def save(self):
        """Writes a checkpoint into the folder, complete or not at all, and returns its path. ValueError without a
        folder, and within a group of `accumulate` batches; IoError if the system refuses."""
        if self.folder is None:
            raise errors.ValueError("save: expected a folder, got None; give the Run one")
        self._check_losses()
        path = _files.save_step(self.folder, self.steps, self.state_dict(), self.keep, self._rewound)
        self._rewound = False
        self._tell("on_save", path)
        return path

    def _save_best(self):
        os.makedirs(self.folder, exist_ok=True)
        state = {"model": self.model.state_dict(), "step": self.steps, "epoch": self.epoch, "values": dict(self.values)}
        if self.ema is not None:
            state["ema"] = self.ema.module.state_dict()
        _files.save(state, os.path.join(self.folder, "best.safetensors"))

    def resume(self, path=None):
        """Goes on from a checkpoint, the newest of the folder if `path` is None. Returns whether there was one.

        Before the loop, with the model, optimizer and all else made as they were for the first start. The next save
        removes checkpoints of later steps, which the run no longer comes from. FormatError for a file that is no
        checkpoint, IoError if the system refuses.
        """
        if path is None:
            if self.folder is None:
                raise errors.ValueError("resume: expected a folder or a path, got neither; give the Run a folder")
            if not os.path.isdir(self.folder):
                return False
            _files.sweep(self.folder)
            found = _files.checkpoints(self.folder)
            if not found:
                return False
            path = found[-1][1]
        self.load_state_dict(_files.load_step(path))
        self._rewound = True
        self._tell("on_load", path)
        return True
