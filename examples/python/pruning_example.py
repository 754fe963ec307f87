"""A trained network loses most of its weights and keeps what it knows: the smallest ones become zero, and the others
are trained a little more. In the end it is stored as sparse matrices.

python examples/python/pruning_example.py [--device cuda]
"""

import copy

import neura
from example import options
from neura import nn
from neura.nn.utils import prune

args = options(__doc__)


# %% A task: which of eight prototypes is a noisy point of 20 dimensions near to?
neura.manual_seed(0)
prototypes = neura.randn(8, 20)


def make(count):
    label = neura.randint(0, 8, (count,))
    return (prototypes[label] + 0.8 * neura.randn(count, 20)).to(args.device), label.to(args.device)


def train(net, steps, rate):
    optimizer = neura.optim.Adam(net.parameters(), lr=rate)
    for _ in range(steps):
        x, y = make(128)
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


test_x, test_y = make(4000)


def show(what, net):
    with neura.no_grad():
        accuracy = (net(test_x).argmax(1) == test_y).float().mean().item()
    weights = [m.weight for m in net if isinstance(m, nn.Linear)]
    sparsity = sum((w == 0).sum().item() for w in weights) / sum(w.numel() for w in weights)
    print(f"{what:32} zeros {sparsity:6.1%}   accuracy {accuracy:.1%}")
    return sparsity, accuracy


net = nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 8)).to(args.device)
train(net, 150 if args.quick else 600, 3e-3)
_, before = show("trained", net)

# %% The 90 % of each layer's weights that are smallest in magnitude. (prune.global_unstructured compares all layers' at
# once; a layer of small weights may then lose all of them, and nothing passes through it any more.)
layers = [(m, "weight") for m in net if isinstance(m, nn.Linear)]
for layer, name in layers:
    prune.l1_unstructured(layer, name, amount=0.9)
sparsity, pruned = show("pruned", net)
assert abs(sparsity - 0.9) < 0.001 and prune.is_pruned(net)

# %% A mask keeps them zero while the rest is trained: weight is weight_orig * weight_mask, computed in each call
train(net, 100 if args.quick else 400, 1e-3)
sparsity, tuned = show("fine-tuned", net)
assert abs(sparsity - 0.9) < 0.001, "zeros stay zeros"
assert tuned > pruned and tuned > before - 0.05, "most of the accuracy comes back"

# %% Whole rows, for layers that get smaller: the quarter of neurons with the smallest norm
rows = copy.deepcopy(net[2])
prune.remove(rows, "weight")  # the mask becomes part of the weight
prune.ln_structured(rows, "weight", amount=0.25, n=2, dim=0)
print(f"{int((rows.weight == 0).all(dim=1).sum())} of {len(rows.weight)} rows of the middle layer are zero")

# %% What is left, stored sparsely; a linear function takes it as it is
for layer, name in layers:
    prune.remove(layer, name)
if args.device.type == "cpu":
    weight = net[2].weight.detach().to_sparse_csr()
    stored = weight.values().nbytes + weight.col_indices().nbytes + weight.crow_indices().nbytes
    print(f"the middle layer: {net[2].weight.nbytes} bytes dense, {stored} sparse")
    x = neura.randn(16, 128)
    assert neura.allclose(nn.functional.linear(x, weight, net[2].bias), net[2](x), atol=1e-5)
    assert stored < net[2].weight.nbytes / 2
