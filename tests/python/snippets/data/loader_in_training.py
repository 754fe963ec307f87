"""Enumerate a loader with progress, running loss and accuracy, as in every script."""

from fixed import noise, settle


def run(torch):
    DataLoader, TensorDataset = torch.utils.data.DataLoader, torch.utils.data.TensorDataset

    x = noise(torch, 20, 3)
    y = (x.sum(1) > 0).long()
    loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=False)
    net = settle(torch, torch.nn.Linear(3, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    lines = []
    for epoch in range(2):
        running, correct, seen = 0.0, 0, 0
        for step, (inputs, targets) in enumerate(loader, 1):
            optimizer.zero_grad()
            out = net(inputs)
            loss = torch.nn.functional.cross_entropy(out, targets)
            loss.backward()
            optimizer.step()
            running += loss.item() * len(targets)
            correct += (out.argmax(1) == targets).sum().item()
            seen += len(targets)
        lines.append(f"epoch {epoch}: {step}/{len(loader)} loss {running / seen:.3f} accuracy {correct / seen:.2%}")
    return {"lines": lines, "weight": net.weight}
