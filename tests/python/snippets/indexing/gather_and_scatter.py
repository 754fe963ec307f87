"""gather along each dimension, scatter back, and adding up with scatter_add and scatter_reduce."""

from fixed import noise


def run(torch):
    logits = noise(torch, 4, 6)
    target = torch.tensor([1, 0, 5, 2])
    chosen = logits.log_softmax(1).gather(1, target[:, None]).squeeze(1)
    order = logits.argsort(dim=1, descending=True)
    ranks = torch.empty_like(order).scatter_(1, order, torch.arange(6).expand(4, 6))
    values = torch.arange(1.0, 9.0)
    bucket = torch.tensor([0, 2, 0, 1, 2, 2, 0, 1])
    sums = torch.zeros(3).scatter_add_(0, bucket, values)
    largest = torch.zeros(3).scatter_reduce(0, bucket, values, reduce="amax", include_self=False)
    mean = torch.zeros(3).scatter_reduce(0, bucket, values, reduce="mean", include_self=False)
    return {
        "chosen": chosen,
        "loss": -chosen.mean(),
        "ranks": ranks,
        "sums": sums,
        "largest": largest,
        "mean": mean,
        "columns": logits.gather(0, torch.tensor([[3, 2, 1, 0, 0, 1]])),
        "take_along": torch.take_along_dim(logits, order[:, :2], dim=1),
    }
