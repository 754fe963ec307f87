"""Programs: what a function computes, written down once and run again; printed, drawn, saved. See docs/graph.md.

Nothing here has a counterpart of the same name in PyTorch; the closest is `torch.jit.trace`.
"""

import collections
import os

from . import _neura

__all__ = ["Node", "Program", "load", "parse", "trace"]

Node = collections.namedtuple("Node", "name inputs outputs")
Node.__doc__ = "A call of a program: the operation's name, its operands (numbers of values; Scalar, None) and results."


class Program:
    """Calls of operations on values; made by `trace`, `parse` and `load`, printed by `print`.

    A run takes tensors with the dtypes and sizes of the example (ShapeError, DTypeError, DeviceError, ValueError
    otherwise) and gives new ones; one result is a tensor, several are a tuple. Captured memory, such as parameters, is
    read and updated where it is. Nothing is recorded for gradients.

    >>> import neura
    >>> p = neura.graph.trace(lambda x: x.exp() + 1, neura.zeros(2))
    >>> print(p)
    program
    %0 = input : float32 [2]
    %1 = exp(%0) : float32 [2]
    %2 = add(%1, 1) : float32 [2]
    return %2
    >>> p(neura.zeros(2))
    tensor([2., 2.])
    """

    def __init__(self, program):
        self._program = program

    def run(self, *inputs):
        """Runs it on other inputs.

        >>> import neura
        >>> neura.graph.trace(lambda x: (x + 1, x * 2), neura.zeros(2)).run(neura.ones(2))
        (tensor([2., 2.]), tensor([2., 2.]))
        """
        results = self._program.run(inputs)
        return results[0] if len(results) == 1 else results or None

    __call__ = run

    def __str__(self):
        return self._program.str(False).rstrip("\n")

    def __repr__(self):
        return f"<neura.graph.Program of {len(self.nodes)} nodes>"

    @property
    def nodes(self):
        """The calls in order, as `Node`s.

        >>> import neura
        >>> neura.graph.trace(lambda x: x.exp() + 1, neura.zeros(2)).nodes
        [Node(name='exp', inputs=[0], outputs=[1]), Node(name='add', inputs=[1, 1], outputs=[2])]
        """
        return [Node(*n) for n in self._program.nodes()]

    @property
    def captured(self):
        """The memory that it reads and updates beside its inputs: names and tensors, in the order of the text."""
        return [(name, t) for kind, name, t in self._program.externals() if kind == "captured"]

    def optimized(self):
        """The same in fewer calls, bit for bit: constants computed, equal calls made once, unread ones dropped, and
        chains of pointwise operations on the cpu gone through in one pass over memory.

        >>> import neura
        >>> p = neura.graph.trace(lambda x: (x.exp() + 1).tanh(), neura.zeros(2))
        >>> [n.name for n in p.optimized().nodes]
        ['fused']
        """
        return Program(self._program.optimized())

    def to_dot(self):
        """The text of a picture for Graphviz: operations with their devices, values with dtypes and sizes.

        >>> import neura
        >>> neura.graph.trace(lambda x: x.exp(), neura.zeros(2)).to_dot().splitlines()[0]
        'digraph program {'
        """
        return self._program.to_dot()

    def save(self, path):
        """Writes its text to a file, with the values of captured memory. What an optimizer gave is not in it: such a
        program raises NotImplementedError when it is run after `load`."""
        with open(os.fspath(path), "w", encoding="utf-8") as file:
            file.write(self._program.str(True))


def parse(text):
    """The program of a text. ValueError where it is not one; an operation trusts its attributes, so read only texts of
    your own.

    >>> import neura
    >>> p = neura.graph.trace(lambda x: x.exp() + 1, neura.zeros(2))
    >>> str(neura.graph.parse(str(p))) == str(p)
    True
    """
    return Program(_neura._graph.parse(text))


def load(path):
    """What `Program.save` wrote.

    >>> import neura, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "p.txt")
    >>> layer = neura.nn.Linear(2, 3)
    >>> neura.graph.trace(layer, neura.ones(1, 2)).save(path)
    >>> bool((neura.graph.load(path)(neura.ones(1, 2)) == layer(neura.ones(1, 2))).all())
    True
    """
    with open(os.fspath(path), encoding="utf-8") as file:
        return parse(file.read())


def trace(f, *inputs):
    """Calls f(*inputs) and writes down every operation that it runs: the forward of a module, or a whole training step
    with backward and the optimizer. f returns a tensor, a tuple of tensors or None.

    f is called until two calls after another do the same, at most four times, and each call counts: a training step
    is taken. A run draws new random numbers, as f would, and the learning rate and counts of an optimizer go on. What
    f does beside operations, such as branches and prints, is as in the last call. ValueError where a program could not
    go on like f: f reads values on the host (`item()`, `if x > 0`), keeps a tensor that its next call reads, or seeds a
    generator; assigning `.grad` anew is no such thing, but runs do not do it.

    >>> import neura
    >>> net = neura.nn.Linear(2, 1)
    >>> sgd = neura.optim.SGD(net.parameters(), lr=0.1)
    >>> def step(x):
    ...     sgd.zero_grad()
    ...     loss = net(x).square().mean()
    ...     loss.backward()
    ...     sgd.step()
    ...     return loss.detach()
    >>> x = neura.ones(4, 2)
    >>> p = neura.graph.trace(step, x)
    >>> bool(p(x) >= p(x))
    True
    """
    names = {}
    for member in ("named_parameters", "named_buffers"):
        if hasattr(f, member):
            names.update(getattr(f, member)())
    return Program(_neura._graph.trace(f, inputs, names))
