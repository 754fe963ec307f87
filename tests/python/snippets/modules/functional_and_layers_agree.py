"""Layers against their functions with the same weights."""

from fixed import noise, settle


def run(torch):
    nn, F = torch.nn, torch.nn.functional
    x, image = noise(torch, 3, 6), noise(torch, 2, 3, 6, 6)
    linear = settle(torch, nn.Linear(6, 4))
    conv = settle(torch, nn.Conv2d(3, 2, 3, padding=1))
    embed = settle(torch, nn.Embedding(5, 3, padding_idx=0))
    bilinear = settle(torch, nn.Bilinear(6, 6, 2))
    ids = torch.tensor([[0, 4], [2, 2]])
    pairs = [
        (linear(x), F.linear(x, linear.weight, linear.bias)),
        (linear(x), x @ linear.weight.T + linear.bias),
        (conv(image), F.conv2d(image, conv.weight, conv.bias, padding=1)),
        (embed(ids), F.embedding(ids, embed.weight)),
        (nn.MaxPool2d(2)(image), F.max_pool2d(image, 2)),
        (nn.LayerNorm(6)(x), F.layer_norm(x, (6,))),
        (nn.CosineSimilarity()(x, x * 2), F.cosine_similarity(x, x * 2)),
        (nn.Softmax(-1)(x), F.softmax(x, -1)),
        (nn.PixelShuffle(1)(image), F.pixel_shuffle(image, 1)),
        (nn.ZeroPad2d(1)(image), F.pad(image, (1, 1, 1, 1))),
    ]
    return {
        "agree": [torch.allclose(a, b, atol=1e-6) for a, b in pairs],
        "bilinear": bilinear(x, x),
        "sums": [a.sum() for a, _ in pairs],
        "padding": embed.weight[0],
    }
