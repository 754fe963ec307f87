"""Focal loss and Dice loss for masks, written with basic operations."""

from fixed import noise


def run(torch):
    F = torch.nn.functional
    logits = (noise(torch, 2, 1, 4, 4) * 3).requires_grad_()
    mask = (noise(torch, 2, 1, 4, 4, seed=5) > 0.3).float()
    bce = F.binary_cross_entropy_with_logits(logits, mask, reduction="none")
    p = torch.sigmoid(logits)
    p_t = p * mask + (1 - p) * (1 - mask)
    alpha = 0.25 * mask + 0.75 * (1 - mask)
    focal = (alpha * (1 - p_t) ** 2 * bce).mean()
    overlap = (p * mask).sum(dim=(1, 2, 3))
    dice = 1 - ((2 * overlap + 1) / (p.sum(dim=(1, 2, 3)) + mask.sum(dim=(1, 2, 3)) + 1))
    (focal + dice.mean()).backward()
    iou = ((p > 0.5) & mask.bool()).sum() / ((p > 0.5) | mask.bool()).sum()
    return {"focal": focal, "dice": dice, "gradient": logits.grad, "iou": iou}
