"""Small networks: those that `neura train` trains, with the names that its runs have."""

from .. import nn
from .._neura import errors, flatten, float32, max_pool2d, relu
from ._registry import fill, register_model


class Standardize(nn.Module):
    """Pictures of bytes, 0 to 255, as float32 of mean 0 and deviation 1.

    mean, std: of the training pictures, as parts of 255.
    """

    def __init__(self, mean, std):
        super().__init__()
        self.mean, self.std = mean, std

    def forward(self, input):
        """(input / 255 - mean) / std."""
        return input.to(float32) * (1 / (255 * self.std)) - self.mean / self.std

    def extra_repr(self):
        """What printing shows of it."""
        return f"mean={self.mean}, std={self.std}"


class LeNet(nn.Module):
    """Two convolutions and three linear layers (LeCun et al., 1998), with ReLU and maxima.

    Pictures [N, in_channels, image_size, image_size] to scores [N, num_classes]. ValueError for an image_size below 12.
    """

    def __init__(self, num_classes=10, in_channels=3, image_size=32):
        super().__init__()
        if image_size < 12:
            raise errors.ValueError(f"LeNet: expected pictures of 12 pixels a side or more, got {image_size}")
        side = (image_size // 2 - 4) // 2
        self.conv1 = nn.Conv2d(in_channels, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * side * side, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, num_classes)

    def forward(self, x):
        """Scores [N, num_classes] of pictures [N, in_channels, image_size, image_size]."""
        x = max_pool2d(relu(self.conv1(x)), 2)
        x = flatten(max_pool2d(relu(self.conv2(x)), 2), 1)
        return self.fc3(relu(self.fc2(relu(self.fc1(x)))))


@register_model()
def lenet(num_classes=10, in_channels=3, image_size=32, *, weights=None, progress=True):
    """LeNet: pictures [N, in_channels, image_size, image_size] to scores [N, num_classes].

    weights: a file, or tensors by name. ValueError for an image_size below 12 and for weights that do not fit.

    >>> import neura
    >>> neura.models.lenet(in_channels=1, image_size=28)(neura.zeros(2, 1, 28, 28)).shape
    neura.Size([2, 10])
    """
    return fill(LeNet(num_classes, in_channels, image_size), "lenet", weights, progress)


@register_model()
def mlp(inputs, outputs, hidden=256, layers=2, dropout=0.1, *, weights=None, progress=True):
    """Linear layers with ReLU and dropout between: [N, ...] of `inputs` numbers to [N, outputs].

    hidden (int): width inside. layers (int): how many of that; 0: one linear map. weights: a file, or tensors by name.

    >>> import neura
    >>> neura.models.mlp(4, 2, hidden=8, layers=1)
    Sequential(
      (0): Flatten(start_dim=1, end_dim=-1)
      (1): Linear(in_features=4, out_features=8, bias=True)
      (2): ReLU()
      (3): Dropout(p=0.1, inplace=False)
      (4): Linear(in_features=8, out_features=2, bias=True)
    )
    """
    net, width = nn.Sequential(nn.Flatten()), inputs
    for _ in range(layers):
        net.extend([nn.Linear(width, hidden), nn.ReLU(), nn.Dropout(dropout)])
        width = hidden
    net.append(nn.Linear(width, outputs))
    return fill(net, "mlp", weights, progress)


_MEAN, _STD = 0.2860, 0.3530  # of Fashion-MNIST's training pictures


@register_model()
def fashion_cnn(num_classes=10, height=28, width=28, *, weights=None, progress=True):
    """Two convolutions and two linear layers: what `neura train fashion-mnist` trains.

    Pictures of bytes [N, 1, height, width] to scores [N, num_classes]. weights: a file, or tensors by name.

    >>> import neura
    >>> neura.models.fashion_cnn()(neura.zeros(2, 1, 28, 28, dtype=neura.uint8)).shape
    neura.Size([2, 10])
    """
    net = nn.Sequential(
        Standardize(_MEAN, _STD),
        nn.Conv2d(1, 32, 3, padding=1),
        nn.MaxPool2d(2),  # before the norm: what follows has a quarter of the work
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.MaxPool2d(2),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(64 * (height // 4) * (width // 4), 128),
        nn.ReLU(),
        nn.Dropout(0.25),
        nn.Linear(128, num_classes),
    )
    return fill(net, "fashion_cnn", weights, progress)


@register_model()
def fashion_mlp(num_classes=10, height=28, width=28, *, weights=None, progress=True):
    """Three linear layers, for pictures of bytes [N, 1, height, width]: `neura train fashion-mnist --model mlp`.

    Gives scores [N, num_classes]. weights: a file, or tensors by name.
    """
    net = nn.Sequential(Standardize(_MEAN, _STD), nn.Flatten(), nn.Linear(height * width, 512), nn.ReLU())
    net.extend([nn.Dropout(0.2), nn.Linear(512, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, num_classes)])
    return fill(net, "fashion_mlp", weights, progress)
