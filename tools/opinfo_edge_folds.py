"""The expressions of opinfo_edges.py about folds, orders, ranges, conversions, indices, and gradients of these."""
import itertools
import re

inf, nan = float("inf"), float("nan")

ROWS = {
    "float32": [
        "[nan, 1., 2.], [2., nan, nan], [1., 1., -0.]",
        "[inf, -inf, 0.], [inf, inf, 1.], [-inf, -inf, -inf]",
        "[3., 3., 1.], [1., 3., 3.], [2., 2., 2.]",
        "[0., -0., 0.], [-0., 0., -0.], [-0., -0., -0.]",
        "[1e38, 3e38, 3e38], [1e-45, 1e-38, 1e-40], [1e30, 1e-30, -1e30]",
    ],
    "int64": ["[2**62, 2**62, 2**62], [-2**63, -1, 0], [3, 3, 2]"],
    "int32": ["[2**31 - 1, 1, 2], [-2**31, -1, 0], [3, 3, 2]"],
    "uint8": ["[255, 1, 2], [0, 0, 0], [3, 3, 2]"],
    "int8": ["[127, 1, -128], [0, 0, 0], [3, 3, 2]"],
    "bool": ["[True, False, True], [False, False, False], [True, True, True]"],
    "complex64": [
        "[1+1j, 1-1j, 0j], [complex(nan, 0), 1j, 2], [complex(inf, nan), 0j, 1]",
        "[complex(inf, inf), 1, 0j], [-1j, 1j, -1], [1e30+1e30j, 1e-30j, 0]",
    ],
}
for wide, narrow in (
    ("float32", "float64"),
    ("float32", "float16"),
    ("float32", "bfloat16"),
    ("complex64", "complex128"),
):
    ROWS[narrow] = ROWS[wide]
FOLDS = """sum prod mean std var amax amin max min argmax argmin median nanmedian mode logsumexp nansum nanmean all any
count_nonzero norm cumsum cumprod cummax cummin logcumsumexp sort argsort aminmax std_mean var_mean softmax log_softmax
linalg.vector_norm""".split()
NEEDS_DIM = "cumsum cumprod cummax cummin logcumsumexp logsumexp softmax log_softmax mode amax amin".split()
EMPTY = ["(0,)", "(0, 3)", "(3, 0)", "(2, 0, 3)", "()", "(1, 1)"]


def folds(edges):
    for name, (dtype, rows) in itertools.product(FOLDS, ROWS.items()):
        for row in rows:
            x = f"t.tensor([{row}], dtype=t.{dtype})"
            if name not in NEEDS_DIM:
                edges.compare(name, f"t.{name}({x})")
            for dim in (0, 1, -1):
                edges.compare(name, f"t.{name}({x}, dim={dim})")
            for source in (f"{x}.t()", f"{x}.flip(1)", f"{x}[:, ::2]", f"{x}[:, :1].expand(3, 9)"):
                edges.compare(name, f"t.{name}({source}, dim=1)")
        for shape in EMPTY:
            for dim in ("", ", dim=0", ", dim=-1", ", dim=1", ", dim=2", ", dim=-3"):
                edges.compare(f"{name} of nothing", f"t.{name}(t.ones({shape}, dtype=t.{dtype}){dim})")
    orders(edges)
    searches(edges)
    ranges(edges)
    conversions(edges)
    moments(edges)


def orders(edges):
    for dtype, rows in ROWS.items():
        for row in rows:
            x = f"t.tensor([{row}], dtype=t.{dtype})"
            for rest in ("1", "1, descending=True", "stable=True, dim=1", "stable=True, dim=0, descending=True"):
                edges.compare("sort", f"t.sort({x}, {rest})[0]")
                edges.compare("sort", f"t.sort({x}, {rest if 'stable' in rest else 'stable=True, dim=1'})[1]")
            for k, largest in itertools.product((0, 1, 2, 3, 4, -1), (True, False)):
                edges.compare("topk", f"t.topk({x}, {k}, largest={largest})[0]")
                edges.compare("kthvalue", f"t.kthvalue({x}, {k})[0]")
            for more in ("", ", return_inverse=True, return_counts=True", ", dim=0", ", dim=1, return_inverse=True"):
                edges.compare("unique", f"t.unique({x}{more})")
                edges.compare("unique_consecutive", f"t.unique_consecutive({x}{more.replace(', dim=0', '')})")
            for q in ("0.5", "0", "1", "t.tensor([0.1, 0.25, 0.9], dtype={x}.dtype)", "1.5", "-0.1", "nan"):
                for way in ("linear", "lower", "higher", "midpoint", "nearest"):
                    edges.compare("quantile", f"t.quantile({x}, {q.format(x=x)}, interpolation='{way}')")
                    edges.compare("nanquantile", f"t.nanquantile({x}, {q.format(x=x)}, dim=1, interpolation='{way}')")
            for name in ("isin", "maximum", "fmax", "minimum", "fmin", "isclose", "equal", "eq", "allclose"):
                edges.compare(name, f"t.{name}({x}, {x}.flip(0))")
            for name in ("msort", "diff", "trace", "nonzero", "flatnonzero", "sign", "isreal", "cov", "corrcoef"):
                call = f"t.{name}({x})" if name != "flatnonzero" else f"t.nonzero({x}.flatten())"
                edges.compare(name, call)
            for name in (
                "amax",
                "amin",
                "max",
                "min",
                "median",
                "cummax",
                "cumprod",
                "prod",
                "logsumexp",
                "norm",
                "std",
            ):
                if dtype in ("float32", "float64", "complex128"):
                    edges.compare(
                        f"{name}, gradient",
                        f"grads(lambda x: first(t.{name}(x, dim=1)), {x})".replace(
                            "first(", "(lambda r: r if not isinstance(r, tuple) else r[0])("
                        ),
                    )


def searches(edges):
    edge_lists = ["[1., 3., 5., 7.]", "[1., 1., 1., 2.]", "[-inf, 0., inf]", "[0., nan, nan]", "[]", "[2.]"]
    sought = ["[[3., 1., 8., -1.]]", "[nan, inf, -inf, -0.]", "1.", "[]", "nan"]
    for a, b, right, i32 in itertools.product(edge_lists, sought, (True, False), (True, False)):
        edges.compare("bucketize", f"t.bucketize(t.tensor({b}), t.tensor({a}), right={right}, out_int32={i32})")
        edges.compare("searchsorted", f"t.searchsorted(t.tensor({a}), t.tensor({b}), right={right}, out_int32={i32})")
    edges.compare("searchsorted", "t.searchsorted(t.tensor([1., 2.]), t.tensor([1.]), right=True, side='left')")
    edges.compare("searchsorted", "t.searchsorted(t.tensor([1., 2.]), t.tensor([1.]), side='middle')")
    edges.compare("searchsorted", "t.searchsorted(t.tensor([3., 1., 2.]), t.tensor([1.5]), sorter=t.tensor([1, 2, 0]))")
    edges.compare("searchsorted", "t.searchsorted(t.tensor([3., 1., 2.]), t.tensor([1.5]), sorter=t.tensor([1, 2, 3]))")
    edges.compare(
        "searchsorted", "t.searchsorted(t.tensor([[1., 2.], [3., 4.]]), t.tensor([[1.], [4.]]), side='right')"
    )
    edges.compare("searchsorted", "t.searchsorted(t.tensor([1, 2]), t.tensor([1.5]))")
    for x in ("[1., 2., 1.]", "[nan, 1.]", "[inf, 1.]", "[]", "[1., 1., 1.]", "[0., 4., 5., -1.]"):
        for more in (
            "",
            ", bins=4",
            ", bins=4, min=0, max=4",
            ", bins=0",
            ", bins=2, min=3, max=1",
            ", bins=3, min=1, max=1",
            ", bins=2, min=nan, max=1",
            ", bins=2, min=-inf, max=1",
        ):
            edges.compare("histc", f"t.histc(t.tensor({x}){more})")
            edges.compare("histogram", f"t.histogram(t.tensor({x}), bins=4, range=(0., 4.))")
    for x in ("[1, 2, 1]", "[]", "[-1]", "[[1]]", "[1.5]", "[True]", "[255]"):
        for more in (
            "",
            ", minlength=5",
            ", minlength=-1",
            ", weights=t.tensor([0.5, 1.5, nan])",
            ", weights=t.tensor([1])",
        ):
            edges.compare("bincount", f"t.bincount(t.tensor({x}){more})")
            edges.compare("bincount", f"t.bincount(t.tensor({x}, dtype=t.int64){more})")


def ranges(edges):
    ends = [
        "0, 1, 0.1",
        "0, 1, 0.3",
        "1, 0, -0.25",
        "0, 10, 3",
        "0, 0",
        "5",
        "-5",
        "0.5",
        "2, 1",
        "0, 1, 0",
        "1, 2, -1",
        "nan",
        "0, inf",
        "2**53, 2**53 + 3",
        "0, 5, 2.5",
        "True",
        "2**62, 2**62 + 5, 2",
        "-1, -1.0000001, -1e-8",
        "0.1, 0.7, 0.1",
    ]
    integral = ("t.int64", "t.int32", "t.uint8", "t.bool")
    for end, dtype in itertools.product(
        ends, ("None", "t.int64", "t.float64", "t.float16", "t.bfloat16", "t.uint8", "t.bool", "t.int32", "t.complex64")
    ):
        if dtype not in integral or not re.search(r", -?0\.\d+$|e-8", end):  # PyTorch dies of a step that becomes 0
            edges.compare("arange", f"t.arange({end}, dtype={dtype})")
    spans = [
        "0, 1",
        "-1, 1",
        "1, 0",
        "0.1, 0.7",
        "0, 255",
        "-2**63, 2**63 - 1",
        "0, inf",
        "nan, 1",
        "3, 3",
        "1j, 2",
        "1e38, -3e38",
    ]
    for span, steps, dtype in itertools.product(
        spans,
        (0, 1, 2, 3, 5, 7, 100, -1),
        ("None", "t.float64", "t.float16", "t.int32", "t.uint8", "t.bfloat16", "t.complex64"),
    ):
        if dtype != "t.int32" or "63" not in span:
            edges.compare("linspace", f"t.linspace({span}, {steps}, dtype={dtype})")
        if "63" not in span and "e38" not in span and steps < 100:
            edges.compare("logspace", f"t.logspace({span}, {steps}, dtype={dtype})")
            edges.compare("logspace", f"t.logspace({span}, {steps}, base=2, dtype={dtype})")
            edges.compare("logspace", f"t.logspace({span}, {steps}, base=0.5, dtype={dtype})")


def conversions(edges):
    kinds = "float32 float64 float16 bfloat16 int8 uint8 int16 int32 int64 bool complex64".split()
    exact = "[0., -0., 1., -1.5, 2.5, 127.9, -127.9, 100.25, 0.4]"
    for a, b in itertools.product(kinds, repeat=2):
        source = (
            f"t.tensor({exact}, dtype=t.float32).abs().to(t.{a})"
            if "uint8" in (a, b)
            else f"t.tensor({exact}).to(t.{a})"
        )
        edges.compare("to", f"{source}.to(t.{b})")
        edges.compare("promotion", f"{source} * t.ones(9, dtype=t.{b})")
        edges.compare("promotion", f"{source} + t.tensor(2, dtype=t.{b})")
        edges.compare("promotion", f"t.result_type(t.ones(1, dtype=t.{a}), t.ones((), dtype=t.{b}))")
        edges.compare("promotion", f"t.promote_types(t.{a}, t.{b})")
        edges.compare("promotion", f"t.can_cast(t.{a}, t.{b})")
        edges.compare("in place", f"t.ones(3, dtype=t.{a}).add_(t.ones(3, dtype=t.{b}))")
        edges.compare("in place", f"t.ones(3, dtype=t.{a}).div_(t.ones(3, dtype=t.{b}))")
        edges.compare("in place", f"t.ones(3, dtype=t.{a}).copy_(t.tensor([1, 0, 1], dtype=t.{b}))")
        edges.compare("in place", f"t.zeros(3, dtype=t.{a}).index_put_((t.tensor([0]),), t.ones(1, dtype=t.{b}))")
        edges.compare(
            "in place", f"t.zeros(3, dtype=t.{a}).masked_fill_(t.tensor([True, False, True]), t.ones((), dtype=t.{b}))"
        )
        edges.compare("in place", f"t.zeros(3, dtype=t.{a}).scatter_(0, t.tensor([0]), t.ones(1, dtype=t.{b}))")
        edges.compare("where", f"t.where(t.tensor([True, False]), t.ones(2, dtype=t.{a}), t.zeros(2, dtype=t.{b}))")
        edges.compare("where", f"t.where(t.tensor([True, False]), t.ones(2, dtype=t.{a}), t.zeros((), dtype=t.{b}))")
        edges.compare("cat", f"t.cat([t.ones(2, dtype=t.{a}), t.zeros(2, dtype=t.{b})])")
        edges.compare("stack", f"t.stack([t.ones(2, dtype=t.{a}), t.zeros(2, dtype=t.{b})])")
        for name in ("matmul", "dot", "outer", "mv", "bmm", "addcmul", "lerp", "clamp"):
            rest = {"addcmul": f"t.ones(3, dtype=t.{b}), 2", "lerp": "0.5", "clamp": f"t.ones(3, dtype=t.{b})"}.get(
                name
            )
            edges.compare(
                name, f"t.{name}(t.ones(3, dtype=t.{a}), t.ones(3, dtype=t.{b}){', ' + rest if rest else ''})"
            )
        for number in ("2", "0.5", "True", "1j", "300", "-1", "nan"):
            edges.compare("where", f"t.where(t.tensor([True, False]), t.ones(2, dtype=t.{a}), {number})")
            edges.compare("fill", f"t.full((2,), {number}, dtype=t.{a})")
            edges.compare("fill", f"t.ones(2, dtype=t.{a}).fill_({number})")
            edges.compare("masked_fill", f"t.ones(2, dtype=t.{a}).masked_fill(t.tensor([True, False]), {number})")
            edges.compare("clamp", f"t.clamp(t.tensor([0, 1, 2], dtype=t.{a}), min={number})")
            edges.compare("clamp", f"t.clamp(t.tensor([0, 1, 2], dtype=t.{a}), {number}, {number})")


def moments(edges):
    for x in ("[1., 2., 3.]", "[1.]", "[]", "[nan, 1.]", "[inf, 1.]", "[1e30, -1e30]", "[1e8, 1e8 + 1]"):
        for n in (0, 1, 2, 3, 4, 0.5, -1):
            for name in ("var", "std", "var_mean", "std_mean"):
                edges.compare(name, f"t.{name}(t.tensor({x}), dim=0, correction={n})")
                if n in (0, 1, 3):
                    edges.compare(
                        f"{name}, gradient",
                        f"grads(lambda x: sum(t.{name}(x, dim=0, correction={n}).reshape(1)) "
                        f"if '{name}'[-4:] != 'mean' else sum(t.{name}(x, dim=0, correction={n})), t.tensor({x}))",
                    )
    for p in ("0", "1", "2", "3", "0.5", "inf", "-inf", "-1", "-2", "nan", "'fro'", "'nuc'"):
        for x in (
            "[1., -2., 3.]",
            "[0., 0.]",
            "[]",
            "[nan, 1.]",
            "[inf, 1.]",
            "[1e30, 1e30]",
            "[1e-30, 1e-30]",
            "[3+4j, 0j]",
        ):
            edges.compare("norm", f"t.norm(t.tensor({x}), {p})")
            edges.compare("norm", f"t.linalg.norm(t.tensor({x}), {p})")
            edges.compare("norm, gradient", f"grads(lambda x: t.norm(x, {p}), t.tensor({x}))")
            if "'" not in p:
                edges.compare("vector_norm", f"t.linalg.vector_norm(t.tensor({x}), {p})")
                edges.compare("vector_norm, gradient", f"grads(lambda x: t.linalg.vector_norm(x, {p}), t.tensor({x}))")
                edges.compare("renorm", f"t.renorm(t.tensor([{x}]), {p}, 0, 1.0)")
                edges.compare("normalize", f"F.normalize(t.tensor([{x}]), {p})")
                edges.compare(
                    "pairwise_distance", f"F.pairwise_distance(t.tensor([{x}]), t.tensor([{x}]).flip(1), {p})"
                )
            edges.compare("matrix_norm", f"t.linalg.matrix_norm(t.tensor([{x}, {x}]), {p})")
        for x, y in (
            ("t.ones(2, 3)", "t.ones(2, 3) * 2"),
            ("t.zeros(2, 3)", "t.zeros(1, 3)"),
            ("t.ones(2, 0)", "t.ones(3, 0)"),
            ("t.ones(0, 3)", "t.ones(2, 3)"),
            ("t.eye(30)", "t.eye(30) * 2"),
            ("t.tensor([[nan, 1.]])", "t.ones(1, 2)"),
        ):
            if "'" not in p:
                edges.compare("cdist", f"t.cdist({x}, {y}, p={p})")
                edges.compare("cdist, gradient", f"grads(lambda x, y: t.cdist(x, y, p={p}), {x}, {y})")
                edges.compare("pdist", f"t.pdist({x}, p={p})")


def indexing(edges):
    for name in ("gather", "index_select", "take_along_dim", "take"):
        for i in ("[0]", "[-1]", "[3]", "[-4]", "[2**62]", "[-2**63]", "[]", "0"):
            args = f"t.tensor({i}, dtype=t.int64)" if name == "take" else f"0, t.tensor({i}, dtype=t.int64)"
            args = f"t.tensor({i}, dtype=t.int64), 0" if name == "take_along_dim" else args
            edges.compare(name, f"t.{name}(t.arange(3.), {args})")
    for name, i in itertools.product(
        ("scatter", "scatter_add", "index_add", "index_copy", "index_fill"), ("[0]", "[-1]", "[3]", "[0, 0]")
    ):
        source = "9.0" if name == "index_fill" else "t.ones(len(%s))" % i
        edges.compare(name, f"t.arange(3.).{name}(0, t.tensor({i}), {source})")
    for reduce, own in itertools.product(("sum", "prod", "mean", "amax", "amin"), (True, False)):
        for x in ("[1., nan, 2.]", "[0., 0., 0.]", "[inf, -inf, 1.]", "[2., 2., 2.]"):
            for name in ("scatter_reduce", "index_reduce"):
                if name != "index_reduce" or reduce != "sum":
                    call = f"x.{name}(0, t.tensor([0, 0, 1]), y, '{reduce}', include_self={own})"
                    edges.compare(name, f"(lambda x, y: {call})(t.tensor({x}), t.tensor({x}))")
                    edges.compare(f"{name}, gradient", f"grads(lambda x, y: {call}, t.tensor({x}), t.tensor({x}))")
    for f in (
        "x ** 0",
        "x ** 0.5",
        "t.pow(0, x)",
        "x.sqrt()",
        "t.xlogy(x, x)",
        "t.where(x > 0, x.log(), x)",
        "x.norm()",
        "x.abs()",
        "x.clamp(0, 1)",
        "x.clamp(max=x.detach())",
        "t.maximum(x, x * 1)",
        "x.sign()",
        "x.prod()",
        "x.cumprod(0)",
        "x.max()",
        "x.min()",
        "x.median()",
        "x.var()",
        "x.std()",
        "t.atan2(x, x)",
        "t.hypot(x, x)",
        "t.logaddexp(x, x)",
        "x.amax()",
        "t.special.entr(x)",
        "t.special.xlog1py(x, x)",
        "t.nan_to_num(x)",
        "t.frac(x)",
        "t.fmod(x, x)",
        "t.remainder(x, 1)",
        "x.sort()[0]",
        "x.kthvalue(1)[0]",
        "x.topk(2)[0]",
        "x.logsumexp(0)",
        "x.softmax(0)",
        "x.reciprocal()",
        "x.rsqrt()",
        "t.sinc(x)",
        "t.nextafter(x, x)",
        "t.copysign(x, x)",
        "t.heaviside(x, x)",
        "t.lerp(x, x, 0.5)",
        "x.renorm(2, 0, 1)",
        "t.dist(x, x)",
        "t.dist(x, x * 2, inf)",
        "x.logcumsumexp(0)",
        "t.quantile(x, 0.5)",
        "x.nanmedian()",
        "x.aminmax()[0]",
        "F.cosine_similarity(x, x * 1, 0)",
        "F.pairwise_distance(x, x * 1)",
        "t.linalg.vector_norm(x, 3)",
        "x.mode()[0]",
        "t.special.i0e(x)",
        "t.special.erfcx(x)",
        "t.special.ndtri(x)",
        "t.logit(x)",
        "x.fmax(x * 1)",
        "t.cummax(x, 0)[0]",
    ):
        for x in (
            "[0., 0., 0.]",
            "[-0., 0., 1.]",
            "[1., 1., 1.]",
            "[nan, 0., 1.]",
            "[inf, -inf, 0.]",
            "[2., 2., -2.]",
            "[1., 0., 2.]",
        ):
            for dtype in ("float64", "float32", "float16"):
                x_ = x if not f.endswith("renorm(2, 0, 1)") else f"[{x}]"
                edges.compare(f"gradient of {f}", f"grads(lambda x: {f}, t.tensor({x_}, dtype=t.{dtype}))")
