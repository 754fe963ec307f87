"""Averages of the weights of training: AveragedModel, the rates and the batch norm that go with it.

Izmailov and others, "Averaging Weights Leads to Wider Optima and Better Generalization", arXiv 1803.05407.
"""

import itertools

from .. import _neura
from .._neura import _schedules, errors
from ..autograd.grad_mode import no_grad
from ..nn import Module
from ._listed import constructor
from .lr_scheduler import LRScheduler, _one_for_all, _per_group

__all__ = [
    "AveragedModel",
    "SWALR",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _check_decay(decay):
    if not 0 <= decay <= 1:
        raise errors.ValueError(f"AveragedModel: expected a decay in [0, 1], got {decay}")


def get_ema_avg_fn(decay=0.999):
    """An exponential moving average of this decay, for avg_fn."""
    _check_decay(decay)

    @no_grad()
    def ema_update(averaged, new, num_averaged):
        return decay * averaged + (1 - decay) * new

    return ema_update


def get_swa_avg_fn():
    """The mean of all weights so far, for avg_fn."""

    @no_grad()
    def swa_update(averaged, new, num_averaged):
        return averaged + (new - averaged) / (num_averaged + 1)

    return swa_update


def _of_lists(update):
    @no_grad()
    def update_lists(averaged, new, num_averaged):
        for old, value in zip(averaged, new):
            old.copy_(update(old, value, num_averaged) if old.is_floating_point() or old.is_complex() else value)

    return update_lists


def get_ema_multi_avg_fn(decay=0.999):
    """get_ema_avg_fn for lists of tensors, which change in place, for multi_avg_fn."""
    return _of_lists(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn():
    """get_swa_avg_fn for lists of tensors, which change in place, for multi_avg_fn."""
    return _of_lists(get_swa_avg_fn())


class AveragedModel(Module):
    """A copy of a model, `module`, whose parameters become the average of those that `update_parameters` gets.

    By default the mean of all. avg_fn(averaged, new, num_averaged) gives another average of one tensor; multi_avg_fn
    takes lists of them and changes the first one in place. use_buffers: buffers are averaged too; otherwise they are
    those of the last model. `device`: where the copy is.

    >>> import neura
    >>> model = neura.nn.Linear(2, 1)
    >>> average = neura.optim.swa_utils.AveragedModel(model)
    >>> average.update_parameters(model)
    >>> neura.equal(average.module.weight, model.weight)
    True
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        import copy

        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise errors.ValueError("AveragedModel: expected avg_fn or multi_avg_fn, got both")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", _neura.tensor(0, dtype=_neura.int64, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def _averaged(self, model):
        more = model.buffers() if self.use_buffers else ()
        return [t.detach() for t in itertools.chain(model.parameters(), more)]

    @no_grad()
    def update_parameters(self, model):
        """Includes the weights of a model of the same architecture in the average."""
        ours, theirs = self._averaged(self.module), self._averaged(model)
        if [t.shape for t in ours] != [t.shape for t in theirs]:
            raise errors.ShapeError("update_parameters: expected a model with the parameters of the averaged one")
        theirs = [new.to(old.device) for old, new in zip(ours, theirs)]
        count = int(self.n_averaged)
        if count == 0:
            for old, new in zip(ours, theirs):
                old.copy_(new)
        elif self.avg_fn is not None:
            for old, new in zip(ours, theirs):
                old.copy_(self.avg_fn(old, new, count))
        else:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(ours, theirs, count)
        if not self.use_buffers:
            for old, new in zip(self.module.buffers(), model.buffers()):
                old.detach().copy_(new.detach())
        self.n_averaged += 1


class SWALR(LRScheduler):
    """Anneals each group's rate to `swa_lr` over `anneal_epochs`, by a cosine ("cos") or linearly; then constant."""

    def _begin(self, optimizer, swa_lr, anneal_epochs, anneal_strategy, last_epoch):
        self.anneal_epochs, self.anneal_strategy = anneal_epochs, anneal_strategy
        _schedules.check_Swa(self)
        self._for_new = _one_for_all(swa_lr=swa_lr)
        for group, rate in zip(optimizer.param_groups, _per_group("swa_lr", optimizer, swa_lr)):
            group["swa_lr"] = rate
        LRScheduler.__init__(self, optimizer, last_epoch)

    __init__ = constructor("optimizer", [("swa_lr",), *_schedules.arguments_Swa(), ("last_epoch", -1)], _begin)

    def _admit_groups(self):
        rates = [group["swa_lr"] for group in self.optimizer.param_groups if "swa_lr" in group]
        self._extend("swa_lr", rates, "the group, as group['swa_lr']")
        for group, rate in zip(self.optimizer.param_groups, rates):
            group.setdefault("swa_lr", rate)
        super()._admit_groups()

    def get_lr(self):
        return [_schedules.next_Swa(self, group["lr"], group["swa_lr"]) for group in self.optimizer.param_groups]


@no_grad()
def update_bn(loader, model, device=None):
    """The running statistics of the model's batch norms, computed again from one pass over the loader.

    Of batches that are lists or tuples the first item is the input; it is moved to `device`.
    """
    norms = [m for m in model.modules() if hasattr(m, "reset_running_stats") and m.running_mean is not None]
    if not norms:
        return
    momenta, was_training = [m.momentum for m in norms], model.training
    for m in norms:
        m.reset_running_stats()
        m.momentum = None  # the mean over all batches
    model.train()
    try:
        for batch in loader:
            batch = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(batch if device is None else batch.to(device))
    finally:
        for m, momentum in zip(norms, momenta):
            m.momentum = momentum
        model.train(was_training)
