"""Schedulers made of others. `neura.optim.lr_scheduler` has them all."""

from bisect import bisect_right

from .._neura import errors
from .lr_scheduler import LRScheduler, _detached, _write
from .lr_scheduler_options import ReduceLROnPlateau


class _OfOthers(LRScheduler):
    _not_saved = ("optimizer", "_schedulers")

    def _check(self, schedulers, optimizer):
        name = type(self).__name__
        if not schedulers:
            raise errors.ValueError(f"{name}: expected schedulers, got none")
        for s in schedulers:
            if not hasattr(s, "optimizer"):
                raise TypeError(f"{name}: expected schedulers, got {type(s).__name__}")
            if isinstance(s, ReduceLROnPlateau):
                raise errors.ValueError(f"{name}: expected schedulers that need no metrics, got ReduceLROnPlateau")
            if s.optimizer is not optimizer:
                raise errors.ValueError(f"{name}: expected schedulers of one optimizer, got two")

    def _update_lr(self, epoch=None):
        self.step(epoch)

    def state_dict(self):
        """Everything but the optimizer, with the states of the schedulers."""
        return {**super().state_dict(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict):
        state = dict(state_dict)
        states = state.pop("_schedulers")
        if len(states) != len(self._schedulers):
            raise errors.ValueError(
                f"load_state_dict: expected the states of {len(self._schedulers)} schedulers, got {len(states)}"
            )
        self.__dict__.update(state)
        for s, saved in zip(self._schedulers, states):
            s.load_state_dict(saved)


class SequentialLR(_OfOthers):
    """Schedulers in sequence: at each of the `milestones` the next one takes over, from its epoch 0."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        self._check(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise errors.ValueError(
                f"SequentialLR: expected {len(schedulers) - 1} milestones, one between every two schedulers, "
                f"got {len(milestones)}"
            )
        self.optimizer, self._schedulers, self._milestones = optimizer, schedulers, milestones
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:
            _write(group, group["initial_lr"])
        self._undo(self)
        schedulers[0]._initial_step()
        self._last_lr = schedulers[0].get_last_lr()

    def _undo(self, scheduler):
        """Takes back the step that each scheduler made when it was made."""
        for s in scheduler._schedulers:
            if isinstance(s, _OfOthers):
                self._undo(s)
            else:
                s.last_epoch -= 1

    def _initial_step(self):
        self._schedulers[0]._initial_step()

    def step(self, epoch=None):
        """Advances by one epoch."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        i = bisect_right(self._milestones, self.last_epoch)
        now = self._schedulers[i]
        now._update_lr(0) if i > 0 and self._milestones[i - 1] == self.last_epoch else now.step()
        self._last_lr = now.get_last_lr()


class ChainedScheduler(_OfOthers):
    """Steps all schedulers together, each from the rate that the one before it left."""

    def __init__(self, schedulers, optimizer=None):
        optimizer = optimizer or (schedulers[0].optimizer if schedulers else None)
        self._check(schedulers, optimizer)
        self.optimizer, self._schedulers = optimizer, schedulers
        self._last_lr = [_detached(group["lr"]) for group in optimizer.param_groups]

    def _initial_step(self):
        for s in self._schedulers:
            s._initial_step()

    def step(self, epoch=None):
        """One step of every scheduler, in their order."""
        for s in self._schedulers:
            s.step() if epoch is None else s.step(epoch)
        self._last_lr = [_detached(group["lr"]) for group in self.optimizer.param_groups]
