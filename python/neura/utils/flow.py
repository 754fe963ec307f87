"""How large gradients are, from the first layer to the last: where they vanish, and where they explode."""

import math

from .._neura import errors

__all__ = ["FlowRow", "GradientFlow", "gradient_flow"]


class FlowRow:
    """One weight: name (str), kind (str, its module's class), gradient and weight (norms), ratio of the two, and note.

    note (str): "" for a healthy one, or "vanishes", "explodes", "is not finite", "has none".
    """

    def __init__(self, name, kind, weight, gradient):
        self.name, self.kind, self.weight, self.gradient, self.note = name, kind, weight, gradient, ""
        self.ratio = gradient / weight if gradient is not None and weight else gradient

    def __repr__(self):
        return f"FlowRow({self.name!r}, gradient={self.gradient}, ratio={self.ratio}, note={self.note!r})"


class GradientFlow:
    """What gradient_flow() found; str() of it is a table.

    rows (list of FlowRow); vanishing, exploding (lists of names); warnings (list of sentences, none where all is well).
    """

    def __init__(self, rows, vanishing, exploding):
        self.rows = rows
        known = [row.ratio for row in rows if row.ratio is not None and math.isfinite(row.ratio)]
        largest = max(known, default=0.0)
        for row in rows:
            if row.ratio is None:
                row.note = "has none"
            elif not math.isfinite(row.ratio):
                row.note = "is not finite"
            elif row.ratio > exploding:
                row.note = "explodes"
            elif row.ratio < vanishing * min(largest, 1.0) or row.ratio == 0:
                row.note = "vanishes"
        self.vanishing = [row.name for row in rows if row.note == "vanishes"]
        self.exploding = [row.name for row in rows if row.note in ("explodes", "is not finite")]

    @property
    def warnings(self):
        """A sentence for each kind of trouble."""
        said = []
        for names, text in (
            (
                self.vanishing,
                "gradients vanish in {}: try ReLU or GELU, norms, residual connections, another initialisation",
            ),
            (self.exploding, "gradients explode in {}: try a smaller initialisation, norms, clipping, a lower rate"),
            ([r.name for r in self.rows if r.note == "has none"], "no gradient reached {}: is it used, and trained?"),
        ):
            if names:
                more = f" and {len(names) - 3} more" if len(names) > 3 else ""
                said.append(text.format(", ".join(names[:3]) + more))
        return said

    def __str__(self):
        head = ("Weight", "|gradient|", "|weight|", "ratio", "")
        lines = [head]
        for row in self.rows:
            numbers = ["-" if x is None else f"{x:.3g}" for x in (row.gradient, row.weight, row.ratio)]
            lines.append((row.name, *numbers, row.note))
        widths = [max(len(line[i]) for line in lines) for i in range(5)]
        text = [
            "  ".join(
                [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:4], widths[1:4])), line[4]]
            ).rstrip()
            for line in lines
        ]
        return "\n".join([text[0], "-" * max(map(len, text)), *text[1:], *self.warnings])

    __repr__ = __str__

    def to_dot(self):
        """The weights from first to last as a graph for Graphviz: red explodes, blue vanishes, grey has no gradient."""
        colors = {"": "palegreen", "vanishes": "lightblue", "has none": "lightgrey"}
        lines = ["digraph gradients {", "  node [shape=box, style=filled];"]
        for i, row in enumerate(self.rows):
            ratio = "no gradient" if row.ratio is None else f"{row.ratio:.3g}"
            label = f"{row.name}\\n{row.kind}\\n{ratio}".replace('"', "'")
            lines.append(f'  n{i} [label="{label}", fillcolor="{colors.get(row.note, "salmon")}"];')
            if i:
                lines.append(f"  n{i - 1} -> n{i};")
        return "\n".join([*lines, "}"]) + "\n"


def gradient_flow(model, vanishing=1e-5, exploding=100.0):
    """How large each weight's gradient is compared with the weight itself, after backward, in the order of the model.

    model (Module): whose parameters of two dimensions or more have gradients. vanishing (float): a ratio below this
    part of the largest (or of 1, if that is less) is called vanishing. exploding (float): a ratio above it, or one
    that is not finite, exploding: a step with a rate of 0.01 would change the weight by all of itself. Nothing is
    changed.
    ValueError where no parameter has a gradient: call backward first.

    >>> import neura
    >>> from neura import nn
    >>> _ = neura.manual_seed(0)
    >>> net = nn.Sequential(*(part for _ in range(20) for part in (nn.Linear(8, 8), nn.Sigmoid())))
    >>> net(neura.randn(4, 8)).square().mean().backward()
    >>> flow = neura.utils.gradient_flow(net)
    >>> flow.vanishing[0], flow.exploding
    ('0.weight', [])
    """
    rows = []
    for path, module in model.named_modules():
        for name, p in module.named_parameters(recurse=False):
            if p.dim() < 2 or not p.requires_grad:
                continue
            grad = p.grad
            gradient = None if grad is None else grad.detach().double().norm().item()
            rows.append(
                FlowRow(
                    f"{path}.{name}" if path else name,
                    type(module).__name__,
                    p.detach().double().norm().item(),
                    gradient,
                )
            )
    if not any(row.gradient is not None for row in rows):
        raise errors.ValueError("gradient_flow: expected weights with gradients, got none; call backward first")
    return GradientFlow(rows, vanishing, exploding)
