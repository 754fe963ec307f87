"""nn.MultiheadAttention with padding, a causal mask and weights returned; gradients of its parts."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    attention = settle(torch, nn.MultiheadAttention(embed_dim=8, num_heads=2, batch_first=True))
    x = noise(torch, 2, 4, 8).requires_grad_()
    padding = torch.tensor([[False, False, False, True], [False, False, False, False]])
    causal = torch.ones(4, 4, dtype=torch.bool).triu(1)
    out, weights = attention(x, x, x, key_padding_mask=padding, attn_mask=causal)
    out[:, :3].square().mean().backward()
    memory = noise(torch, 2, 6, 8, seed=2)
    crossed, none = attention(x, memory, memory, need_weights=False)
    return {
        "out": out,
        "weights": weights,
        "gradient": x.grad,
        "in_proj": attention.in_proj_weight.grad[:3],
        "crossed": crossed[0],
        "none": none is None,
        "names": [n for n, _ in attention.named_parameters()],
    }
