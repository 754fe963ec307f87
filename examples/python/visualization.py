"""What a model is, seen from several sides: a table of its layers, a picture of what it computes, of its modules and of
its autograd graph (files for Graphviz), and curves that TensorBoard shows.

python examples/python/visualization.py [--folder FOLDER]
dot -Tsvg FOLDER/program.dot > program.svg
"""

import pathlib
import tempfile

import neura
from example import options
from neura import nn
from neura.utils.tensorboard import SummaryWriter

args = options(__doc__, folder="")
temporary = tempfile.TemporaryDirectory()  # of a run without --folder; it goes with the program
folder = pathlib.Path(args.folder or temporary.name)
folder.mkdir(exist_ok=True)
neura.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 64, 10)
).to(args.device)  # fmt: skip
images = neura.rand(4, 1, 16, 16, device=args.device)

# %% A row for each layer: sizes, parameters, multiply-adds
table = neura.utils.summary(net, inputs=images)
print(table)
assert table.total_parameters == sum(p.numel() for p in net.parameters())


# %% A tensor in a line
def describe(name, x):
    print(
        f"{name}: {x.dtype} {tuple(x.shape)} on {x.device}, from {x.min().item():.3f} to {x.max().item():.3f}, "
        f"mean {x.mean().item():.3f}, deviation {x.std().item():.3f}"
    )


describe("first filters", net[0].weight.detach())

# %% What is computed: calls, and values with their sizes
program = neura.graph.trace(net, images)
(folder / "program.dot").write_text(program.to_dot())


# %% Modules, by named_modules; and the graph that backward will walk, by grad_fn and next_functions
def dot(name, nodes, edges):
    lines = [f'  "{i}" [label="{label}"];' for i, label in nodes.items()] + [f'  "{a}" -> "{b}";' for a, b in edges]
    (folder / f"{name}.dot").write_text("\n".join([f"digraph {name} {{", *lines, "}"]) + "\n")


modules = {name or "net": f"{name or 'net'}: {type(m).__name__}" for name, m in net.named_modules()}
dot("modules", modules, [(name.rpartition(".")[0] or "net", name) for name in modules if name != "net"])

loss = nn.functional.cross_entropy(net(images), neura.tensor([1, 2, 3, 4], device=args.device))
nodes, edges, todo = {}, [], [loss.grad_fn]
while todo:
    node = todo.pop()
    if node in nodes:
        continue
    nodes[node] = f"{node.name()} on {loss.device}"
    for below, _ in node.next_functions:
        if below is not None:
            edges.append((node, below))
            todo.append(below)
number = {node: i for i, node in enumerate(nodes)}
dot("autograd", {number[n]: text for n, text in nodes.items()}, [(number[a], number[b]) for a, b in edges])
print(f"the loss came from {len(nodes)} nodes, beginning with {loss.grad_fn.name()}")
assert len(nodes) > 8

# %% Curves, for `tensorboard --logdir FOLDER`
optimizer = neura.optim.Adam(net.parameters(), lr=0.01)
with SummaryWriter(str(folder / "runs")) as writer:
    for step in range(5 if args.quick else 50):
        loss = nn.functional.cross_entropy(net(images), neura.tensor([1, 2, 3, 4], device=args.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        writer.add_scalar("loss", loss.item(), step)
    writer.add_histogram("filters", net[0].weight.detach().cpu(), step)
for path in sorted(p for p in folder.rglob("*") if p.is_file()):
    name = path.name if path.suffix == ".dot" else "events for TensorBoard"
    print(f"{name}: {path.stat().st_size} bytes")
    assert path.stat().st_size > 0
assert {"program.dot", "modules.dot", "autograd.dot"} <= {p.name for p in folder.iterdir()}
