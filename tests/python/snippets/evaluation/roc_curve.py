"""The ROC curve, the area under it and the best threshold from scores and labels."""

from fixed import noise


def run(torch):
    labels = (torch.arange(40) % 3 == 0).double()
    scores = noise(torch, 40).double() + labels * 0.8
    order = scores.argsort(descending=True)
    hits = labels[order].cumsum(0) / labels.sum()
    alarms = (1 - labels[order]).cumsum(0) / (1 - labels).sum()
    zero = torch.zeros(1, dtype=torch.float64)
    area = torch.trapezoid(torch.cat([zero, hits]), torch.cat([zero, alarms]))
    pairs = scores[labels == 1][:, None] > scores[labels == 0][None]
    best = (hits - alarms).argmax()
    precision = labels[order].cumsum(0) / torch.arange(1, 41)
    return {
        "area": area,
        "same": torch.allclose(area, pairs.double().mean()),
        "threshold": scores[order][best],
        "average_precision": (precision * labels[order]).sum() / labels.sum(),
        "hits": hits[::8],
    }
