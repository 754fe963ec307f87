"""Checkpoints, logs and metrics around a training loop of your own (`Run`), and a ready-made loop (`Trainer`).

>>> import neura
>>> model = neura.nn.Linear(2, 1)
>>> run = neura.train.Run(model, neura.optim.SGD(model.parameters(), lr=0.1))
>>> batches = [(neura.ones(4, 2), neura.zeros(4, 1))] * 3
>>> for epoch in run.epochs(2):
...     for x, y in run.batches(batches):
...         taken = run.step(lambda: neura.nn.functional.mse_loss(model(x), y))
>>> run.steps
6
"""

from .callbacks import Callback, CSVLog, EarlyStopping, JSONLog, Progress, TensorBoardLog
from .distillation import Distiller, distillation_loss
from .finders import LearningRates, find_batch_size, find_lr
from .metrics import Accuracy, ConfusionMatrix, F1, Mean, Metric, Precision, Recall
from .run import Run
from .scores import AUROC, Perplexity
from .trainer import Trainer

__all__ = [
    "AUROC",
    "Accuracy",
    "CSVLog",
    "Callback",
    "ConfusionMatrix",
    "Distiller",
    "EarlyStopping",
    "F1",
    "JSONLog",
    "LearningRates",
    "Mean",
    "Metric",
    "Perplexity",
    "Precision",
    "Progress",
    "Recall",
    "Run",
    "TensorBoardLog",
    "Trainer",
    "distillation_loss",
    "find_batch_size",
    "find_lr",
]
