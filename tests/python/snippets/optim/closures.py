"""Optimizers take a closure that computes the loss again and return it."""


def run(torch):
    w = torch.tensor([1.5, -0.5], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.5)
    calls = []

    def closure():
        optimizer.zero_grad()
        loss = (w**4).sum() + w.prod()
        loss.backward()
        calls.append(loss.item())
        return loss

    returned = [optimizer.step(closure).item() for _ in range(5)]
    return {
        "calls": torch.tensor(calls, dtype=torch.float64),
        "same": calls == returned,
        "w": w,
        "none": optimizer.step() is None,
    }
