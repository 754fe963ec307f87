"""Greedy decoding with cached keys and values gives what the whole sequence gives."""

from fixed import noise


def run(torch):
    F = torch.nn.functional
    d, h = 8, 2
    wq, wk, wv = (noise(torch, d, d, seed=s) for s in range(3))

    def heads(x):
        return x.unflatten(-1, (h, d // h)).transpose(-3, -2)

    x = noise(torch, 1, 6, d, seed=5)
    whole = F.scaled_dot_product_attention(heads(x @ wq), heads(x @ wk), heads(x @ wv), is_causal=True)
    keys, values, rows = [], [], []
    for t in range(6):
        step = x[:, t : t + 1]
        keys.append(heads(step @ wk))
        values.append(heads(step @ wv))
        k, v = torch.cat(keys, -2), torch.cat(values, -2)
        rows.append(F.scaled_dot_product_attention(heads(step @ wq), k, v))
    stepwise = torch.cat(rows, -2)
    return {"whole": whole.transpose(1, 2).flatten(2), "same": torch.allclose(whole, stepwise, atol=1e-5), "k": k.shape}
