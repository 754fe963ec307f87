"""MobileNetV2 (Sandler et al., 2018)."""

from functools import partial

from .. import nn
from .._neura import errors, flatten
from ._registry import fill, register_model


def _divisible(value, by):
    """The multiple of `by` that is next to value, and not less than nine tenths of it."""
    near = max(by, int(value + by / 2) // by * by)
    return near + by if near < 0.9 * value else near


def _conv(inputs, outputs, kernel_size=3, stride=1, groups=1, norm_layer=nn.BatchNorm2d):
    """Convolution, norm, activation, by the numbers 0, 1, 2."""
    padding = (kernel_size - 1) // 2
    conv = nn.Conv2d(inputs, outputs, kernel_size, stride, padding, groups=groups, bias=False)
    return nn.Sequential(conv, norm_layer(outputs), nn.ReLU6(inplace=True))


class InvertedResidual(nn.Module):
    """A narrow input made wide, convolved channel by channel, and narrow again: [N, inp, H, W] -> [N, oup, H', W'].

    stride (int): 1 or 2, else ValueError. expand_ratio: how much wider it is inside.
    """

    def __init__(self, inp, oup, stride, expand_ratio, norm_layer=None):
        super().__init__()
        if stride not in (1, 2):
            raise errors.ValueError(f"InvertedResidual: expected stride 1 or 2, got {stride}")
        norm_layer = norm_layer or nn.BatchNorm2d
        self.stride, self.out_channels = stride, oup
        inside = int(round(inp * expand_ratio))
        self.use_res_connect = stride == 1 and inp == oup
        layers = [_conv(inp, inside, kernel_size=1, norm_layer=norm_layer)] if expand_ratio != 1 else []
        layers += [
            _conv(inside, inside, stride=stride, groups=inside, norm_layer=norm_layer),
            nn.Conv2d(inside, oup, 1, 1, 0, bias=False),
            norm_layer(oup),
        ]
        self.conv = nn.Sequential(*layers)

    def forward(self, x):
        """The block of x, [N, inp, H, W]."""
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    """Pictures [N, 3, H, W] to scores [N, num_classes].

    width_mult: how many channels, as a part of the paper's. inverted_residual_setting: rows (expansion, channels, how
    many, stride of the first), else ValueError. round_nearest: channels are multiples of it.
    """

    _SETTING = [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ]

    def __init__(
        self,
        num_classes=1000,
        width_mult=1.0,
        inverted_residual_setting=None,
        round_nearest=8,
        block=None,
        norm_layer=None,
        dropout=0.2,
    ):
        super().__init__()
        norm_layer = norm_layer or partial(nn.BatchNorm2d)
        block, setting = block or InvertedResidual, inverted_residual_setting or self._SETTING
        if any(len(row) != 4 for row in setting):
            raise errors.ValueError(f"MobileNetV2: expected rows of 4 numbers, got {setting}")
        channels = _divisible(32 * width_mult, round_nearest)
        self.last_channel = _divisible(1280 * max(1.0, width_mult), round_nearest)
        features = [_conv(3, channels, stride=2, norm_layer=norm_layer)]
        for expansion, outputs, count, stride in setting:
            outputs = _divisible(outputs * width_mult, round_nearest)
            for i in range(count):
                features.append(block(channels, outputs, stride if i == 0 else 1, expansion, norm_layer=norm_layer))
                channels = outputs
        features.append(_conv(channels, self.last_channel, kernel_size=1, norm_layer=norm_layer))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout), nn.Linear(self.last_channel, num_classes))
        self._start()

    def _start(self):
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out")
                if m.bias is not None:
                    nn.init.zeros_(m.bias)
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.ones_(m.weight)
                nn.init.zeros_(m.bias)
            elif isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, 0, 0.01)
                nn.init.zeros_(m.bias)

    def forward(self, x):
        """Scores [N, num_classes] of pictures [N, 3, H, W]."""
        x = nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(flatten(x, 1))


@register_model()
def mobilenet_v2(*, weights=None, progress=True, **kwargs):
    """MobileNetV2: pictures [N, 3, H, W] to scores [N, num_classes].

    weights: a file, tensors by name, or torchvision's "IMAGENET1K_V1", "IMAGENET1K_V2". kwargs: what MobileNetV2 takes.
    ValueError for weights that are none, or do not fit.
    """
    return fill(MobileNetV2(**kwargs), "mobilenet_v2", weights, progress)
