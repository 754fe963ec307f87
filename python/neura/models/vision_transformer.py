"""Vision transformers (Dosovitskiy et al., 2020)."""

import math
from collections import OrderedDict
from functools import partial

from .. import nn
from .._neura import cat, empty, errors, zeros
from ._registry import fill, register_model


class MLPBlock(nn.Sequential):
    """Two linear layers with GELU between, by the numbers 0 and 3: [..., in_dim] -> [..., in_dim]."""

    def __init__(self, in_dim, mlp_dim, dropout):
        super().__init__(
            nn.Linear(in_dim, mlp_dim),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(mlp_dim, in_dim),
            nn.Dropout(dropout),
        )
        for i in (0, 3):
            nn.init.xavier_uniform_(self[i].weight)
            nn.init.normal_(self[i].bias, std=1e-6)

    def _complete_old_state(self, state_dict, prefix, version):
        for old, new in (("linear_1", "0"), ("linear_2", "3")):  # torchvision's published files have these names
            for kind in ("weight", "bias"):
                if f"{prefix}{old}.{kind}" in state_dict:
                    state_dict[f"{prefix}{new}.{kind}"] = state_dict.pop(f"{prefix}{old}.{kind}")


class EncoderBlock(nn.Module):
    """Attention and an MLP, each after a norm and with a way around: [N, L, hidden_dim] -> the same."""

    def __init__(self, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer):
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = norm_layer(hidden_dim)
        self.self_attention = nn.MultiheadAttention(hidden_dim, num_heads, dropout=attention_dropout, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm_layer(hidden_dim)
        self.mlp = MLPBlock(hidden_dim, mlp_dim, dropout)

    def forward(self, input):
        """The block of [N, L, hidden_dim]."""
        x = self.ln_1(input)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        x = self.dropout(x) + input
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    """Places added to tokens, the blocks, a norm: [N, seq_length, hidden_dim] -> the same."""

    def __init__(self, seq_length, num_layers, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer):
        super().__init__()
        self.pos_embedding = nn.Parameter(nn.init.normal_(empty(1, seq_length, hidden_dim), std=0.02))
        self.dropout = nn.Dropout(dropout)
        block = partial(EncoderBlock, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer)
        self.layers = nn.Sequential(OrderedDict((f"encoder_layer_{i}", block()) for i in range(num_layers)))
        self.ln = norm_layer(hidden_dim)

    def forward(self, input):
        """The encoder of [N, seq_length, hidden_dim]."""
        return self.ln(self.layers(self.dropout(input + self.pos_embedding)))


class VisionTransformer(nn.Module):
    """Pictures [N, 3, image_size, image_size] to scores [N, num_classes].

    patch_size divides image_size, num_heads divides hidden_dim, else ValueError. representation_size: a linear layer
    and tanh before the last one.
    """

    def __init__(
        self,
        image_size,
        patch_size,
        num_layers,
        num_heads,
        hidden_dim,
        mlp_dim,
        dropout=0.0,
        attention_dropout=0.0,
        num_classes=1000,
        representation_size=None,
        norm_layer=partial(nn.LayerNorm, eps=1e-6),
    ):
        super().__init__()
        if image_size % patch_size:
            raise errors.ValueError(
                f"VisionTransformer: expected patch_size to divide image_size, got {patch_size} and {image_size}"
            )
        self.image_size, self.patch_size, self.hidden_dim, self.mlp_dim = image_size, patch_size, hidden_dim, mlp_dim
        self.attention_dropout, self.dropout, self.num_classes = attention_dropout, dropout, num_classes
        self.representation_size, self.norm_layer = representation_size, norm_layer
        self.class_token = nn.Parameter(zeros(1, 1, hidden_dim))
        self.conv_proj = nn.Conv2d(3, hidden_dim, kernel_size=patch_size, stride=patch_size)
        self.seq_length = (image_size // patch_size) ** 2 + 1
        self.encoder = Encoder(
            self.seq_length, num_layers, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer
        )
        heads = OrderedDict()
        if representation_size is not None:
            heads["pre_logits"], heads["act"] = nn.Linear(hidden_dim, representation_size), nn.Tanh()
        heads["head"] = nn.Linear(representation_size or hidden_dim, num_classes)
        self.heads = nn.Sequential(heads)
        self._start()

    def _start(self):
        fan_in = self.conv_proj.in_channels * self.patch_size**2
        nn.init.trunc_normal_(self.conv_proj.weight, std=math.sqrt(1 / fan_in))
        nn.init.zeros_(self.conv_proj.bias)
        if self.representation_size is not None:
            nn.init.trunc_normal_(self.heads.pre_logits.weight, std=math.sqrt(1 / self.hidden_dim))
            nn.init.zeros_(self.heads.pre_logits.bias)
        nn.init.zeros_(self.heads.head.weight)
        nn.init.zeros_(self.heads.head.bias)

    def forward(self, x):
        """Scores [N, num_classes] of [N, 3, image_size, image_size]; ShapeError for pictures of another size."""
        if x.dim() != 4 or tuple(x.shape[2:]) != (self.image_size, self.image_size):
            size = self.image_size
            raise errors.ShapeError(f"VisionTransformer: expected pictures [N, 3, {size}, {size}], got {list(x.shape)}")
        x = self.conv_proj(x).flatten(2).transpose(1, 2)  # [N, patches, hidden_dim]
        x = cat([self.class_token.expand(x.shape[0], -1, -1), x], dim=1)
        return self.heads(self.encoder(x)[:, 0])


def _maker(name, patch, layers, heads, hidden, mlp):
    def make(*, weights=None, progress=True, **kwargs):
        kwargs.setdefault("image_size", 224)
        return fill(
            VisionTransformer(kwargs.pop("image_size"), patch, layers, heads, hidden, mlp, **kwargs),
            name,
            weights,
            progress,
        )

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""Vision transformer of {layers} blocks, {hidden} wide, patches of {patch} pixels a side.

    Pictures [N, 3, 224, 224] to scores [N, num_classes]. weights: a file, tensors by name, or torchvision's
    "IMAGENET1K_V1". kwargs: image_size, num_classes, dropout and others of VisionTransformer. ValueError for weights
    that are none, or do not fit.
    """
    return register_model()(make)


vit_b_16 = _maker("vit_b_16", 16, 12, 12, 768, 3072)
vit_b_32 = _maker("vit_b_32", 32, 12, 12, 768, 3072)
vit_l_16 = _maker("vit_l_16", 16, 24, 16, 1024, 4096)
vit_l_32 = _maker("vit_l_32", 32, 24, 16, 1024, 4096)
vit_h_14 = _maker("vit_h_14", 14, 32, 16, 1280, 5120)


@register_model()
def vit_tiny(*, image_size=224, patch_size=16, weights=None, progress=True, **kwargs):
    """Vision transformer of 12 blocks, 192 wide, of 3 heads (Touvron et al., 2020), for small pictures.

    Pictures [N, 3, image_size, image_size] to scores [N, num_classes]. patch_size (int): pixels a side that are a
    token; it divides image_size. weights: a file, or tensors by name. kwargs: num_classes, dropout and others of
    VisionTransformer. ValueError for weights that are none, or do not fit.

    >>> import neura
    >>> neura.models.vit_tiny(image_size=32, patch_size=8, num_classes=3)(neura.zeros(2, 3, 32, 32)).shape
    neura.Size([2, 3])
    """
    return fill(VisionTransformer(image_size, patch_size, 12, 3, 192, 768, **kwargs), "vit_tiny", weights, progress)
