"""A model as a table: its modules as they are called, what they give, their parameters and multiply-adds."""

import neura

from .._neura import errors
from ..nn.modes import in_mode

__all__ = ["ModelSummary", "SummaryRow", "summary"]


def _tensors(x):
    if isinstance(x, neura.Tensor):
        yield x
    elif isinstance(x, dict):
        yield from _tensors(list(x.values()))
    elif isinstance(x, (list, tuple)):
        for part in x:
            yield from _tensors(part)


def _multiply_adds(module, args, outputs):
    nn = neura.nn
    if not outputs:
        return 0
    n = outputs[0].numel()
    if isinstance(module, nn.Linear):
        return n * module.in_features
    if isinstance(module, (nn.Conv1d, nn.Conv2d, nn.Conv3d)):
        return n * module.weight[0].numel()
    if isinstance(module, (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)):
        return next(_tensors(args)).numel() * module.weight[0].numel()
    return 0


class SummaryRow:
    """One call of a module.

    name (str): its path in the model, "" for the model; kind (str): its class; depth (int); output_shapes (list of
    tuples); parameters (int): its own, without those of its parts; multiply_adds (int); output_bytes (int).
    """

    def __init__(self, name, module):
        self.name, self.kind, self.depth = name, type(module).__name__, name.count(".") + 1 if name else 0
        self.parameters = sum(p.numel() for p in module.parameters(recurse=False))
        self.output_shapes, self.multiply_adds, self.output_bytes = [], 0, 0

    def _finish(self, module, args, output):
        outputs = list(_tensors(output))
        self.output_shapes = [tuple(t.shape) for t in outputs]
        self.output_bytes = sum(t.nbytes for t in outputs)
        self.multiply_adds = _multiply_adds(module, args, outputs)


class ModelSummary:
    """What summary() found out; str() of it is the table.

    rows (list of SummaryRow), total_parameters, trainable_parameters, parameter_bytes (of parameters and buffers),
    multiply_adds, output_bytes (of modules without parts).
    """

    def __init__(self, model, rows, leaves):
        unique = {id(p): p for p in model.parameters()}.values()
        self.rows = rows
        self.total_parameters = sum(p.numel() for p in unique)
        self.trainable_parameters = sum(p.numel() for p in unique if p.requires_grad)
        self.parameter_bytes = sum(p.nbytes for p in unique) + sum(b.nbytes for b in model.buffers())
        self.multiply_adds = sum(row.multiply_adds for row in rows)
        self.output_bytes = sum(row.output_bytes for row in rows if row.name in leaves)

    def __str__(self):
        lines = [("Module", "Output", "Parameters", "Multiply-adds")]
        for row in self.rows:
            label = "  " * row.depth + (f"{row.name.rpartition('.')[2]}: {row.kind}" if row.name else row.kind)
            shapes = ", ".join(str(list(shape)) for shape in row.output_shapes)
            lines.append((label, shapes, f"{row.parameters:,}", f"{row.multiply_adds:,}"))
        widths = [max(len(line[i]) for line in lines) for i in range(4)]
        text = [f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c:>{widths[2]}}  {d:>{widths[3]}}" for a, b, c, d in lines]
        rule = "-" * (sum(widths) + 6)
        ends = [
            f"Parameters: {self.total_parameters:,}, of which {self.trainable_parameters:,} are trained",
            f"Multiply-adds: {self.multiply_adds:,}",
            f"Bytes: {self.parameter_bytes:,} of parameters and buffers, {self.output_bytes:,} of outputs",
        ]
        return "\n".join([text[0], rule, *text[1:], rule, *ends])

    __repr__ = __str__


def _made(model, input_size, dtype):
    sizes = [input_size] if all(isinstance(n, int) for n in input_size) else list(input_size)
    device = next((p.device for p in model.parameters()), None)
    return [neura.zeros(*size, dtype=dtype, device=device) for size in sizes]


def summary(model, input_size=None, inputs=None, dtype=None):
    """Calls a model once, in evaluation mode and without gradients, and returns a ModelSummary of its modules.

    model (nn.Module). input_size: the sizes of its input, the batch included, or a list of them for several; they are
    filled with zeros of `dtype`, on the device of the parameters. inputs: instead of it a tensor, a tuple of positional
    arguments or a dict of named ones. Multiply-adds are those of linear layers and convolutions, without biases; other
    modules count 0.

    ValueError unless one of input_size and inputs is given; besides, what the model raises.

    >>> model = neura.nn.Sequential(neura.nn.Linear(4, 8), neura.nn.ReLU(), neura.nn.Linear(8, 2))
    >>> s = neura.utils.summary(model, (3, 4))
    >>> s.total_parameters, s.multiply_adds, s.rows[1].output_shapes
    (58, 144, [(3, 8)])
    """
    if (input_size is None) == (inputs is None):
        raise errors.ValueError(
            "summary: expected one of input_size and inputs, got " + ("none", "both")[inputs is not None]
        )
    if inputs is None:
        inputs = _made(model, input_size, dtype)
    named = inputs if isinstance(inputs, dict) else {}
    given = () if named else inputs if isinstance(inputs, (list, tuple)) else (inputs,)
    modules, rows, open_rows = dict(model.named_modules()), [], []

    def hooks_of(name):
        def begin(module, args):
            row = SummaryRow(name, module)
            rows.append(row), open_rows.append(row)

        def end(module, args, output):
            open_rows.pop()._finish(module, args, output)

        return begin, end

    handles = []
    try:
        for name, module in modules.items():
            begin, end = hooks_of(name)
            handles += [module.register_forward_pre_hook(begin), module.register_forward_hook(end)]
        with in_mode(model, False), neura.no_grad():
            model(*given, **named)
    finally:
        for handle in handles:
            handle.remove()
    leaves = {name for name, module in modules.items() if next(iter(module.children()), None) is None}
    return ModelSummary(model, rows, leaves)
