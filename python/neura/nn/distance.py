"""The triplet loss with a Python distance function."""

from .. import _neura
from .._neura.nn import PairwiseDistance
from .module import Module

pairwise_distance = _neura.functional.pairwise_distance


def triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d a function of two tensors.

    distance_function: pairwise_distance where None
    swap: d(positive, negative) counts where it is smaller than d(anchor, negative)
    reduction: 'none', 'mean' or 'sum'

    ValueError for a margin that is not above 0 or another reduction.
    """
    if margin <= 0:
        raise ValueError(f"triplet_margin_with_distance_loss: expected margin above 0, got {margin}")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"triplet_margin_with_distance_loss: expected reduction none, mean or sum, got {reduction}")
    distance = distance_function or pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _neura.minimum(far, distance(positive, negative))
    loss = _neura.clamp_min(near - far + margin, 0)
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


class TripletMarginWithDistanceLoss(Module):
    """triplet_margin_with_distance_loss with its options: forward(anchor, positive, negative)."""

    def __init__(self, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
        super().__init__()
        if margin <= 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: expected margin above 0, got {margin}")
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin, self.swap, self.reduction = margin, swap, reduction

    def forward(self, anchor, positive, negative):
        return triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )
