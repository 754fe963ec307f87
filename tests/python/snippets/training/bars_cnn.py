"""A small convolutional net tells vertical from horizontal bars, in float32."""

from fixed import settle


def run(torch):
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 4, 3, padding=1)
            self.conv2 = nn.Conv2d(4, 8, 3)
            self.fc = nn.Linear(8 * 2 * 2, 2)

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.conv1(x)), 2)
            x = F.relu(self.conv2(x))
            return self.fc(torch.flatten(x, 1))

    images = torch.zeros(16, 1, 8, 8)
    for i in range(8):
        images[2 * i, 0, i] = 1
        images[2 * i + 1, 0, :, i] = 1
    labels = torch.arange(16) % 2
    net = settle(torch, Net())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(6):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return {"losses": torch.stack(losses), "gradient": net.conv1.weight.grad[0, 0], "out": net(images)[:3]}
