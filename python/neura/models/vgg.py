"""Networks of 3 x 3 convolutions (Simonyan and Zisserman, 2014)."""

from .. import nn
from .._neura import flatten
from ._registry import fill, register_model

_PLANS = {  # channels of the convolutions; M: pooling
    11: "64 M 128 M 256 256 M 512 512 M 512 512 M",
    13: "64 64 M 128 128 M 256 256 M 512 512 M 512 512 M",
    16: "64 64 M 128 128 M 256 256 256 M 512 512 512 M 512 512 512 M",
    19: "64 64 M 128 128 M 256 256 256 256 M 512 512 512 512 M 512 512 512 512 M",
}


class VGG(nn.Module):
    """Pictures [N, 3, H, W], of 32 pixels a side or more, to scores [N, num_classes].

    features (Module): [N, 3, H, W] -> [N, 512, h, w]. init_weights: start as the paper's successors do (He); otherwise
    each layer starts by itself. small_images: the mean of what is seen and layers of 512, as for pictures of 32 to 64
    pixels a side; torchvision has no such word.
    """

    def __init__(self, features, num_classes=1000, init_weights=True, dropout=0.5, *, small_images=False):
        super().__init__()
        self.features = features
        side, width = (1, 512) if small_images else (7, 4096)
        self.avgpool = nn.AdaptiveAvgPool2d((side, side))
        self.classifier = nn.Sequential(
            nn.Linear(512 * side * side, width),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(width, width),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(width, num_classes),
        )
        if init_weights:
            for m in self.modules():
                if isinstance(m, nn.Conv2d):
                    nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
                    nn.init.constant_(m.bias, 0)
                elif isinstance(m, nn.Linear):
                    nn.init.normal_(m.weight, 0, 0.01)
                    nn.init.constant_(m.bias, 0)

    def forward(self, x):
        """Scores [N, num_classes] of pictures [N, 3, H, W]."""
        return self.classifier(flatten(self.avgpool(self.features(x)), 1))


def make_layers(plan, batch_norm=False):
    """The convolutions of a plan: channels, and "M" for pooling; a Sequential with torchvision's numbers."""
    layers, inputs = [], 3
    for entry in plan.split():
        if entry == "M":
            layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
            continue
        layers.append(nn.Conv2d(inputs, int(entry), kernel_size=3, padding=1))
        if batch_norm:
            layers.append(nn.BatchNorm2d(int(entry)))
        layers.append(nn.ReLU(inplace=True))
        inputs = int(entry)
    return nn.Sequential(*layers)


def _maker(layers, batch_norm):
    name = f"vgg{layers}_bn" if batch_norm else f"vgg{layers}"

    def make(*, weights=None, progress=True, **kwargs):
        if weights is not None:
            kwargs["init_weights"] = False
        return fill(VGG(make_layers(_PLANS[layers], batch_norm), **kwargs), name, weights, progress)

    make.__name__ = make.__qualname__ = name
    norms = ", with batch norm" if batch_norm else ""
    make.__doc__ = f"""VGG of {layers} layers{norms}: pictures [N, 3, H, W] to scores [N, num_classes].

    weights: a file, tensors by name, or torchvision's "IMAGENET1K_V1". kwargs: what VGG takes, such as num_classes.
    ValueError for weights that are none, or do not fit.
    """
    return register_model()(make)


vgg11, vgg13, vgg16, vgg19 = (_maker(layers, False) for layers in _PLANS)
vgg11_bn, vgg13_bn, vgg16_bn, vgg19_bn = (_maker(layers, True) for layers in _PLANS)
