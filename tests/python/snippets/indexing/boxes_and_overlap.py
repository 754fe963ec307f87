"""Boxes: areas, intersection over union of all pairs, greedy suppression of what overlaps."""


def run(torch):
    boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30], [0, 0, 9, 12], [21, 19, 29, 31]])
    scores = torch.tensor([0.9, 0.8, 0.7, 0.95, 0.6])
    area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    low = torch.maximum(boxes[:, None, :2], boxes[None, :, :2])
    high = torch.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    overlap = shared / (area[:, None] + area - shared)
    order, kept = scores.argsort(descending=True).tolist(), []
    while order:
        best = order.pop(0)
        kept.append(best)
        order = [i for i in order if overlap[best, i] < 0.5]
    return {"area": area, "overlap": overlap, "kept": kept, "largest": overlap.fill_diagonal_(0).max(1).indices}
