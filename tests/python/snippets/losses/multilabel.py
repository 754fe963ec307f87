"""Several labels a sample: margins, soft margins, threshold metrics."""

from fixed import noise


def run(torch):
    F, nn = torch.nn.functional, torch.nn
    scores = (noise(torch, 4, 5) * 2).requires_grad_()
    many = (noise(torch, 4, 5, seed=1) > 0.2).float()
    ranked = torch.tensor([[3, 0, -1, 1, 2], [1, -1, 0, 0, 0], [4, 2, 0, -1, 1], [0, 1, 2, 3, 4]])
    losses = torch.stack(
        [
            F.multilabel_soft_margin_loss(scores, many),
            F.multilabel_margin_loss(scores, ranked),
            F.multi_margin_loss(scores, torch.tensor([0, 4, 2, 1]), p=1, margin=0.8),
            nn.SoftMarginLoss()(scores, many * 2 - 1),
        ]
    )
    losses.sum().backward()
    guess = scores > 0
    hit = (guess & (many > 0)).sum(0)
    return {
        "losses": losses,
        "gradient": scores.grad,
        "precision": hit / guess.sum(0).clamp(min=1),
        "exact": (guess == many.bool()).all(1).float().mean(),
    }
