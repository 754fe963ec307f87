"""An average of weights by _foreach functions, and gradient norms."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    model = settle(torch, nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1)))
    average = [p.detach().clone() for p in model.parameters()]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=True)
    for step in range(3):
        optimizer.zero_grad()
        model(noise(torch, 5, 3, seed=step)).square().mean().backward()
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(average, list(model.parameters()), 0.1)
    norms = torch.stack(torch._foreach_norm([p.grad for p in model.parameters()]))
    scaled = torch._foreach_mul([p.detach() for p in model.parameters()], 0.5)
    return {"average": average, "norms": norms, "total": norms.norm(), "scaled": scaled[0]}
