"""Cross entropy with class numbers, class weights, smoothing, ignored labels, probabilities, and over pictures."""

from fixed import noise


def run(torch):
    F = torch.nn.functional
    x = noise(torch, 5, 4) * 3
    y = torch.tensor([0, 3, 1, -100, 2])
    weight = torch.tensor([1.0, 0.5, 2.0, 0.25])
    soft = noise(torch, 5, 4, seed=7).softmax(1)
    maps, labels = noise(torch, 2, 3, 4, 4), (torch.arange(32) % 3).view(2, 4, 4)
    return {
        "plain": F.cross_entropy(x, y),
        "weighted": F.cross_entropy(x, y, weight=weight),
        "smoothed": F.cross_entropy(x, y, label_smoothing=0.1),
        "each": F.cross_entropy(x, y, reduction="none"),
        "sum": F.cross_entropy(x[:3], y[:3], weight=weight, reduction="sum"),
        "soft": F.cross_entropy(x, soft),
        "pixels": F.cross_entropy(maps, labels),
        "pixel_map": F.cross_entropy(maps, labels, reduction="none")[0, 0],
        "module": torch.nn.CrossEntropyLoss(ignore_index=3)(x[:3], y[:3]),
        "by_hand": -(x.log_softmax(1)[[0, 1, 2, 4], y[y >= 0]]).mean(),
    }
