"""Networks by torchvision's and Hugging Face's names, whose weight files load by name.

>>> import neura
>>> from neura.models import resnet18
>>> net = resnet18(num_classes=10).eval()
>>> net(neura.zeros(1, 3, 64, 64)).shape
neura.Size([1, 10])

`list_models` says which there are, `get_model` makes one by its name. `weights=` takes a file of weights.
"""

from ._registry import get_model, get_model_builder, list_models, register_model
from .alexnet import AlexNet, alexnet
from .gpt2 import GPT2LMHeadModel, GPT2Model, gpt2, gpt2_large, gpt2_medium, gpt2_xl
from .language import LSTMLanguageModel, lstm_language
from .mobilenetv2 import InvertedResidual, MobileNetV2, mobilenet_v2
from .resnet import (
    BasicBlock,
    Bottleneck,
    CifarResNet,
    ResNet,
    cifar_resnet8,
    cifar_resnet20,
    resnet18,
    resnet34,
    resnet50,
    resnet101,
    resnet152,
    resnext50_32x4d,
    resnext101_32x8d,
    resnext101_64x4d,
    wide_resnet50_2,
    wide_resnet101_2,
)
from .small import LeNet, Standardize, fashion_cnn, fashion_mlp, lenet, mlp
from .unet import UNet, unet
from .vgg import VGG, vgg11, vgg11_bn, vgg13, vgg13_bn, vgg16, vgg16_bn, vgg19, vgg19_bn
from .vision_transformer import VisionTransformer, vit_b_16, vit_b_32, vit_h_14, vit_l_16, vit_l_32, vit_tiny

__all__ = [
    "AlexNet",
    "alexnet",
    "BasicBlock",
    "Bottleneck",
    "cifar_resnet20",
    "cifar_resnet8",
    "CifarResNet",
    "fashion_cnn",
    "fashion_mlp",
    "get_model",
    "get_model_builder",
    "gpt2",
    "gpt2_large",
    "gpt2_medium",
    "gpt2_xl",
    "GPT2LMHeadModel",
    "GPT2Model",
    "InvertedResidual",
    "LeNet",
    "lenet",
    "list_models",
    "lstm_language",
    "LSTMLanguageModel",
    "mlp",
    "mobilenet_v2",
    "MobileNetV2",
    "register_model",
    "ResNet",
    "resnet101",
    "resnet152",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnext101_32x8d",
    "resnext101_64x4d",
    "resnext50_32x4d",
    "Standardize",
    "UNet",
    "unet",
    "VGG",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
    "VisionTransformer",
    "vit_b_16",
    "vit_b_32",
    "vit_h_14",
    "vit_l_16",
    "vit_l_32",
    "vit_tiny",
    "wide_resnet101_2",
    "wide_resnet50_2",
]
