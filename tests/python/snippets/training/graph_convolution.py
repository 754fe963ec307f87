"""Two graph convolutions over a normalised adjacency matrix; labels known for a few nodes."""

from fixed import settle


def run(torch):
    nn, F = torch.nn, torch.nn.functional

    class GraphConv(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.weight = nn.Parameter(torch.empty(inputs, outputs))
            self.bias = nn.Parameter(torch.zeros(outputs))
            nn.init.xavier_uniform_(self.weight)

        def forward(self, x, adjacency):
            return adjacency @ (x @ self.weight) + self.bias

    edges = torch.tensor([[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3], [2, 3]])
    adjacency = torch.eye(6, dtype=torch.float64)
    adjacency[edges[:, 0], edges[:, 1]] = 1
    adjacency[edges[:, 1], edges[:, 0]] = 1
    scale = adjacency.sum(1).rsqrt()
    adjacency = scale[:, None] * adjacency * scale[None, :]
    layers = settle(torch, nn.ModuleList([GraphConv(6, 4), GraphConv(4, 2)])).double()
    optimizer = torch.optim.Adam(layers.parameters(), lr=0.05, weight_decay=5e-4)
    target, known = torch.tensor([0, 0, 0, 1, 1, 1]), torch.tensor([True, False, False, False, False, True])
    losses = []
    for _ in range(20):
        h = F.relu(layers[0](torch.eye(6, dtype=torch.float64), adjacency))
        logits = layers[1](h, adjacency)
        loss = F.cross_entropy(logits[known], target[known])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return {
        "losses": torch.stack(losses)[::4],
        "logits": logits,
        "right": (logits.argmax(1) == target).sum(),
        "adjacency": adjacency[0],
    }
