"""A recurrent matrix kept orthogonal by a parametrization while it is trained."""

from fixed import noise


def run(torch):
    torch.set_default_dtype(torch.float64)
    nn = torch.nn
    cell = nn.Linear(4, 4, bias=False)
    with torch.no_grad():
        cell.weight.copy_(torch.linalg.qr(noise(torch, 4, 4).double())[0])
    nn.utils.parametrizations.orthogonal(cell, orthogonal_map="matrix_exp")
    first = cell.weight.detach().clone()
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
    h0, losses = noise(torch, 3, 4).double(), []
    for _ in range(4):
        h = h0
        for _ in range(5):
            h = cell(h)
        loss = (h - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    w = cell.weight
    return {
        "losses": losses,
        "weight": w,
        "gap": (w.T @ w - torch.eye(4)).abs().max() < 1e-12,
        "moved": bool((w - first).abs().max() > 0),
    }
