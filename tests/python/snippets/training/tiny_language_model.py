"""A transformer of one block learns a short text by heart, in float32; greedy decoding."""

from fixed import settle


def run(torch):
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.ln1, self.ln2, self.heads = nn.LayerNorm(width), nn.LayerNorm(width), heads
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.qkv(self.ln1(x)).split(c, 2))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
            return x + self.mlp(self.ln2(x))

    class Model(nn.Module):
        def __init__(self, words, width, length):
            super().__init__()
            self.tok, self.pos = nn.Embedding(words, width), nn.Embedding(length, width)
            self.block, self.ln, self.head = Block(width, 2), nn.LayerNorm(width), nn.Linear(width, words, bias=False)

        def forward(self, ids):
            return self.head(self.ln(self.block(self.tok(ids) + self.pos(torch.arange(ids.size(1))))))

    ids = torch.tensor([[1, 5, 2, 5, 3, 0, 4, 1]])
    model = settle(torch, Model(6, 8, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(8):
        loss = F.cross_entropy(model(ids[:, :-1]).transpose(1, 2), ids[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return {"losses": torch.stack(losses), "greedy": model(ids).argmax(-1), "logits": model(ids)[0, -1]}
