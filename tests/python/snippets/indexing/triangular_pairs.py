"""The upper triangle of a similarity matrix: indices, flattening, back to a symmetric matrix."""

from fixed import noise


def run(torch):
    x = torch.nn.functional.normalize(noise(torch, 5, 3), dim=1)
    similarity = x @ x.T
    i, j = torch.triu_indices(5, 5, offset=1)
    flat = similarity[i, j]
    back = torch.zeros(5, 5)
    back[i, j] = flat
    back = back + back.T + torch.eye(5)
    best = flat.argmax()
    return {
        "flat": flat,
        "back": back,
        "closest": [i[best].item(), j[best].item()],
        "lower": torch.tril_indices(3, 3),
        "combinations": torch.combinations(torch.arange(4)),
        "mean_without_self": (similarity.sum(1) - similarity.diagonal()) / 4,
    }
