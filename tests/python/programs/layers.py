"""Functions and layers at their corners: losses with weights and masks, padding, pooling, attention, recurrences."""

from program_helpers import raised, values


def cross_entropy_forms(torch):
    F = torch.nn.functional
    x, t = values(torch, 4, 3), torch.tensor([0, 2, -100, 1])
    soft = values(torch, 4, 3).softmax(1)
    w = torch.tensor([1.0, 2.0, 0.5], dtype=x.dtype)
    return {
        "mean": F.cross_entropy(x, t),
        "weights": F.cross_entropy(x, t, weight=w),
        "none": F.cross_entropy(x, t, reduction="none"),
        "smooth": F.cross_entropy(x, t, label_smoothing=0.1, weight=w),
        "soft": F.cross_entropy(x, soft, weight=w),
        "ignored": F.cross_entropy(x, torch.full((4,), -100)),
        "pixels": F.cross_entropy(values(torch, 2, 3, 2, 2), torch.zeros(2, 2, 2, dtype=torch.int64), reduction="sum"),
        "one": F.cross_entropy(x[0], t[0]),
        "range": raised(lambda: F.cross_entropy(x, torch.tensor([0, 1, 2, 3])), IndexError),
        "shape": raised(lambda: F.cross_entropy(x, t[:3]), ValueError),
        "float": raised(lambda: F.cross_entropy(x, t.double())),
        "reduction": raised(lambda: F.cross_entropy(x, t, reduction="max"), ValueError),
    }


def binary_losses(torch):
    F = torch.nn.functional
    x, y = values(torch, 5), torch.tensor([0.0, 1, 1, 0, 1], dtype=torch.float64)
    p = torch.tensor([0.0, 1.0, 0.5], dtype=torch.float64)
    return (
        F.binary_cross_entropy_with_logits(x, y),
        F.binary_cross_entropy_with_logits(x, y, pos_weight=torch.tensor(3.0)),
        F.binary_cross_entropy(x.sigmoid(), y, weight=y + 1, reduction="sum"),
        F.binary_cross_entropy(p, torch.tensor([1.0, 0.0, 1.0], dtype=p.dtype), reduction="none"),
        raised(lambda: F.binary_cross_entropy(x * 5, y)),
        raised(lambda: F.binary_cross_entropy(p, y), ValueError),
        F.soft_margin_loss(x, y * 2 - 1),
        F.hinge_embedding_loss(x, y * 2 - 1),
        F.multilabel_soft_margin_loss(x.view(1, 5), y.view(1, 5)),
    )


def regression_losses(torch):
    F = torch.nn.functional
    a, b = values(torch, 2, 3), values(torch, 2, 3) * 3
    return (
        [f(a, b) for f in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss)],
        F.smooth_l1_loss(a, b, beta=0.5, reduction="none"),
        F.huber_loss(a, b, delta=2.0),
        F.smooth_l1_loss(a, b, beta=0.0),
        F.poisson_nll_loss(a, b.abs()),
        F.gaussian_nll_loss(a, b, torch.ones_like(a), full=True),
        F.kl_div(a.log_softmax(1), b.softmax(1), reduction="batchmean"),
        F.kl_div(a.log_softmax(1), b.log_softmax(1), reduction="sum", log_target=True),
        F.cosine_embedding_loss(a, b, torch.tensor([1, -1])),
        F.mse_loss(torch.empty(0), torch.empty(0)),
    )


def ranking_losses(torch):
    F = torch.nn.functional
    a, b, c = values(torch, 3, 4), values(torch, 3, 4) + 0.1, values(torch, 3, 4).flip(0)
    return (
        F.triplet_margin_loss(a, b, c),
        F.triplet_margin_loss(a, b, c, swap=True, p=1.0),
        F.margin_ranking_loss(a[:, 0], b[:, 1], torch.tensor([1, -1, 1]), margin=0.2),
        F.multi_margin_loss(a, torch.tensor([0, 1, 3])),
        F.multilabel_margin_loss(a, torch.tensor([[0, 2, -1, 1], [1, -1, 0, 2], [3, 2, 1, 0]])),
        F.cosine_similarity(a, c, dim=0),
        F.pairwise_distance(a, c, keepdim=True),
        torch.cdist(a, c),
        F.pdist(a),
        F.normalize(torch.zeros(2), dim=0),
    )


def activations_at_corners(torch):
    F = torch.nn.functional
    x = torch.tensor([-100.0, -3.0, -0.5, 0.0, 0.5, 3.0, 100.0])
    names = (
        "relu relu6 elu selu celu gelu silu mish softplus softsign hardswish hardsigmoid logsigmoid tanhshrink".split()
    )
    made = {n: getattr(F, n)(x) for n in names}
    return (
        made,
        F.softmin(x, 0),
        F.glu(x[:6], 0),
        F.threshold(x, 0.2, -1),
        F.leaky_relu(x, 0.2),
        F.softplus(x, 2, 1),
        F.hardshrink(x, 1),
        F.rrelu(x),
    )


def softmax_corners(torch):
    inf = float("inf")
    x = torch.tensor([[0.0, -inf], [-inf, -inf], [1000.0, 999.0]])
    return (
        x.softmax(1),
        x.log_softmax(1),
        x.logsumexp(1),
        torch.softmax(torch.tensor([1, 2]), 0, dtype=torch.float32),
        raised(lambda: torch.softmax(torch.tensor([1, 2]), 0)),
        x[:0].softmax(0).shape,
    )


def padding_modes(torch):
    F = torch.nn.functional
    x = torch.arange(6.0).view(1, 2, 3)
    made = [F.pad(x, (1, 2), mode=m) for m in ("reflect", "replicate", "circular")]
    return (
        F.pad(x, (1, 1), value=9),
        F.pad(x, (-1, 1)),
        F.pad(x, (0, 0, 1, 0)),
        made,
        raised(lambda: F.pad(x, (3, 3), mode="reflect")),
        raised(lambda: F.pad(x, (1,))),
    )


def pooling_corners(torch):
    F = torch.nn.functional
    x = values(torch, 1, 1, 5, 5)
    y, i = F.max_pool2d(x, 2, stride=2, return_indices=True)
    return (
        F.max_pool2d(x, 3, 2, padding=1, ceil_mode=True),
        F.avg_pool2d(x, 2, padding=1, count_include_pad=False),
        F.avg_pool2d(x, 3, ceil_mode=True, stride=2, divisor_override=2),
        F.adaptive_avg_pool2d(x, (2, 3)),
        F.adaptive_max_pool2d(x, (None, 2)),
        F.max_unpool2d(y, i, 2, output_size=(5, 5)),
        F.lp_pool2d(x, 2.0, 2),
        i,
        raised(lambda: F.max_pool2d(x, 2, padding=2)),
        raised(lambda: F.max_pool2d(x, 9)),
    )


def convolutions(torch):
    F = torch.nn.functional
    x, w = values(torch, 1, 4, 6), values(torch, 4, 2, 3)
    return (
        F.conv1d(x, w, groups=2, padding="same"),
        F.conv1d(x, w, groups=2, stride=2, dilation=2, padding=2),
        F.conv_transpose1d(x, values(torch, 4, 1, 3), stride=2, padding=1, output_padding=1, groups=4),
        F.conv1d(x[0], w, groups=2).shape,
        F.conv2d(values(torch, 1, 1, 3, 3), values(torch, 1, 1, 2, 2), bias=torch.ones(1, dtype=x.dtype)),
        F.unfold(values(torch, 1, 1, 3, 3), 2),
        F.fold(values(torch, 1, 4, 4), (3, 3), 2),
        raised(lambda: F.conv1d(x, w)),
        raised(lambda: F.conv1d(x.float(), w)),
        raised(lambda: F.conv1d(x, w, groups=2, stride=2, padding="same")),
    )


def interpolation(torch):
    F = torch.nn.functional
    x = values(torch, 1, 1, 2, 3)
    made = {
        m: F.interpolate(x, scale_factor=2, mode=m) for m in ("nearest", "bilinear", "bicubic", "area", "nearest-exact")
    }
    grid = F.affine_grid(
        torch.tensor([[[1.0, 0, 0.1], [0, 1, -0.1]]], dtype=x.dtype), (1, 1, 2, 2), align_corners=False
    )
    shuffled = F.pixel_shuffle(values(torch, 1, 4, 1, 1), 2)
    return (
        made,
        F.interpolate(x, size=(3, 3), mode="bilinear", align_corners=True),
        grid,
        F.grid_sample(x, grid, align_corners=False),
        shuffled,
        raised(lambda: F.interpolate(x), ValueError),
        F.interpolate(x, (4, 4), mode="bilinear", antialias=True),
    )


def attention(torch):
    F = torch.nn.functional
    q, k, v = values(torch, 1, 2, 3, 4), values(torch, 1, 2, 3, 4) * 2, values(torch, 1, 2, 3, 4) + 1
    mask = torch.tensor([[True, False, True], [True, True, False], [False, True, True]])
    plain = torch.softmax(q @ k.mT / 2, -1) @ v
    causal = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return (
        torch.allclose(F.scaled_dot_product_attention(q, k, v), plain),
        causal,
        F.scaled_dot_product_attention(q, k, v, attn_mask=mask),
        F.scaled_dot_product_attention(q, k, v, attn_mask=torch.where(mask, 0.0, -1.0).double(), scale=1.0),
    )


def multi_head(torch):
    m = torch.nn.MultiheadAttention(4, 2, batch_first=True).double()
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(values(torch, *p.shape))
    x = values(torch, 2, 3, 4)
    padded = torch.tensor([[False, False, True], [False, False, False]])
    y, w = m(x, x, x, key_padding_mask=padded)
    y2, w2 = m(x, x, x, need_weights=False, attn_mask=torch.nn.Transformer.generate_square_subsequent_mask(3).double())
    return y.detach(), w.detach(), y2.detach(), w2, m(x, x, x, average_attn_weights=False)[1].shape


def recurrent(torch):
    made = {}
    for kind in ("RNN", "GRU", "LSTM"):
        m = getattr(torch.nn, kind)(2, 3, num_layers=2, bidirectional=True, batch_first=True).double()
        with torch.no_grad():
            for p in m.parameters():
                p.copy_(values(torch, *p.shape) * 0.5)
        y, h = m(values(torch, 2, 4, 2))
        made[kind] = (
            y.detach(),
            [t.detach() for t in (h if kind == "LSTM" else [h])],
            [n for n, _ in m.named_parameters()][:4],
        )
    cell = torch.nn.GRUCell(2, 2)
    return made, cell(torch.ones(1, 2)).shape, raised(lambda: m(values(torch, 2, 4, 5)))


def norms(torch):
    F = torch.nn.functional
    x = values(torch, 2, 4, 3)
    mean, var = torch.zeros(4, dtype=x.dtype), torch.ones(4, dtype=x.dtype)
    y = F.batch_norm(x, mean, var, training=True, momentum=0.5)
    return (
        y,
        mean,
        var,
        F.layer_norm(x, (4, 3)),
        F.group_norm(x, 2),
        F.instance_norm(x),
        F.rms_norm(x, (3,)),
        F.local_response_norm(x, 2),
        raised(lambda: F.batch_norm(x[:1, :, 0], mean, var, training=True), ValueError),
        raised(lambda: F.group_norm(x, 3)),
        raised(lambda: F.layer_norm(x, (2,))),
    )


def embeddings(torch):
    F = torch.nn.functional
    w = values(torch, 5, 2).requires_grad_()
    i = torch.tensor([[1, 2], [0, 1]])
    F.embedding(i, w, padding_idx=1).sum().backward()
    bags = [F.embedding_bag(i, w, mode=m).detach() for m in ("sum", "mean", "max")]
    e = torch.nn.Embedding(3, 2, padding_idx=-1, max_norm=1.0)
    frozen = torch.nn.Embedding.from_pretrained(torch.ones(3, 2))
    return (
        w.grad,
        bags,
        e.padding_idx,
        e.weight[-1].detach(),
        frozen.weight.requires_grad,
        raised(lambda: F.embedding(torch.tensor([9]), w), IndexError),
        raised(lambda: F.embedding(torch.tensor([1.0]), w)),
    )


def dropouts(torch):
    F = torch.nn.functional
    x = torch.ones(1000)
    torch.manual_seed(1)
    y = F.dropout(x, 0.25)
    kept = F.feature_alpha_dropout(x.view(1, 10, 100), 0.0)
    return (
        sorted(set(y.tolist())),
        0.6 < (y > 0).float().mean().item() < 0.9,
        torch.equal(F.dropout(x, 0.9, training=False), x),
        F.dropout(x, 1.0).sum(),
        raised(lambda: F.dropout(x, 1.5), ValueError),
        raised(lambda: torch.nn.Dropout(-0.1), ValueError),
        torch.equal(kept.flatten(), x),
    )


def connectionist(torch):
    F = torch.nn.functional
    x = values(torch, 6, 2, 4).log_softmax(2).requires_grad_()
    t = torch.tensor([[1, 2, 2], [3, 1, 0]])
    loss = F.ctc_loss(x, t, torch.tensor([6, 5]), torch.tensor([3, 2]), reduction="none")
    loss.sum().backward()
    impossible = F.ctc_loss(x[:2], t, torch.tensor([2, 2]), torch.tensor([3, 2]), reduction="none", zero_infinity=True)
    return loss.detach(), x.grad, impossible.detach()


def transformer_layer(torch):
    m = torch.nn.TransformerEncoderLayer(
        4, 2, 8, dropout=0.0, batch_first=True, norm_first=True, activation="gelu"
    ).double()
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(values(torch, *p.shape) * 0.5)
    x = values(torch, 2, 3, 4)
    trained = m(x)
    m.eval()
    with torch.no_grad():
        fast = m(x)
    return trained.detach(), torch.allclose(trained, fast), [n for n, _ in m.named_parameters()]
