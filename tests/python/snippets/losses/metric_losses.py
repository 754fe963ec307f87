"""Triplets, cosine embedding, margin ranking and hinge embedding."""

from fixed import noise


def run(torch):
    nn = torch.nn
    anchor, near, far = (noise(torch, 5, 4, seed=s).requires_grad_() for s in (1, 2, 3))
    triplet = nn.TripletMarginLoss(margin=0.5)(anchor, near, far)
    swapped = nn.functional.triplet_margin_loss(anchor, near, far, p=1, swap=True)
    sign = torch.tensor([1.0, -1, 1, -1, 1])
    cosine = nn.CosineEmbeddingLoss(margin=0.1)(anchor, near, sign)
    ranking = nn.MarginRankingLoss(margin=0.2)(anchor.sum(1), far.sum(1), sign)
    hinge = nn.HingeEmbeddingLoss()(nn.PairwiseDistance()(anchor, near), sign)
    (triplet + swapped + cosine + ranking + hinge).backward()
    return {
        "losses": torch.stack([triplet, swapped, cosine, ranking, hinge]),
        "anchor": anchor.grad,
        "far": far.grad,
        "distance": nn.functional.pairwise_distance(anchor, near),
        "cosine": nn.functional.cosine_similarity(anchor, near),
    }
