"""Non-maximum suppression and matching of boxes by their overlap."""


def run(torch):
    boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30], [21, 19, 29, 31], [0, 0, 5, 5]])
    scores = torch.tensor([0.9, 0.8, 0.7, 0.95, 0.3])

    def area(b):
        return (b[:, 2:] - b[:, :2]).clamp(min=0).prod(1)

    def iou(a, b):
        corner = torch.maximum(a[:, None, :2], b[None, :, :2])
        other = torch.minimum(a[:, None, 2:], b[None, :, 2:])
        inter = (other - corner).clamp(min=0).prod(2)
        return inter / (area(a)[:, None] + area(b)[None] - inter)

    order, keep = scores.argsort(descending=True), []
    while order.numel() > 0:
        i = order[0].item()
        keep.append(i)
        if order.numel() == 1:
            break
        rest = order[1:]
        order = rest[iou(boxes[i : i + 1], boxes[rest])[0] < 0.5]
    best, match = iou(boxes, boxes + 1).max(1)
    return {"keep": keep, "iou": iou(boxes, boxes), "best": best, "match": match}
