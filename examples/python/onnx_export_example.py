"""A trained network becomes an ONNX file. ONNX Runtime runs it, where it is installed (pip install onnx onnxruntime),
and Neura reads it back: both give what the network gave, also for batches of another size.

python examples/python/onnx_export_example.py [--keep net.onnx]
"""

import importlib.util
import pathlib
import tempfile

import neura
from example import options
from neura import nn

args = options(__doc__, keep="")


# %% Pictures made by hand: the class is the quarter that is brighter
def make(count):
    images, quarter = neura.rand(count, 1, 16, 16), neura.randint(0, 4, (count,))
    for image, q in zip(images, quarter.tolist()):
        image[0].narrow(0, q // 2 * 8, 8).narrow(1, q % 2 * 8, 8).add_(0.5)
    return images.to(args.device), quarter.to(args.device)


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )  # fmt: skip
        self.head = nn.Linear(16 * 4 * 4, 4)

    def forward(self, images):
        return self.head(self.features(images).flatten(1))


neura.manual_seed(0)
net = CNN().to(args.device)
optimizer = neura.optim.Adam(net.parameters(), lr=3e-3)
for step in range(40 if args.quick else 150):
    images, quarter = make(32)
    loss = nn.functional.cross_entropy(net(images), quarter)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
net.eval()

# %% What the network computes for an example is what is written; the size of dimension 0 stays open
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(args.keep or pathlib.Path(folder) / "net.onnx")
    neura.onnx.export(
        net, make(2)[0], path, input_names=["image"], output_names=["scores"], dynamic_axes={"image": {0: "batch"}}
    )
    print(f"{path.name}: {path.stat().st_size} bytes")
    images, quarter = make(100)
    with neura.no_grad():
        expected = net(images)

    # %% Read back by Neura: a module like every other
    model = neura.onnx.load(path).to(args.device)
    print(f"inputs {model.input_names}, outputs {model.output_names}")
    with neura.no_grad():
        difference = (model(images) - expected).abs().max().item()
    print(f"Neura: largest difference {difference:.1e}")
    assert difference < 1e-4

    # %% Run by ONNX Runtime, which knows nothing of Neura
    if importlib.util.find_spec("onnxruntime") and importlib.util.find_spec("onnx"):
        import onnx
        import onnxruntime

        onnx.checker.check_model(onnx.load(path), full_check=True)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        (scores,) = session.run(None, {"image": images.cpu().numpy()})
        difference = (neura.from_numpy(scores) - expected.cpu()).abs().max().item()
        print(f"ONNX Runtime: largest difference {difference:.1e}")
        assert difference < 1e-4
    else:
        print("ONNX Runtime is not installed: pip install onnx onnxruntime")
right = (expected.argmax(1) == quarter).float().mean().item()
print(f"{right:.0%} of 100 pictures are right")
assert right > 0.9
