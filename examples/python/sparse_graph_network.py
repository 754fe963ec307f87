"""A graph network (Kipf and Welling, 2017): who belongs to which group, when a few of the members are known and who
knows whom? The graph is a sparse matrix; a layer is one product with it.

python examples/python/sparse_graph_network.py [--device cuda]
"""

import neura
from example import options
from neura import nn

args = options(__doc__)
neura.manual_seed(0)
groups, count = 4, 400 if args.quick else 4000

# %% A graph: members of one group know each other more often
label = neura.randint(0, groups, (count,))
degree = 12
source = neura.arange(count).repeat_interleave(degree)
members = [(label == g).nonzero().flatten() for g in range(groups)]
same = neura.rand(count * degree) < 0.7
own = neura.stack([members[g][neura.randint(0, len(members[g]), (1,))][0] for g in label[source].tolist()])
target = neura.where(same, own, neura.randint(0, count, (count * degree,)))
edges = neura.cat([neura.stack([source, target]), neura.stack([target, source])], dim=1)  # both directions

# %% Its matrix A, with every member's own loop, scaled on both sides: D^-1/2 (A + I) D^-1/2
loops = neura.arange(count).repeat(2, 1)
indices = neura.cat([edges, loops], dim=1)
a = neura.sparse_coo_tensor(indices, neura.ones(indices.shape[1]), (count, count)).coalesce()  # repeated ones are added
scale = neura.sparse.sum(a, dim=1).to_dense().rsqrt()
row, column = a.indices()
a = neura.sparse_coo_tensor(a.indices(), a.values() * scale[row] * scale[column], a.shape).to_sparse_csr()
print(f"{count} members, {a.values().numel()} stored elements of {count * count}")
a, label = a.to(args.device), label.to(args.device)


class GraphLayer(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, a, h):
        return a @ self.linear(h)  # a sparse matrix times a dense one


class GraphNetwork(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = GraphLayer(8, width), GraphLayer(width, groups)

    def forward(self, a, h):
        return self.second(a, nn.functional.dropout(self.first(a, h).relu(), 0.3, self.training))


# %% Features are noise with a little of the group in it; 10 % of the labels are known
features = neura.randn(count, 8, device=args.device)
features[neura.arange(count, device=args.device), label] += 0.7
known = neura.rand(count, device=args.device) < 0.1


def train(predict, parameters):
    optimizer = neura.optim.Adam(parameters, lr=0.02, weight_decay=5e-4)
    for _ in range(100 if args.quick else 200):
        loss = nn.functional.cross_entropy(predict()[known], label[known])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def accuracy(scores):
    return (scores.argmax(1) == label)[~known].float().mean().item()


net, alone = GraphNetwork(32).to(args.device), nn.Linear(8, groups).to(args.device)
train(lambda: net(a, features), net.parameters())
train(lambda: alone(features), alone.parameters())
net.eval()
with neura.no_grad():
    with_graph, without = accuracy(net(a, features)), accuracy(alone(features))
print(f"accuracy on members whose group is not known: {with_graph:.1%} with the graph, {without:.1%} without")
assert with_graph > 0.85 and with_graph > without + 0.2, "the stated floor: 85 %"
