"""A TransformerEncoder with a mask of padding, trained two steps."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, activation="gelu", norm_first=True)
    model = settle(torch, nn.TransformerEncoder(layer, 2, nn.LayerNorm(8), enable_nested_tensor=False))
    x = noise(torch, 3, 5, 8)
    padding = torch.arange(5)[None] >= torch.tensor([5, 3, 4])[:, None]
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(2):
        y = model(x, src_key_padding_mask=padding)
        loss = y[~padding].square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    causal = nn.Transformer.generate_square_subsequent_mask(4)
    return {"y": y[~padding], "losses": losses, "causal": torch.isinf(causal).sum(), "keys": len(model.state_dict())}
