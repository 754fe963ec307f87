"""Every usual optimizer over the same small quadratic with its own arguments; where each arrives."""


def run(torch):
    optim = torch.optim
    makers = {
        "sgd": lambda p: optim.SGD(p, lr=0.1),
        "momentum": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, dampening=0.1, weight_decay=0.01),
        "nesterov": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
        "adam": lambda p: optim.Adam(p, lr=0.1, betas=(0.8, 0.99)),
        "amsgrad": lambda p: optim.Adam(p, lr=0.1, amsgrad=True, weight_decay=0.1),
        "adamw": lambda p: optim.AdamW(p, lr=0.1, weight_decay=0.1),
        "rmsprop": lambda p: optim.RMSprop(p, lr=0.05, alpha=0.9, momentum=0.5, centered=True),
        "adagrad": lambda p: optim.Adagrad(p, lr=0.5, lr_decay=0.01),
    }
    results = {}
    for name, make in makers.items():
        w = torch.tensor([2.0, -3.0], dtype=torch.float64, requires_grad=True)
        optimizer = make([w])
        path = []
        for _ in range(12):
            optimizer.zero_grad()
            loss = w[0] ** 2 + 0.5 * (w[1] - 1) ** 2 + 0.3 * w[0] * w[1]
            loss.backward()
            optimizer.step()
            path.append(w.detach().clone())
        results[name] = torch.stack(path)
    return results
