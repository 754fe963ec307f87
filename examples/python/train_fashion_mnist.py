"""Trains a small convolutional network on Fashion-MNIST, saves it, loads it and measures it.

python examples/python/train_fashion_mnist.py [--root FOLDER] [--epochs N] [--limit IMAGES] [--device cuda]

FOLDER holds the four files train-images-idx3-ubyte.gz and so on; Debian's package dataset-fashion-mnist puts them where
this program looks by default. Without them it says so, and that is all.
"""

import gzip
import pathlib
import tempfile

import neura
import neura.nn.functional as F
from example import options
from neura import nn
from neura.utils.data import DataLoader, TensorDataset

NAMES = "t-shirt trouser pullover dress coat sandal shirt sneaker bag boot".split()


# %% The data: images [n, 1, 28, 28] as float32, labels [n] as int64
def read(root, part, limit):
    def elements(name, head):
        raw = bytearray(gzip.decompress((root / f"{part}-{name}-ubyte.gz").read_bytes())[head:])
        return neura.frombuffer(raw, dtype=neura.uint8)

    images = elements("images-idx3", 16).reshape(-1, 1, 28, 28)[:limit]
    labels = elements("labels-idx1", 8)[:limit]
    return images.float() / 255, labels.long()


# %% The network
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU()
        )
        self.head = nn.Sequential(nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.2), nn.Linear(32 * 7 * 7, 10))

    def forward(self, images):
        return self.head(self.features(images))


# %% Training and measuring
def train(net, loader, epochs, device):
    optimizer = neura.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=0.01)
    schedule = neura.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
    net.train()
    for epoch in range(epochs):
        total = 0.0
        for images, labels in loader:
            loss = F.cross_entropy(net(images.to(device)), labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        schedule.step()
        print(f"epoch {epoch + 1}: loss {total / len(loader):.3f}")


@neura.inference_mode()
def accuracy(net, images, labels):
    net.eval()
    right = [(net(x).argmax(1) == y).sum().item() for x, y in zip(images.split(500), labels.split(500))]
    return sum(right) / len(labels)


def main():
    args = options(__doc__, root=pathlib.Path("/usr/share/datasets/fashion-mnist"), epochs=3, limit=60000)
    epochs, limit = (2, 1500) if args.quick else (args.epochs, args.limit)
    if not args.root.exists():
        return print(f"nothing to show without the pictures: there is no folder {args.root}")
    neura.manual_seed(0)
    data = TensorDataset(*read(args.root, "train", limit))
    images, labels = (part.to(args.device) for part in read(args.root, "t10k", limit))

    net = Net().to(args.device)
    train(net, DataLoader(data, batch_size=128, shuffle=True), epochs, args.device)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "net.safetensors"
        neura.save(net.state_dict(), file)
        again = Net().to(args.device)
        again.load_state_dict(neura.load(file))
    right = accuracy(again, images, labels)
    print(f"accuracy {right:.3f} on {len(labels)} images it never saw")
    guess = again(images[:1]).argmax().item()
    print(f"the first one is a {NAMES[labels[0].item()]}, the network says {NAMES[guess]}")
    assert right > (0.5 if args.quick else 0.85)


if __name__ == "__main__":
    main()
