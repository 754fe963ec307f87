"""A ready-made loop: a few lines over Run."""

from .. import _neura
from .._neura import Tensor, errors
from ..utils.data.collate import walk
from ._evaluation import evaluating
from .run import Run


class Trainer:
    """Trains, validates, tests and predicts. Each method with "_step" in its name may be overridden.

    Arguments:
        model: a Module.
        optimizer: an Optimizer of its parameters.
        loss: a function of (output, target): the mean over a batch, or a pair of a sum and its weight.
        metrics: Metrics by name, for validation and test.
        device: where the model and the batches are put; None: they stay where they are.
        **options: those of `Run`, which is `trainer.run`.

    A batch is (input, target), unless you override `training_step`, `evaluation_step` and `predict_step`.

    >>> data = [(neura.ones(4, 2), neura.zeros(4, 1))] * 3
    >>> model = neura.nn.Linear(2, 1)
    >>> optimizer = neura.optim.SGD(model.parameters(), lr=0.1)
    >>> trainer = neura.train.Trainer(model, optimizer, neura.nn.functional.mse_loss)
    >>> trainer.fit(data, max_epochs=5)
    >>> trainer.test(data)["loss"] < 0.1
    True
    """

    def __init__(self, model, optimizer, loss=None, *, metrics=None, device=None, **options):
        self.device = None if device is None else _neura.device(device)
        self.model = model if device is None else model.to(self.device)
        self.loss, self.metrics = loss, dict(metrics or {})
        self.run = Run(self.model, optimizer, **options)

    def training_step(self, batch):
        """The loss of a batch, with gradients: a mean, or a pair of a sum and its weight."""
        return self._loss(self.model(batch[0]), batch[1])

    def evaluation_step(self, batch):
        """Values of a batch as `Run.evaluate` takes them."""
        output = self.evaluated(batch[0])
        return {"loss": self._loss(output, batch[1]), "metrics": (output, batch[1])}

    def predict_step(self, batch):
        """The model's output for a batch, or for the first part of one."""
        return self.evaluated(batch[0] if isinstance(batch, (list, tuple)) else batch)

    @property
    def evaluated(self):
        """What is evaluated: the average of the weights where the run keeps one, otherwise the model."""
        return self.model if self.run.ema is None or self.run.steps == 0 else self.run.ema.module

    def _loss(self, output, target):
        if self.loss is None:
            raise errors.ValueError("Trainer: expected a loss, got None; give one, or override training_step")
        return self.loss(output, target)

    def _placed(self, batch):
        if self.device is None:
            return batch
        return walk(batch, lambda x: x.to(self.device, non_blocking=True) if isinstance(x, Tensor) else x)

    def fit(self, train, validation=None, *, max_epochs, resume=False):
        """Trains for `max_epochs` epochs in all, validating after each, the values named "val/...".

        resume: continues from the newest checkpoint of the run's folder, if there is one.
        """
        run, step = self.run, self.training_step
        if resume:
            run.resume()
        with run:
            for _ in run.epochs(max_epochs):
                self.model.train()
                for batch in run.batches(train):
                    batch = self._placed(batch)
                    run.step(lambda: step(batch))
                if validation is not None:
                    self._evaluate("val", validation)

    def validate(self, loader):
        """Means over a loader, by name, logged as "val/name"."""
        return self._evaluate("val", loader)

    def test(self, loader):
        """Means over a loader, by name, logged as "test/name"."""
        return self._evaluate("test", loader)

    def _evaluate(self, name, loader):
        return self.run.evaluate(name, loader, lambda b: self.evaluation_step(self._placed(b)), self.metrics)

    def predict(self, loader):
        """The outputs of all batches, a list. Without gradients, in eval mode."""
        with evaluating(self.evaluated):
            return [self.predict_step(self._placed(batch)) for batch in loader]
