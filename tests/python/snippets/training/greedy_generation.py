"""A bigram model of letters by gradient descent, then text written greedily and by temperature."""


def run(torch):
    F = torch.nn.functional
    text = "abracadabra abracadabra "
    letters = sorted(set(text))
    number = {c: i for i, c in enumerate(letters)}
    ids = torch.tensor([number[c] for c in text])
    table = torch.zeros(len(letters), len(letters), dtype=torch.float64, requires_grad=True)
    for _ in range(60):
        loss = F.cross_entropy(table[ids[:-1]], ids[1:]) + 0.001 * table.pow(2).mean()
        (gradient,) = torch.autograd.grad(loss, table)
        with torch.no_grad():
            table -= 5 * gradient
    current, written = number["c"], ["c"]
    for _ in range(8):
        current = int(table[current].argmax())
        written.append(letters[current])
    cold, hot = (table[number["a"]] / 0.5).softmax(0), (table[number["a"]] / 2).softmax(0)
    counts = torch.zeros(len(letters), len(letters)).index_put(
        (ids[:-1], ids[1:]), torch.ones(len(ids) - 1), accumulate=True
    )
    return {"loss": loss, "written": "".join(written), "cold": cold, "hot": hot, "counts": counts}
