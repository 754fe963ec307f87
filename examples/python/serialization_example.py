"""A trained network goes to a file and comes back into a new object, by its state dict: names and tensors. The file
is a safetensors file, which other frameworks read, too; with the program with the weights, it runs without its
class.

python examples/python/serialization_example.py [--device cuda]
"""

import pathlib
import tempfile

import neura
from example import options
from neura import nn

args = options(__doc__)
neura.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.norm, self.output = nn.Linear(2, 32), nn.BatchNorm1d(32), nn.Linear(32, 2)

    def forward(self, x):
        return self.output(self.norm(self.hidden(x)).relu())


points = neura.randn(512, 2, device=args.device)
inside = (points.norm(dim=1) < 1.2).long()
net = Net().to(args.device)
optimizer = neura.optim.AdamW(net.parameters(), lr=0.02)
for step in range(40 if args.quick else 200):
    loss = nn.functional.cross_entropy(net(points), inside)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
net.eval()
with neura.no_grad():
    before = net(points)

with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)

    # %% The weights, and what else belongs to a run: numbers, texts, lists and tensors within each other
    neura.save({"model": net.state_dict(), "optimizer": optimizer.state_dict(), "note": "circle"}, folder / "run.st")
    run = neura.load(folder / "run.st", map_location=args.device)
    for name, t in run["model"].items():
        print(f"  {name:26} {str(t.dtype):14} {tuple(t.shape)}")
    again = Net().to(args.device).eval()
    with neura.no_grad():
        assert not neura.equal(again(points), before), "a fresh network says something else"
        again.load_state_dict(run["model"])
        assert neura.equal(again(points), before), "after loading it says the same, bit for bit"
    print("a fresh network with the loaded weights gives the same bits")

    # %% A file that does not fit changes nothing and says why
    try:
        nn.Linear(2, 8).load_state_dict(run["model"])
        raise AssertionError("a state dict of another network is refused")
    except RuntimeError as error:
        print(str(error)[:100])

    # %% The program and its weights in one file: the class Net is not needed to run it
    neura.graph.export(net, points, input_names=["points"], output_names=["scores"]).save(folder / "net.neura")
    program = neura.graph.load(folder / "net.neura")
    assert neura.allclose(program(points), before, atol=1e-6)
    print(program.input_names, "->", program.output_names, "without the class")
right = (before.argmax(1) == inside).float().mean().item()
print(f"{right:.1%} of the points are right")
assert right > 0.9
