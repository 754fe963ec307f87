"""A collate function that pads sequences and returns their lengths and mask."""


def run(torch):
    pad_sequence = torch.nn.utils.rnn.pad_sequence
    DataLoader = torch.utils.data.DataLoader

    texts = [[1, 2, 3], [4], [5, 6], [7, 8, 9, 10], [11]]
    samples = [(torch.tensor(t), len(t) % 2) for t in texts]

    def collate(batch):
        sequences, labels = zip(*batch)
        lengths = torch.tensor([len(s) for s in sequences])
        padded = pad_sequence(sequences, batch_first=True, padding_value=0)
        return padded, lengths, torch.tensor(labels), padded != 0

    batches = list(DataLoader(samples, batch_size=2, collate_fn=collate))
    return {
        "padded": [b[0] for b in batches],
        "lengths": torch.cat([b[1] for b in batches]),
        "labels": torch.cat([b[2] for b in batches]),
        "masks": [b[3].sum(1) for b in batches],
        "time_first": pad_sequence([torch.ones(2), torch.ones(3)], padding_value=-1.0),
    }
