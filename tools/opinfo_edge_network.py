"""The expressions of opinfo_edges.py about losses, planes and layers."""
import itertools

inf, nan = float("inf"), float("nan")


def losses(edges):
    x = "t.tensor([[1., 2., -1.], [0., -inf, 3.], [50., -50., 0.]])"
    for reduction, w, s, ignore, target in itertools.product(
        ("mean", "sum", "none"),
        ("None", "t.tensor([1., 0., 2.])"),
        (0, 0.3, 1.0),
        (-100, 1),
        ("[0, 2, 1]", "[1, 1, 1]", "[-100, 0, -100]", "[-100] * 3", "[3, 0, 0]", "[-1, 0, 0]"),
    ):
        rest = f"weight={w}, ignore_index={ignore}, reduction='{reduction}'"
        for logits in (x.replace("-inf", "-2."), x):
            edges.compare(
                "cross_entropy", f"F.cross_entropy({logits}, t.tensor({target}), {rest}, label_smoothing={s})"
            )
            edges.compare(
                "cross_entropy, gradient",
                "grads(lambda x: F.cross_entropy(x, t.tensor(" f"{target}), {rest}, label_smoothing={s}), {logits})",
            )
        if not s:
            edges.compare("nll_loss", f"F.nll_loss({x}, t.tensor({target}), {rest})")
            edges.compare("nll_loss", f"F.nll_loss({x}.t()[None], t.tensor([{target}]), {rest})")
            plane = f"{x}.t()[None, :, :, None]"
            edges.compare("nll_loss", f"F.nll_loss({plane}, t.tensor([{target}])[:, :, None], {rest})")
            edges.compare("cross_entropy", f"F.cross_entropy({plane}, t.tensor([{target}])[:, :, None], {rest})")
        else:
            edges.compare(
                "cross_entropy", f"F.cross_entropy({x}, F.softmax({x}, 0).nan_to_num(), {rest}, label_smoothing={s})"
            )
    for reduction, log_target in itertools.product(("mean", "sum", "none", "batchmean"), (True, False)):
        for a, b in (
            ("[[0., -1.]]", "[[0., 1.]]"),
            ("[[-inf, 0.]]", "[[0., 1.]]"),
            ("[[-1., -2.]]", "[[-1., 2.]]"),
            ("[]", "[]"),
            ("-1.", "0.5"),
            ("[[nan, 0.]]", "[[0., 1.]]"),
        ):
            rest = f"reduction='{reduction}', log_target={log_target}"
            edges.compare("kl_div", f"F.kl_div(t.tensor({a}), t.tensor({b}), {rest})")
            edges.compare(
                "kl_div, gradient", f"grads(lambda x, y: F.kl_div(x, y, {rest}), t.tensor({a}), t.tensor({b}))"
            )
    two = ["[0., 1., 0.5]", "[nan, 0., 1.]", "[1e-45, 1., 0.]", "[]", "[2., -1., 0.]", "[inf, -inf, 1e30]"]
    names = "binary_cross_entropy binary_cross_entropy_with_logits mse_loss l1_loss smooth_l1_loss huber_loss"
    names += " soft_margin_loss hinge_embedding_loss poisson_nll_loss"
    for name, a, b, reduction in itertools.product(names.split(), two, two[:5], ("mean", "sum", "none")):
        call = f"F.{name}(x, t.tensor({b}), reduction='{reduction}')"
        edges.compare(name, f"F.{name}(t.tensor({a}), t.tensor({b}), reduction='{reduction}')")
        edges.compare(f"{name}, gradient", f"grads(lambda x: {call}, t.tensor({a}))")
    for beta in (0, 1, -1, 1e-45, inf, nan):
        edges.compare("smooth_l1_loss", f"F.smooth_l1_loss(t.tensor([0., 1., 3.]), t.zeros(3), beta={beta})")
        edges.compare("huber_loss", f"F.huber_loss(t.tensor([0., 1., 3.]), t.zeros(3), delta={beta})")
    for lengths, targets, zero, reduction, blank in itertools.product(
        ("[4, 4]", "[4, 0]", "[0, 0]", "[2, 3]"),
        ("[2, 2]", "[0, 0]", "[2, 0]", "[3, 1]"),
        (True, False),
        ("mean", "sum", "none"),
        (0, 2, 3, -1),
    ):
        call = (
            f"F.ctc_loss(x, t.tensor([[1, 1, 2], [1, 2, 1]]), t.tensor({lengths}), t.tensor({targets}), blank={blank}, "
            f"reduction='{reduction}', zero_infinity={zero})"
        )
        log = "F.log_softmax(t.sin(t.arange(24.)).reshape(4, 2, 3), 2)"
        edges.compare("ctc_loss", f"(lambda x: {call})({log})")
        edges.compare("ctc_loss, gradient", f"grads(lambda x: {call}, {log})[0]")
    for margin, p in itertools.product((0.0, 1.0, -1.0, nan), (1, 2, 3)):
        edges.compare(
            "multi_margin_loss", f"F.multi_margin_loss(t.eye(3), t.tensor([0, 1, 1]), p={p}, margin={margin})"
        )
        edges.compare(
            "triplet_margin_loss", f"F.triplet_margin_loss(t.eye(3), t.eye(3), t.ones(3, 3), margin={margin}, p={p})"
        )
        edges.compare(
            "cosine_embedding_loss",
            "F.cosine_embedding_loss(t.zeros(2, 3), t.ones(2, 3), t.tensor([1., -1.]), " f"margin={margin})",
        )


def planes(edges):
    sizes = [
        "size=0",
        "size=1",
        "size=5",
        "size=(2, 7)",
        "scale_factor=2",
        "scale_factor=0.5",
        "scale_factor=1.3",
        "scale_factor=0",
        "scale_factor=-1",
        "scale_factor=(0.7, 2.1)",
        "scale_factor=0.1",
        "size=-1",
        "scale_factor=nan",
        "scale_factor=inf",
    ]
    for mode, size, corners, again, smooth in itertools.product(
        ("nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area"),
        sizes,
        (None, True, False),
        (None, True, False),
        (False, True),
    ):
        for x in (
            "t.arange(12.).reshape(1, 1, 3, 4)",
            "t.arange(6.).reshape(1, 2, 3)",
            "t.ones(1, 0, 2, 2)",
            "t.ones(0, 1, 2, 2)",
            "t.arange(8.).reshape(1, 1, 2, 2, 2)",
        ):
            edges.compare(
                f"interpolate {mode}",
                f"F.interpolate({x}, {size}, mode='{mode}', align_corners={corners}, "
                f"recompute_scale_factor={again}, antialias={smooth})",
            )
    for mode, pad in itertools.product(
        ("constant", "reflect", "replicate", "circular"),
        (
            "(1, 1)",
            "(2, 2)",
            "(3, 3)",
            "(4, 4)",
            "(-1, -1)",
            "(-2, 1)",
            "(-2, -2)",
            "(0, 0)",
            "(1,)",
            "()",
            "(1, 1, 1, 1)",
            "(-3, 5)",
            "(1, 1, 1, 1, 1, 1)",
            "(0, 0, -1, 0)",
            "(2, 0, 0, 3)",
            "(1, 2, 3)",
            "(5, -4)",
        ),
    ):
        for shape in (
            "(1, 1, 3)",
            "(1, 3)",
            "(3,)",
            "(1, 1, 3, 3)",
            "(1, 0, 3)",
            "(0, 1, 3)",
            "(1, 1, 0)",
            "(1, 1, 2, 2, 2)",
            "()",
        ):
            x = f"(t.ones({shape}).cumsum(-1) if {shape} else t.ones(()))"
            edges.compare(f"pad {mode}", f"F.pad({x}, {pad}, mode='{mode}')")
            edges.compare(f"pad {mode}, gradient", f"grads(lambda x: F.pad(x, {pad}, mode='{mode}') ** 2, {x})")
    pools = "max_pool1d avg_pool1d max_pool2d avg_pool2d lp_pool1d adaptive_avg_pool1d adaptive_max_pool1d"
    pools += " adaptive_avg_pool2d"
    for name, x, args in itertools.product(
        pools.split(),
        (
            "t.arange(6.).reshape(1, 1, 6)",
            "t.tensor([[[nan, 1., -inf, 2., inf, -0.]]])",
            "t.ones(1, 1, 0)",
            "t.ones(0, 1, 6)",
            "t.arange(36.).reshape(1, 1, 6, 6)",
            "t.full((1, 1, 6), -inf)",
        ),
        (
            "2",
            "3, 1",
            "2, 3",
            "7",
            "0",
            "2, 0",
            "-1",
            "2, 2, 1",
            "3, 2, 1",
            "2, 2, 2",
            "1, 1, 0",
            "3, 2, 1, 2",
            "3, 2, 1, 1, True",
            "2, 2, 1, True, False",
            "3, 5, 1, True",
            "6",
            "None",
            "1",
        ),
    ):
        args = f"2., {args}" if name == "lp_pool1d" else args
        edges.compare(name, f"F.{name}({x}, {args})")
        edges.compare(f"{name}, gradient", f"grads(lambda x: F.{name}(x, {args}), {x})")
    for mode, padding, corners in itertools.product(
        ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (True, False)
    ):
        for g in ("-1.", "1.", "nan", "inf", "-inf", "1e30", "0.", "2.5", "-3.5", "0.3333"):
            edges.compare(
                "grid_sample",
                f"F.grid_sample(t.arange(9.).reshape(1, 1, 3, 3), t.full((1, 1, 1, 2), {g}), mode='{mode}', "
                f"padding_mode='{padding}', align_corners={corners})",
            )


def layers(edges):
    for index, padding, norm, p in itertools.product(
        ("[0, 1, 1]", "[2, 0]", "[]", "[3]", "[-1]", "[[0, 2]]"),
        (None, 0, -1, 3, -4),
        (None, 1.0, 0.0, -1.0),
        (2.0, 1.0, 0, inf),
    ):
        w = "t.arange(9.).reshape(3, 3)"
        i = f"t.tensor({index}, dtype=t.int64)"
        edges.compare("embedding", f"F.embedding({i}, {w}, {padding}, {norm}, {p})")
        edges.compare("embedding, gradient", f"grads(lambda w: F.embedding({i}, w, {padding}) ** 2, {w})")
        for mode, last in itertools.product(("sum", "mean", "max"), (False, True)):
            edges.compare(
                "embedding_bag",
                f"F.embedding_bag({i}.flatten(), {w}, t.tensor([0, 1]), {norm}, {p}, mode='{mode}', "
                f"padding_idx={padding}, include_last_offset={last})",
            )
    for name in "softmax log_softmax softmin gumbel_softmax".split()[:3]:
        for x in ("[[-inf, -inf]]", "[[inf, 1.]]", "[[nan, 1.]]", "[[1e38, -1e38]]", "[[]]", "[[1000., 1000.]]"):
            for dim in (0, 1, -1, 2):
                edges.compare(name, f"F.{name}(t.tensor({x}), {dim})")
                edges.compare(f"{name}, gradient", f"grads(lambda x: F.{name}(x, {dim}), t.tensor({x}))")
    activations = """relu relu6 elu selu celu leaky_relu hardtanh hardswish hardsigmoid softplus softshrink hardshrink
    softsign gelu silu mish logsigmoid tanhshrink threshold rrelu glu normalize""".split()
    at = "[0., -0., 3., -3., 6., 1., -1., 0.5, -0.5, inf, -inf, nan, 20., 21., -100., 1e30, -1e30, 1e-45]"
    at = f"t.tensor({at}, dtype=t.{{}})"
    for name, dtype in itertools.product(
        activations, ("float32", "float64", "float16", "bfloat16", "int64", "complex64", "bool")
    ):
        rest = {"threshold": ", 0.5, 2", "rrelu": ", 0.2, 0.2", "normalize": ", dim=0"}.get(name, "")
        edges.compare(name, f"F.{name}({at.format('float32')}.nan_to_num(0, 0, 0).to(t.{dtype}){rest})")
        if dtype not in ("int64", "bool", "complex64"):
            edges.compare(name, f"F.{name}({at.format(dtype)}{rest})")
            edges.compare(f"{name}, gradient", f"grads(lambda x: F.{name}(x{rest}), {at.format(dtype)})")
    for name, number in itertools.product(
        ("elu", "celu", "leaky_relu", "softshrink", "hardshrink", "softplus"), (0, -1, inf, nan, 1e-30, 5, True)
    ):
        edges.compare(f"{name} with a number", f"F.{name}({at.format('float32')}, {number})")
        edges.compare(
            f"{name} with a number, gradient", f"grads(lambda x: F.{name}(x, {number}), {at.format('float32')})"
        )
    shapes = ("(2, 3)", "(0, 3)", "(2, 0)", "(1, 1)", "(2, 3, 4)", "(1, 3, 1)", "(3,)", "()", "(2, 3, 0)")
    for shape, eps, training in itertools.product(shapes, (1e-5, 0.0, 1.0, -1.0, nan), (True, False)):
        x = f"t.ones({shape})"
        edges.compare("batch_norm", f"F.batch_norm({x}, t.zeros(3), t.ones(3), training={training}, eps={eps})")
        edges.compare("instance_norm", f"F.instance_norm({x}, eps={eps})")
        edges.compare("layer_norm", f"F.layer_norm({x}, {x}.shape[-1:], eps={eps})")
        edges.compare("rms_norm", f"F.rms_norm({x}, {x}.shape[-1:], eps={eps})")
        edges.compare("group_norm", f"F.group_norm({x}, 3, eps={eps})")
        edges.compare("local_response_norm", f"F.local_response_norm({x}, 2)")
    for mask in (
        "None",
        "t.zeros(2, 2, dtype=t.bool)",
        "t.full((2, 2), -inf)",
        "t.tensor([[0., -inf], [-inf, -inf]])",
        "t.ones(3, 3)",
    ):
        for causal, scale in itertools.product((True, False), (None, 0.0, inf, 2.0)):
            call = f"F.scaled_dot_product_attention(x, x, x, {mask}, 0.0, {causal}, scale={scale})"
            edges.compare("scaled_dot_product_attention", f"(lambda x: {call})(t.ones(1, 2, 3))")


def network(edges):
    losses(edges)
    planes(edges)
    layers(edges)
