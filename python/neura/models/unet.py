"""U-Net (Ronneberger et al., 2015), with batch norm, by the names of mateuszbuda/brain-segmentation-pytorch."""

from collections import OrderedDict

from .. import nn
from .._neura import cat, errors
from ._registry import fill, register_model


def _block(inputs, outputs, name):
    layers = OrderedDict()
    for i, channels in ((1, inputs), (2, outputs)):
        layers[f"{name}conv{i}"] = nn.Conv2d(channels, outputs, kernel_size=3, padding=1, bias=False)
        layers[f"{name}norm{i}"] = nn.BatchNorm2d(outputs)
        layers[f"{name}relu{i}"] = nn.ReLU(inplace=True)
    return nn.Sequential(layers)


class UNet(nn.Module):
    """Pictures [N, in_channels, H, W] to scores of each pixel, [N, out_channels, H, W].

    Sides are multiples of 16, else ShapeError. init_features (int): channels at the full size, twice as many at each
    half. The scores are logits: `sigmoid` of them are probabilities.
    """

    def __init__(self, in_channels=3, out_channels=1, init_features=32):
        super().__init__()
        f = init_features
        self.encoder1 = _block(in_channels, f, "enc1")
        self.pool1 = nn.MaxPool2d(kernel_size=2, stride=2)
        self.encoder2 = _block(f, f * 2, "enc2")
        self.pool2 = nn.MaxPool2d(kernel_size=2, stride=2)
        self.encoder3 = _block(f * 2, f * 4, "enc3")
        self.pool3 = nn.MaxPool2d(kernel_size=2, stride=2)
        self.encoder4 = _block(f * 4, f * 8, "enc4")
        self.pool4 = nn.MaxPool2d(kernel_size=2, stride=2)
        self.bottleneck = _block(f * 8, f * 16, "bottleneck")
        self.upconv4 = nn.ConvTranspose2d(f * 16, f * 8, kernel_size=2, stride=2)
        self.decoder4 = _block(f * 16, f * 8, "dec4")
        self.upconv3 = nn.ConvTranspose2d(f * 8, f * 4, kernel_size=2, stride=2)
        self.decoder3 = _block(f * 8, f * 4, "dec3")
        self.upconv2 = nn.ConvTranspose2d(f * 4, f * 2, kernel_size=2, stride=2)
        self.decoder2 = _block(f * 4, f * 2, "dec2")
        self.upconv1 = nn.ConvTranspose2d(f * 2, f, kernel_size=2, stride=2)
        self.decoder1 = _block(f * 2, f, "dec1")
        self.conv = nn.Conv2d(f, out_channels, kernel_size=1)

    def forward(self, x):
        """Scores [N, out_channels, H, W] of [N, in_channels, H, W]."""
        if x.dim() != 4 or x.shape[2] % 16 or x.shape[3] % 16:
            raise errors.ShapeError(f"UNet: expected pictures [N, C, H, W] of sides in sixteens, got {list(x.shape)}")
        e1 = self.encoder1(x)
        e2 = self.encoder2(self.pool1(e1))
        e3 = self.encoder3(self.pool2(e2))
        e4 = self.encoder4(self.pool3(e3))
        y = self.bottleneck(self.pool4(e4))
        y = self.decoder4(cat([self.upconv4(y), e4], dim=1))
        y = self.decoder3(cat([self.upconv3(y), e3], dim=1))
        y = self.decoder2(cat([self.upconv2(y), e2], dim=1))
        y = self.decoder1(cat([self.upconv1(y), e1], dim=1))
        return self.conv(y)


@register_model()
def unet(in_channels=3, out_channels=1, init_features=32, *, weights=None, progress=True):
    """U-Net: pictures [N, in_channels, H, W] to scores [N, out_channels, H, W].

    weights: a file, or tensors by name. ValueError for weights that do not fit.

    >>> import neura
    >>> neura.models.unet(1, 2, init_features=4)(neura.zeros(1, 1, 32, 48)).shape
    neura.Size([1, 2, 32, 48])
    """
    return fill(UNet(in_channels, out_channels, init_features), "unet", weights, progress)
