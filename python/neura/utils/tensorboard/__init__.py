"""Event files that TensorBoard shows: curves, histograms, pictures and text of a training."""

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
