"""Residual networks (He et al., 2015), with groups (Xie et al., 2016) and wider (Zagoruyko and Komodakis, 2016)."""

from .. import nn
from .._neura import errors, flatten
from ._registry import fill, register_model


def _conv3x3(inputs, outputs, stride=1, groups=1, dilation=1):
    return nn.Conv2d(inputs, outputs, 3, stride, padding=dilation, dilation=dilation, groups=groups, bias=False)


def _conv1x1(inputs, outputs, stride=1):
    return nn.Conv2d(inputs, outputs, 1, stride, bias=False)


class BasicBlock(nn.Module):
    """Two convolutions and a way around them: [N, inplanes, H, W] -> [N, planes, H / stride, W / stride].

    ValueError for groups, base_width or dilation other than 1, 64 and 1: Bottleneck has those.
    """

    expansion = 1

    def __init__(
        self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64, dilation=1, norm_layer=None
    ):
        super().__init__()
        if groups != 1 or base_width != 64 or dilation > 1:
            got = f"{groups}, {base_width} and {dilation}"
            raise errors.ValueError(f"BasicBlock: expected groups 1, base_width 64 and dilation 1, got {got}")
        norm_layer = norm_layer or nn.BatchNorm2d
        self.conv1 = _conv3x3(inplanes, planes, stride)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = _conv3x3(planes, planes)
        self.bn2 = norm_layer(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x):
        """The block of x, [N, inplanes, H, W]."""
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


class Bottleneck(nn.Module):
    """Three convolutions, the middle one narrow, and a way around: [N, inplanes, H, W] -> [N, 4 planes, H', W'].

    The stride is the middle convolution's, as in torchvision.
    """

    expansion = 4

    def __init__(
        self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64, dilation=1, norm_layer=None
    ):
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = _conv1x1(inplanes, width)
        self.bn1 = norm_layer(width)
        self.conv2 = _conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm_layer(width)
        self.conv3 = _conv1x1(width, planes * self.expansion)
        self.bn3 = norm_layer(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x):
        """The block of x, [N, inplanes, H, W]."""
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    """Pictures [N, 3, H, W] to scores [N, num_classes].

    block: BasicBlock or Bottleneck. layers (list of four int): how many of them at each size. small_images: a first
    convolution of 3 x 3 and no pooling, as for pictures of 32 pixels a side; torchvision has no such word.
    """

    def __init__(
        self,
        block,
        layers,
        num_classes=1000,
        zero_init_residual=False,
        groups=1,
        width_per_group=64,
        replace_stride_with_dilation=None,
        norm_layer=None,
        *,
        small_images=False,
    ):
        super().__init__()
        self._norm_layer = norm_layer = norm_layer or nn.BatchNorm2d
        self.inplanes, self.dilation = 64, 1
        dilate = [False] * 3 if replace_stride_with_dilation is None else replace_stride_with_dilation
        if len(dilate) != 3:
            raise errors.ValueError(f"ResNet: expected replace_stride_with_dilation of 3 truths, got {dilate}")
        self.groups, self.base_width = groups, width_per_group
        first = {"kernel_size": 3, "padding": 1} if small_images else {"kernel_size": 7, "stride": 2, "padding": 3}
        self.conv1 = nn.Conv2d(3, 64, bias=False, **first)
        self.bn1 = norm_layer(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.Identity() if small_images else nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], 2, dilate[0])
        self.layer3 = self._make_layer(block, 256, layers[2], 2, dilate[1])
        self.layer4 = self._make_layer(block, 512, layers[3], 2, dilate[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        self._start(zero_init_residual)

    def _start(self, zero_init_residual):
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)
        if zero_init_residual:  # the blocks come before the norms in them
            for m in self.modules():
                if isinstance(m, (BasicBlock, Bottleneck)):
                    nn.init.constant_((m.bn3 if isinstance(m, Bottleneck) else m.bn2).weight, 0)

    def _make_layer(self, block, planes, blocks, stride=1, dilate=False):
        norm_layer, downsample, before = self._norm_layer, None, self.dilation
        if dilate:
            self.dilation *= stride
            stride = 1
        outputs = planes * block.expansion
        if stride != 1 or self.inplanes != outputs:
            downsample = nn.Sequential(_conv1x1(self.inplanes, outputs, stride), norm_layer(outputs))
        same = {"groups": self.groups, "base_width": self.base_width, "norm_layer": norm_layer}
        made = [block(self.inplanes, planes, stride, downsample, dilation=before, **same)]
        self.inplanes = outputs
        made += [block(outputs, planes, dilation=self.dilation, **same) for _ in range(1, blocks)]
        return nn.Sequential(*made)

    def forward(self, x):
        """Scores [N, num_classes] of pictures [N, 3, H, W]."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(flatten(self.avgpool(x), 1))


class CifarResNet(nn.Module):
    """Pictures [N, 3, H, W], small ones of any size, to scores [N, num_classes].

    The residual networks of the paper's section 4.2, of three sizes with 16, 32 and 64 channels. blocks (int): how many
    of two convolutions there are at each.
    """

    def __init__(self, blocks, num_classes=10):
        super().__init__()
        self.conv1 = _conv3x3(3, 16)
        self.bn1 = nn.BatchNorm2d(16)
        self.relu = nn.ReLU(inplace=True)
        self.layer1 = self._layer(16, 16, blocks)
        self.layer2 = self._layer(16, 32, blocks)
        self.layer3 = self._layer(32, 64, blocks)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(64, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")

    @staticmethod
    def _layer(inputs, outputs, blocks):
        stride, downsample = 1, None
        if inputs != outputs:
            stride, downsample = 2, nn.Sequential(_conv1x1(inputs, outputs, 2), nn.BatchNorm2d(outputs))
        first = BasicBlock(inputs, outputs, stride, downsample)
        return nn.Sequential(first, *(BasicBlock(outputs, outputs) for _ in range(1, blocks)))

    def forward(self, x):
        """Scores [N, num_classes] of pictures [N, 3, H, W]."""
        x = self.layer3(self.layer2(self.layer1(self.relu(self.bn1(self.conv1(x))))))
        return self.fc(flatten(self.avgpool(x), 1))


@register_model()
def cifar_resnet8(num_classes=10, *, weights=None, progress=True):
    """ResNet of 8 layers for small pictures: [N, 3, H, W] to scores [N, num_classes].

    weights: a file, or tensors by name. ValueError for weights that are none, or do not fit.

    >>> import neura
    >>> neura.models.cifar_resnet8(3)(neura.zeros(2, 3, 32, 32)).shape
    neura.Size([2, 3])
    """
    return fill(CifarResNet(1, num_classes), "cifar_resnet8", weights, progress)


@register_model()
def cifar_resnet20(num_classes=10, *, weights=None, progress=True):
    """ResNet of 20 layers for small pictures: [N, 3, H, W] to scores [N, num_classes].

    weights: a file, or tensors by name. ValueError for weights that are none, or do not fit.
    """
    return fill(CifarResNet(3, num_classes), "cifar_resnet20", weights, progress)


def _maker(name, block, layers, text, **given):
    def make(*, weights=None, progress=True, **kwargs):
        return fill(ResNet(block, layers, **{**given, **kwargs}), name, weights, progress)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""{text}: pictures [N, 3, H, W] to scores [N, num_classes].

    weights: a file, tensors by name, or torchvision's "IMAGENET1K_V1". kwargs: what ResNet takes, such as num_classes.
    ValueError for weights that are none, or do not fit.
    """
    return register_model()(make)


resnet18 = _maker("resnet18", BasicBlock, [2, 2, 2, 2], "ResNet of 18 layers")
resnet34 = _maker("resnet34", BasicBlock, [3, 4, 6, 3], "ResNet of 34 layers")
resnet50 = _maker("resnet50", Bottleneck, [3, 4, 6, 3], "ResNet of 50 layers")
resnet101 = _maker("resnet101", Bottleneck, [3, 4, 23, 3], "ResNet of 101 layers")
resnet152 = _maker("resnet152", Bottleneck, [3, 8, 36, 3], "ResNet of 152 layers")
_g32, _text = {"groups": 32, "width_per_group": 4}, "ResNeXt of 50 layers, 32 groups of 4 channels"
resnext50_32x4d = _maker("resnext50_32x4d", Bottleneck, [3, 4, 6, 3], _text, **_g32)
_g32, _text = {"groups": 32, "width_per_group": 8}, "ResNeXt of 101 layers, 32 groups of 8 channels"
resnext101_32x8d = _maker("resnext101_32x8d", Bottleneck, [3, 4, 23, 3], _text, **_g32)
_g64, _text = {"groups": 64, "width_per_group": 4}, "ResNeXt of 101 layers, 64 groups of 4 channels"
resnext101_64x4d = _maker("resnext101_64x4d", Bottleneck, [3, 4, 23, 3], _text, **_g64)
_text = "ResNet of 50 layers, twice as wide inside its blocks"
wide_resnet50_2 = _maker("wide_resnet50_2", Bottleneck, [3, 4, 6, 3], _text, width_per_group=128)
_text = "ResNet of 101 layers, twice as wide inside its blocks"
wide_resnet101_2 = _maker("wide_resnet101_2", Bottleneck, [3, 4, 23, 3], _text, width_per_group=128)
