"""A Trainer with callbacks, devices, evaluation and a history, as projects write their own."""

from fixed import noise, settle


def run(torch):
    DataLoader, TensorDataset = torch.utils.data.DataLoader, torch.utils.data.TensorDataset

    class Trainer:
        def __init__(self, model, optimizer, criterion, device="cpu", callbacks=()):
            self.model, self.optimizer, self.criterion = model.to(device), optimizer, criterion
            self.device, self.callbacks, self.history = torch.device(device), callbacks, []

        def run_epoch(self, loader, train):
            self.model.train(train)
            total, correct, count = 0.0, 0, 0
            with torch.set_grad_enabled(train):
                for x, y in loader:
                    x, y = x.to(self.device, non_blocking=True), y.to(self.device)
                    out = self.model(x)
                    loss = self.criterion(out, y)
                    if train:
                        self.optimizer.zero_grad()
                        loss.backward()
                        self.optimizer.step()
                    total += loss.item() * y.size(0)
                    correct += out.argmax(1).eq(y).sum().item()
                    count += y.size(0)
            return total / count, correct / count

        def fit(self, train, valid, epochs):
            for epoch in range(epochs):
                row = (*self.run_epoch(train, True), *self.run_epoch(valid, False))
                self.history.append(row)
                for callback in self.callbacks:
                    callback(epoch, row)

    x = noise(torch, 24, 4)
    y = (x[:, 0] * x[:, 1] > 0).long()
    net = settle(torch, torch.nn.Sequential(torch.nn.Linear(4, 12), torch.nn.ReLU(), torch.nn.Linear(12, 2)))
    lines = []
    trainer = Trainer(
        net,
        torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.5),
        torch.nn.CrossEntropyLoss(),
        callbacks=[lambda epoch, row: lines.append(f"{epoch} {row[3]:.2f}")],
    )
    train, valid = TensorDataset(x[:16], y[:16]), TensorDataset(x[16:], y[16:])
    trainer.fit(DataLoader(train, batch_size=4), DataLoader(valid, batch_size=8), 3)
    return {"history": torch.tensor(trainer.history), "lines": lines}
