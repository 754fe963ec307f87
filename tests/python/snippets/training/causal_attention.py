"""Multi-head causal attention by hand and by scaled_dot_product_attention: values and gradients agree."""

from fixed import noise, settle


def run(torch):
    nn, F = torch.nn, torch.nn.functional
    b, t, c, heads = 2, 5, 8, 2
    qkv, out = settle(torch, nn.Linear(c, 3 * c)), settle(torch, nn.Linear(c, c), seed=4)
    x = noise(torch, b, t, c).requires_grad_()

    def split(x):
        q, k, v = qkv(x).chunk(3, dim=-1)
        return (z.view(b, t, heads, c // heads).transpose(1, 2) for z in (q, k, v))

    q, k, v = split(x)
    scores = q @ k.transpose(-2, -1) * (c // heads) ** -0.5
    scores = scores.masked_fill(torch.ones(t, t).triu(1).bool(), float("-inf"))
    by_hand = out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c))
    by_hand.square().sum().backward()
    first = x.grad.clone()
    x.grad = None
    q, k, v = split(x)
    fused = out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c))
    fused.square().sum().backward()
    mask = F.scaled_dot_product_attention(q, k, v, attn_mask=torch.ones(t, t).tril().bool())
    return {
        "out": fused,
        "gradient": x.grad,
        "same": [torch.allclose(by_hand, fused, atol=1e-5), torch.allclose(first, x.grad, atol=1e-4)],
        "masked": mask[0, 1],
    }
