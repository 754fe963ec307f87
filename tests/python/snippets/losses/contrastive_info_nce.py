"""InfoNCE over two views: normalised embeddings, temperature, both directions, gradient."""

from fixed import noise


def run(torch):
    F = torch.nn.functional
    a, b = noise(torch, 6, 8, seed=1).requires_grad_(), noise(torch, 6, 8, seed=2).requires_grad_()
    za, zb = F.normalize(a, dim=-1), F.normalize(b, dim=-1)
    logits = za @ zb.T / 0.2
    labels = torch.arange(6)
    loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2
    loss.backward()
    z = torch.cat([za, zb])
    similar = (z @ z.T / 0.5).fill_diagonal_(float("-inf"))
    nt_xent = F.cross_entropy(similar, torch.cat([labels + 6, labels]))
    return {
        "loss": loss,
        "a": a.grad,
        "b": b.grad,
        "nt_xent": nt_xent,
        "top": logits.argmax(1),
        "norms": za.norm(dim=1),
    }
