"""Vocabulary of a text by unique: ids, inverse, counts, the most frequent."""


def run(torch):
    text = "the cat sat on the mat and the dog sat on the cat"
    words = text.split()
    first = {w: i for i, w in enumerate(dict.fromkeys(words))}
    ids = torch.tensor([first[w] for w in words])
    values, inverse, counts = torch.unique(ids, return_inverse=True, return_counts=True)
    runs, lengths = torch.unique_consecutive(torch.tensor([1, 1, 2, 2, 2, 1]), return_counts=True)
    frequent = counts.topk(2)
    return {
        "values": values,
        "same": torch.equal(values[inverse], ids),
        "counts": counts,
        "most": [list(first)[i] for i in frequent.indices],
        "most_counts": frequent.values,
        "runs": runs,
        "lengths": lengths,
        "bincount": torch.bincount(ids),
        "is_in": torch.isin(ids, torch.tensor([0, 2])),
    }
