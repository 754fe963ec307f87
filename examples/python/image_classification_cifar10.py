"""Classification of small colour pictures from end to end: a residual network, augmentation in the loader, mixed
precision, a schedule of warm-up and cosine, and accuracy on pictures that were never seen.

python examples/python/image_classification_cifar10.py --root FOLDER [--device cuda] [--epochs N]

FOLDER holds CIFAR-10's binary version (data_batch_1.bin ... test_batch.bin). Without it, and with --quick, pictures of
the same size are made up: ten kinds of coloured stripes.
"""

import neura
from example import options
from neura import data as T
from neura import nn
from neura.utils.data import DataLoader, Dataset

args = options(__doc__, root="", epochs=0)
MEAN, STD = (0.491, 0.482, 0.447), (0.247, 0.243, 0.262)


# %% Data
class Stripes(Dataset):
    """Ten kinds of stripes: five directions, in reddish or bluish, with noise. uint8 [3, 32, 32] and the kind."""

    def __init__(self, count, seed, transform):
        generator = neura.Generator().manual_seed(seed)
        self.labels = neura.randint(0, 10, (count,), generator=generator)
        angle = (self.labels % 5).float().reshape(-1, 1, 1) * 0.628
        y, x = neura.arange(32.0).reshape(32, 1), neura.arange(32.0)
        shift = neura.rand(count, 1, 1, generator=generator) * 6.28
        wave = (x * angle.cos() + y * angle.sin() + shift).sin()
        reddish = (self.labels < 5).float().reshape(-1, 1, 1)
        colours = neura.stack([wave * (0.3 + reddish), wave * 0.5, wave * (1.3 - reddish)], dim=1)
        noise = neura.randn(count, 3, 32, 32, generator=generator) * 0.3
        self.images = (128 + 50 * (colours + noise)).clamp(0, 255).to(neura.uint8)
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.transform(self.images[i]), self.labels[i].item()


change = T.Compose([T.RandomCrop(32, padding=4), T.RandomHorizontalFlip(), T.ToFloat(), T.Normalize(MEAN, STD)])
keep = T.Compose([T.ToFloat(), T.Normalize(MEAN, STD)])
real = bool(args.root) and not args.quick
if real:
    train_set, test_set = T.CIFAR10(args.root, True, change), T.CIFAR10(args.root, False, keep)
else:
    train_set, test_set = Stripes(320 if args.quick else 5000, 1, keep), Stripes(200 if args.quick else 1000, 2, keep)
train = DataLoader(
    train_set, batch_size=128 if real else 32, shuffle=True, drop_last=True, num_workers=2 if real else 0
)
test = DataLoader(test_set, batch_size=200)


# %% The network: ResNet for small pictures (He et al., 2015)
class Block(nn.Module):
    def __init__(self, inner, outer, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, stride, padding=1, bias=False)
        self.conv2 = nn.Conv2d(outer, outer, 3, padding=1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(outer), nn.BatchNorm2d(outer)
        same = stride == 1 and inner == outer
        self.shortcut = nn.Identity() if same else nn.Conv2d(inner, outer, 1, stride, bias=False)

    def forward(self, x):
        y = self.norm2(self.conv2(self.norm1(self.conv1(x)).relu()))
        return (y + self.shortcut(x)).relu()


def resnet(width, blocks):
    layers, inner = [nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()], width
    for stage in range(3):
        for i in range(blocks):
            layers.append(Block(inner, width << stage, 2 if stage and not i else 1))
            inner = width << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inner, 10))


# %% Training: products in halves, parameters and the optimizer in float32
neura.manual_seed(0)
net = (resnet(64, 2) if real else resnet(8, 1)).to(args.device)
epochs = args.epochs or (30 if real else 4)
kind, half = args.device.type, neura.float16 if args.device.type == "cuda" else neura.bfloat16
optimizer = neura.optim.AdamW(net.parameters(), lr=1e-2, weight_decay=5e-2)
steps = epochs * len(train)
warm_up = neura.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=max(steps // 10, 1))
cosine = neura.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)
scaler = neura.amp.GradScaler(kind, enabled=half is neura.float16)


@neura.inference_mode()
def accuracy():
    net.eval()
    right = sum((net(x.to(args.device)).argmax(1).cpu() == y).sum().item() for x, y in test)
    net.train()
    return right / len(test_set)


for epoch in range(epochs):
    total = 0.0
    for x, y in train:
        with neura.autocast(kind, dtype=half):
            loss = nn.functional.cross_entropy(net(x.to(args.device)), y.to(args.device), label_smoothing=0.05)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        (warm_up if warm_up.last_epoch < warm_up.total_iters else cosine).step()
        total += loss.item()
    print(f"epoch {epoch + 1:2}  loss {total / len(train):.3f}  accuracy {accuracy():.1%}")
assert accuracy() > (0.9 if real else 0.5), "the stated accuracy: 90 % of CIFAR-10, half of the stripes"
