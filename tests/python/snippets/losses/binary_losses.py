"""Binary cross entropy with probabilities and logits, positive weights, large logits."""

from fixed import noise


def run(torch):
    F = torch.nn.functional
    logits = (noise(torch, 4, 3) * 4).requires_grad_()
    target = (noise(torch, 4, 3, seed=1) > 0).float()
    with_logits = F.binary_cross_entropy_with_logits(logits, target)
    plain = F.binary_cross_entropy(logits.sigmoid(), target)
    weighted = torch.nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1.0, 3.0, 0.5]))(logits, target)
    weighted.backward()
    return {
        "with_logits": with_logits,
        "plain": plain,
        "weighted": weighted,
        "gradient": logits.grad,
        "extreme": F.binary_cross_entropy_with_logits(torch.tensor([200.0, -200.0]), torch.tensor([0.0, 1.0])),
        "at_one": F.binary_cross_entropy(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])),
        "each": F.binary_cross_entropy(logits.sigmoid(), target, weight=target + 1, reduction="none"),
    }
