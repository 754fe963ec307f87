"""Distillation (Hinton et al., 2015): a network that learns from the answers of another."""

from .. import nn
from .._neura import errors
from ..autograd.grad_mode import no_grad
from ..nn import functional as F


def distillation_loss(student, teacher, temperature=2.0, reduction="batchmean"):
    """How far a student's scores are from a teacher's, both softened by a temperature.

    student, teacher (Tensor): scores [N, classes] or [..., classes], of one shape. temperature (float): above 0; the
    loss is times its square, so that gradients stay as large as a label's. reduction: "batchmean" (by the first
    dimension), "mean", "sum" or "none". The teacher's scores get no gradient. ShapeError for other shapes, ValueError
    for another temperature.

    >>> import neura
    >>> x = neura.tensor([[1.0, 2.0, 3.0]])
    >>> neura.train.distillation_loss(x, x).item()
    0.0
    """
    if student.shape != teacher.shape:
        raise errors.ShapeError(
            f"distillation_loss: expected scores of one shape, got {list(student.shape)} and {list(teacher.shape)}"
        )
    if not temperature > 0:
        raise errors.ValueError(f"distillation_loss: expected a temperature above 0, got {temperature}")
    said = F.log_softmax(student / temperature, dim=-1)
    soft = F.log_softmax(teacher.detach() / temperature, dim=-1)
    return F.kl_div(said, soft, reduction=reduction, log_target=True) * temperature**2


class Distiller(nn.Module):
    """The loss of a student: of the teacher's answers, and of the labels where there are some.

    teacher (Module): frozen here, in evaluation mode, on whatever device it is: inputs go there, its scores come back.
    temperature (float): see distillation_loss. alpha (float): from 0 to 1, how much the teacher counts against the
    labels, else ValueError.

    >>> import neura
    >>> teacher, student = neura.nn.Linear(4, 3), neura.nn.Linear(4, 3)
    >>> distiller = neura.train.Distiller(teacher, temperature=4.0, alpha=0.9)
    >>> x, y = neura.randn(8, 4), neura.randint(0, 3, (8,))
    >>> distiller(student(x), x, y).backward()
    >>> teacher.weight.grad is None and student.weight.grad is not None
    True
    """

    def __init__(self, teacher, temperature=2.0, alpha=0.5):
        super().__init__()
        if not 0 <= alpha <= 1:
            raise errors.ValueError(f"Distiller: expected alpha from 0 to 1, got {alpha}")
        if not temperature > 0:
            raise errors.ValueError(f"Distiller: expected a temperature above 0, got {temperature}")
        self.teacher, self.temperature, self.alpha = teacher.requires_grad_(False), temperature, alpha
        self.train(False)

    def train(self, mode=True):
        """The teacher stays in evaluation mode."""
        super().train(mode)
        self.teacher.eval()
        return self

    def answers(self, inputs):
        """The teacher's scores of inputs (a Tensor), on the device of the inputs, without gradients."""
        place = next((p.device for p in self.teacher.parameters()), inputs.device)
        with no_grad():
            return self.teacher(inputs.to(place)).to(inputs.device)

    def forward(self, student, inputs, target=None):
        """alpha * distillation_loss + (1 - alpha) * cross_entropy; without a target, the former alone.

        student (Tensor): the student's scores of `inputs`, [N, classes]; target: classes [N], or probabilities.
        """
        soft = distillation_loss(student, self.answers(inputs), self.temperature)
        return soft if target is None else self.alpha * soft + (1 - self.alpha) * F.cross_entropy(student, target)
