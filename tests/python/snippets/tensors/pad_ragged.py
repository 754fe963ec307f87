"""Pad sequences of different lengths, build their mask, take means that ignore the padding."""


def run(torch):
    sequences = [torch.arange(1.0, n + 1) * n for n in (3, 1, 5, 2)]
    lengths = torch.tensor([len(s) for s in sequences])
    padded = torch.zeros(len(sequences), int(lengths.max()))
    for row, s in zip(padded, sequences):
        row[: len(s)] = s
    mask = torch.arange(padded.size(1)) < lengths.unsqueeze(1)
    mean = (padded * mask).sum(1) / lengths
    last = padded.gather(1, (lengths - 1).unsqueeze(1)).squeeze(1)
    softmax = padded.masked_fill(~mask, float("-inf")).softmax(dim=1)
    return {
        "padded": padded,
        "mask": mask,
        "mean": mean,
        "last": last,
        "softmax": softmax,
        "maximum": padded.where(mask, torch.tensor(float("-inf"))).max(1).values,
    }
