"""Augmentation: pictures are changed again each time they are asked for, by a crop, a flip, a rotation and other
colours. The data set stays as it is; a wrapper changes its items, in the loader's workers.

python examples/python/data_augmentation_example.py
"""

import neura
from example import options
from neura import data as T
from neura import nn
from neura.utils.data import DataLoader, Dataset

args = options(__doc__)


# %% Two kinds of pictures: a lying bar and an upright one, somewhere, of some colour, with noise
class Bars(Dataset):
    def __init__(self, count, seed):
        self.count, self.seed = count, seed

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = neura.Generator().manual_seed(1000 * self.seed + i)
        image = neura.randint(0, 120, (3, 20, 20), generator=g, dtype=neura.uint8)
        label, (top, left) = i % 2, neura.randint(2, 9, (2,), generator=g).tolist()
        height, width = (10, 4) if label else (4, 10)
        colour = neura.randint(40, 240, (3, 1, 1), generator=g, dtype=neura.uint8)
        image[:, top : top + height, left : left + width] = colour
        return image, label


class Changed(Dataset):
    """The items of a data set, each through a function of its picture."""

    def __init__(self, data, change):
        self.data, self.change = data, change

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        image, label = self.data[i]
        return self.change(image), label


scale = [T.ToFloat(), T.Normalize([0.5], [0.25])]  # 0 ... 1 less 0.5, divided by 0.25: -2 ... 2
augment = T.Compose(
    [
        T.RandomCrop(16),
        T.RandomHorizontalFlip(),
        T.RandomVerticalFlip(),
        T.RandomRotation(15, interpolation="bilinear"),
        T.ColorJitter(brightness=0.4, contrast=0.4, saturation=0.4, hue=0.3),
        *scale,
    ]
)
plain = T.Compose([T.CenterCrop(16), *scale])

# %% One picture, four times: sizes, values, and no two alike
neura.manual_seed(0)
four = [Changed(Bars(1, 5), augment)[0][0] for _ in range(4)]
for image in four:
    print(f"{tuple(image.shape)} {image.dtype} from {image.min().item():.2f} to {image.max().item():.2f}")
    assert image.shape == (3, 16, 16) and image.dtype == neura.float32 and image.abs().max() <= 2
assert not any(neura.equal(a, b) for i, a in enumerate(four) for b in four[:i])


# %% What it does for pictures that were never seen
def train(change, epochs):
    neura.manual_seed(3)
    net = nn.Sequential(nn.Conv2d(3, 8, 5), nn.ReLU(), nn.MaxPool2d(4), nn.Flatten(), nn.Linear(8 * 9, 2))
    net.to(args.device)
    optimizer = neura.optim.AdamW(net.parameters(), lr=0.005)
    loader = DataLoader(Changed(Bars(60, 1), change), batch_size=20, shuffle=True)
    for _ in range(epochs):
        for images, labels in loader:
            loss = nn.functional.cross_entropy(net(images.to(args.device)), labels.to(args.device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with neura.no_grad():
        tests = DataLoader(Changed(Bars(400, 99), plain), batch_size=100)
        return sum((net(x.to(args.device)).argmax(1).cpu() == y).sum().item() for x, y in tests) / 400


epochs = 2 if args.quick else 60
as_they_are, augmented = train(plain, epochs), train(augment, epochs)
print(f"right of 400 new pictures: {as_they_are:.1%} as they are, {augmented:.1%} with augmentation")
assert args.quick or augmented > as_they_are
