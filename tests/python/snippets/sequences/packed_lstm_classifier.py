"""Sentences of different lengths: embedding, packed LSTM, last states, a step of training."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    rnn = nn.utils.rnn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(12, 5, padding_idx=0)
            self.lstm = nn.LSTM(5, 4, num_layers=2, batch_first=True, bidirectional=True)
            self.head = nn.Linear(8, 3)

        def forward(self, tokens, lengths):
            packed = rnn.pack_padded_sequence(self.embed(tokens), lengths, batch_first=True, enforce_sorted=False)
            out, (h, c) = self.lstm(packed)
            padded, sizes = rnn.pad_packed_sequence(out, batch_first=True)
            return self.head(torch.cat([h[-2], h[-1]], 1)), padded, sizes

    model = settle(torch, Model())
    with torch.no_grad():
        for i, p in enumerate(p for p in model.parameters() if p.dim() == 1):
            p.copy_(noise(torch, p.numel(), seed=i) * 0.1)
    sentences = [torch.tensor([1, 2, 3]), torch.tensor([4, 5, 6, 7, 8]), torch.tensor([9, 10])]
    tokens = rnn.pad_sequence(sentences, batch_first=True)
    logits, padded, sizes = model(tokens, torch.tensor([len(s) for s in sentences]))
    loss = nn.functional.cross_entropy(logits, torch.tensor([0, 2, 1]), label_smoothing=0.1)
    loss.backward()
    return {
        "logits": logits,
        "padded": padded,
        "sizes": sizes,
        "loss": loss.item(),
        "embedding": model.embed.weight.grad[:4],
        "hh": model.lstm.weight_hh_l1_reverse.grad.sum(1),
    }
