"""Minibatches, cross entropy, weight decay; loss and accuracy by epoch, in float32."""

from fixed import noise, settle


def run(torch):
    nn, F = torch.nn, torch.nn.functional
    centres = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [-1, -1, 0]])
    y = torch.arange(48) % 4
    x = centres[y] * 2 + noise(torch, 48, 3)
    model = settle(torch, nn.Linear(3, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, weight_decay=1e-3)
    history = []
    for epoch in range(3):
        total, correct = 0.0, 0
        for i in range(0, 48, 16):
            logits = model(x[i : i + 16])
            loss = F.cross_entropy(logits, y[i : i + 16])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            correct += (logits.argmax(dim=1) == y[i : i + 16]).sum().item()
        history.append([total / 3, correct / 48])
    return {"history": torch.tensor(history), "weight": model.weight}
