"""Characters to numbers, a long text cut into blocks for a language model."""


def run(torch):
    DataLoader, Dataset = torch.utils.data.DataLoader, torch.utils.data.Dataset

    text = "a small text, said again: a small text."
    letters = sorted(set(text))
    number = {c: i for i, c in enumerate(letters)}
    ids = torch.tensor([number[c] for c in text], dtype=torch.long)

    class Blocks(Dataset):
        def __init__(self, ids, length):
            self.ids, self.length = ids, length

        def __len__(self):
            return (len(self.ids) - 1) // self.length

        def __getitem__(self, i):
            chunk = self.ids[i * self.length : (i + 1) * self.length + 1]
            return chunk[:-1], chunk[1:]

    x, y = next(iter(DataLoader(Blocks(ids, 8), batch_size=3)))
    return {
        "x": x,
        "y": y,
        "shifted": torch.equal(x[:, 1:], y[:, :-1]),
        "decoded": "".join(letters[i] for i in x[0]),
        "blocks": len(Blocks(ids, 8)),
        "frequency": torch.bincount(ids).topk(3).values,
    }
