"""AlexNet, as of one GPU (Krizhevsky, 2014)."""

from .. import nn
from .._neura import flatten
from ._registry import fill, register_model


class AlexNet(nn.Module):
    """Pictures [N, 3, H, W], of 63 pixels a side or more, to scores [N, num_classes]."""

    def __init__(self, num_classes=1000, dropout=0.5):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, kernel_size=11, stride=4, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(64, 192, kernel_size=5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(192, 384, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(384, 256, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(256, 256, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout),
            nn.Linear(256 * 6 * 6, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Linear(4096, num_classes),
        )

    def forward(self, x):
        """Scores [N, num_classes] of pictures [N, 3, H, W]."""
        return self.classifier(flatten(self.avgpool(self.features(x)), 1))


@register_model()
def alexnet(*, weights=None, progress=True, **kwargs):
    """AlexNet: pictures [N, 3, H, W] to scores [N, num_classes].

    weights: a file, tensors by name, or torchvision's "IMAGENET1K_V1". kwargs: num_classes, dropout. ValueError for
    weights that are none, or do not fit.
    """
    return fill(AlexNet(**kwargs), "alexnet", weights, progress)
