"""Writes layers.json: what PyTorch's layers print, hold and are called with. Run it with PyTorch: make_layers.py"""

import inspect
import json
import pathlib

import torch
from torch import nn  # noqa: F401

CALLS = """
Linear(3, 4); Linear(3, 4, False); Linear(3, 4, bias=False, dtype=torch.float64); Bilinear(2, 3, 4)
Bilinear(2, 3, 4, bias=False); Identity(); Identity(54, unused=1); Flatten(); Flatten(0, 2); Unflatten(1, (2, 3))
Unflatten(dim=1, unflattened_size=(2, -1)); PixelShuffle(3); PixelUnshuffle(2); ChannelShuffle(2)
Sigmoid(); Tanh(); Softsign(); Tanhshrink(); LogSigmoid(); ReLU(); ReLU(True); ReLU(inplace=True); ReLU6(); ReLU6(True)
SELU(); SELU(inplace=True); SiLU(); SiLU(inplace=True); Mish(); Mish(inplace=True); Hardsigmoid(); Hardswish()
Softplus(); Softplus(0.5, 10.0); Hardshrink(); Hardshrink(0.25); Softshrink(); Softshrink(lambd=0.25); LeakyReLU()
LeakyReLU(0.2, True); ELU(); ELU(0.5, True); CELU(); CELU(0.5, inplace=True); Hardtanh(); Hardtanh(-2.5, 2.5, True)
Hardtanh(min_val=0.0, max_val=6.0); GELU(); GELU(approximate='tanh'); GLU(); GLU(dim=1); Threshold(0.5, 20.5)
Threshold(0.5, 20.5, inplace=True); PReLU(); PReLU(num_parameters=3, init=0.5); Softmax(dim=1); Softmax(); LogSoftmax(1)
Softmin(dim=-1); Softmax2d(); RReLU(); RReLU(0.25, 0.5, inplace=True)
Conv1d(2, 4, 3); Conv1d(2, 4, 3, 2, 1, 1, 2, False, 'circular'); Conv2d(2, 4, 3, padding='same'); Conv2d(2, 4, (3, 5))
Conv2d(2, 4, 3, stride=2, padding=(1, 2), dilation=2); Conv2d(4, 4, 1, padding='valid', groups=4)
Conv3d(1, 2, (1, 2, 3))
Conv3d(1, 2, 3, padding=1, padding_mode='replicate'); ConvTranspose1d(2, 4, 3); ConvTranspose2d(2, 4, 3, stride=2)
ConvTranspose2d(2, 4, 3, 2, 1, 1, 2, False, 1); ConvTranspose3d(1, 2, 2, dilation=(1, 2, 2), output_padding=0)
MaxPool1d(3); MaxPool1d(3, 2, 1); MaxPool2d(2); MaxPool2d((3, 2), stride=(2, 1)); MaxPool2d(3, 1, 1, 2, True, True)
MaxPool3d(2, return_indices=True); AvgPool1d(3); AvgPool1d((3,), 1, 1); AvgPool2d(2); AvgPool2d(3, 2, 1, True, False, 5)
AvgPool2d((2, 3), stride=(2, 1)); AvgPool3d(2); AvgPool3d((1, 2, 3), divisor_override=3)
AdaptiveAvgPool1d(5); AdaptiveAvgPool2d(7); AdaptiveAvgPool2d((5, 7)); AdaptiveAvgPool2d((None, 7))
AdaptiveAvgPool3d(2)
AdaptiveMaxPool1d(5); AdaptiveMaxPool2d((5, 7), return_indices=True); AdaptiveMaxPool3d((None, 2, 3))
LPPool1d(2.0, 3); LPPool2d(1.5, (3, 2), stride=(2, 1)); LPPool3d(2.0, 2, ceil_mode=True)
MaxUnpool1d(2); MaxUnpool2d((3, 2), stride=(2, 1)); MaxUnpool3d(3, stride=2, padding=1)
FractionalMaxPool2d(3, output_size=(13, 12)); FractionalMaxPool3d(2, output_ratio=0.5, return_indices=True)
BatchNorm1d(3); BatchNorm2d(3, 1e-3, None, False); BatchNorm3d(3, track_running_stats=False, momentum=0.5)
InstanceNorm1d(3); InstanceNorm2d(3, affine=True); InstanceNorm3d(3, track_running_stats=True); LayerNorm(5)
LayerNorm((2, 3), eps=1e-6); LayerNorm([4], elementwise_affine=False); LayerNorm(4, bias=False); RMSNorm(4)
RMSNorm((2, 3), 1e-6, False); GroupNorm(2, 6); GroupNorm(3, 6, eps=1e-3, affine=False); LocalResponseNorm(2)
LocalResponseNorm(3, 1e-3, 0.5, 2.0); CrossMapLRN2d(3)
ZeroPad1d(2); ZeroPad2d((1, 2, 3, 4)); ZeroPad3d(1); ReflectionPad1d((1, 2)); ReflectionPad2d(2); ReflectionPad3d(1)
ReplicationPad1d(1); ReplicationPad2d((1, 0, 2, 0)); ReplicationPad3d(1); CircularPad1d(1); CircularPad2d(1)
CircularPad3d((1, 1, 1, 1, 0, 0)); ConstantPad1d(2, 3.5); ConstantPad2d((1, 2, 3, 4), 0.5); ConstantPad3d(1, -1.5)
Dropout(); Dropout(0.25, True); Dropout1d(); Dropout2d(0.125); Dropout3d(p=0.75, inplace=True); AlphaDropout()
FeatureAlphaDropout(0.25); Embedding(10, 3); Embedding(10, 3, padding_idx=-1)
Embedding(10, 3, max_norm=1.0, norm_type=1.0, scale_grad_by_freq=True)
EmbeddingBag(10, 3); EmbeddingBag(10, 3, mode='max', padding_idx=2, max_norm=1.5, include_last_offset=True)
MultiheadAttention(8, 2); MultiheadAttention(8, 2, 0.5, False, True, True, batch_first=True)
MultiheadAttention(8, 2, kdim=4, vdim=6); Fold((4, 5), 2); Fold(6, kernel_size=(2, 3), dilation=1, padding=1, stride=2)
Unfold(2); Unfold((2, 3), dilation=2, padding=(1, 0), stride=1)
Upsample(scale_factor=2); Upsample(size=(3, 4), mode='bilinear', align_corners=True); Upsample(5, mode='linear')
UpsamplingNearest2d(scale_factor=2); UpsamplingBilinear2d(size=(3, 4))
L1Loss(); L1Loss(reduction='sum'); MSELoss(reduction='none'); SmoothL1Loss(beta=0.5); HuberLoss('sum', 0.5)
CrossEntropyLoss(); CrossEntropyLoss(torch.ones(3), ignore_index=2, label_smoothing=0.125); NLLLoss(reduction='sum')
BCELoss(); BCEWithLogitsLoss(pos_weight=torch.ones(3)); KLDivLoss(); KLDivLoss(reduction='batchmean', log_target=True)
PoissonNLLLoss(); PoissonNLLLoss(False, True, eps=1e-6); GaussianNLLLoss(full=True); HingeEmbeddingLoss(0.5)
SoftMarginLoss(); MultiMarginLoss(2, 0.5, torch.ones(3)); MultiLabelMarginLoss(); MultiLabelSoftMarginLoss()
MarginRankingLoss(0.5); CosineEmbeddingLoss(margin=0.25); TripletMarginLoss(0.5, 1.0, swap=True, reduction='none')
TripletMarginWithDistanceLoss(margin=0.5, swap=True); CosineSimilarity(); CosineSimilarity(2, 1e-6)
PairwiseDistance(); PairwiseDistance(1.0, 1e-5, True); MSELoss(size_average=False); L1Loss(reduce=False); CTCLoss()
Softplus(2); Softplus(beta=2, threshold=10); Hardtanh(-2, 2); LeakyReLU(1); ELU(alpha=2); Hardshrink(1); RReLU(0, 1)
Threshold(1, -1); Dropout(0); LPPool2d(2, 3); ConstantPad2d(1, 0); Embedding(4, 2, max_norm=1, norm_type=1)
LocalResponseNorm(2, k=1)
RNN(3, 4); RNN(3, 4, 2, 'relu', False, True, 0.5, True); GRU(3, 4, num_layers=2, bidirectional=True); LSTM(3, 4)
LSTM(3, 4, 2, proj_size=2, batch_first=True); RNNCell(3, 4); RNNCell(3, 4, False, 'relu'); GRUCell(3, 4, bias=False)
LSTMCell(3, 4)
TransformerEncoderLayer(8, 2, 16); TransformerDecoderLayer(8, 2, 16, 0.25, 'gelu', batch_first=True, norm_first=True)
TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2, nn.LayerNorm(8), enable_nested_tensor=False)
TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, bias=False), 2); Transformer(8, 2, 1, 1, 16)
"""


def plain(x):
    """A value that a file can hold and another library can have, or None."""
    if isinstance(x, (bool, int, float, str)) or x is None:
        return True
    return isinstance(x, (tuple, list)) and all(map(plain, x))


def held(m):
    hidden = ("training", "call_super_init", "dump_patches", "transposed", "enable_nested_tensor", "mask_check")
    return {k: v for k, v in vars(m).items() if plain(v) and not k.startswith("_") and k not in hidden}


def arguments(function):
    """[name, default] of each; without a default, [name]."""
    out = []
    for p in list(inspect.signature(function).parameters.values())[1:]:
        default = p.default if plain(p.default) else getattr(p.default, "__name__", "?")
        out.append([p.name] if p.default is p.empty else [p.name, default])
    return out


def main():
    layers, classes = [], {}
    for text in CALLS.replace("\n", ";").split(";"):
        if not text.strip():
            continue
        m = eval("nn." + text.strip())
        shapes = {k: list(v.shape) for k, v in m.state_dict().items()}
        layers.append({"call": text.strip(), "repr": repr(m), "holds": held(m), "state": shapes})
        classes[type(m).__name__] = [arguments(type(m).__init__), arguments(type(m).forward)]
    lines = [" " + json.dumps(x) for x in layers]
    names = [f" {json.dumps(k)}: {json.dumps(v)}" for k, v in classes.items()]
    text = '{"layers": [\n' + ",\n".join(lines) + '\n],\n"classes": {\n' + ",\n".join(names) + "\n}}\n"
    (pathlib.Path(__file__).parent / "layers.json").write_text(text)
    print(len(layers), "layers of", len(classes), "classes, PyTorch", torch.__version__)


main()
