"""Bags of words: sums, means and maxima by offsets, with weights."""

from fixed import noise


def run(torch):
    F, nn = torch.nn.functional, torch.nn
    table = noise(torch, 6, 3).requires_grad_()
    words, offsets = torch.tensor([0, 2, 2, 5, 1]), torch.tensor([0, 3, 3])
    bag = nn.EmbeddingBag.from_pretrained(table.detach(), mode="sum")
    total = F.embedding_bag(words, table, offsets, mode="sum", per_sample_weights=torch.tensor([1.0, 2, 3, 4, 5]))
    total.square().sum().backward()
    return {
        "mean": F.embedding_bag(words, table, offsets, mode="mean"),
        "max": F.embedding_bag(words[:3].view(1, 3), table, mode="max"),
        "total": total,
        "gradient": table.grad,
        "bag": bag(words, offsets),
        "text": str(bag),
        "renormed": F.embedding(words, table.detach() * 3, max_norm=1.0).norm(dim=1),
    }
