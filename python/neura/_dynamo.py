"""What programs take of torch._dynamo: its switches, which have no effect, and names of neura.compiler."""

import types

from .compiler import OptimizedModule, disable, is_compiling, list_backends, reset  # noqa: F401

config = types.SimpleNamespace(
    suppress_errors=False,
    verbose=False,
    cache_size_limit=8,
    recompile_limit=8,
    capture_scalar_outputs=False,
    capture_dynamic_output_shape_ops=False,
    automatic_dynamic_shapes=True,
    optimize_ddp=True,
    force_parameter_static_shapes=True,
    allow_unspec_int_on_nn_module=False,
)


def allow_in_graph(fn):
    """The function itself."""
    return fn


def graph_break(msg=""):
    """Has no effect: there are no graphs to break."""


def mark_dynamic(t, index, **kwargs):
    """Has no effect: any size is as good as another."""


mark_static = maybe_mark_dynamic = mark_dynamic
