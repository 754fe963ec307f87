"""Programs: the operations of a function, traced once and run again; printed, drawn, saved. See docs/graph.md.

Nothing here has a counterpart of the same name in PyTorch; the closest is `torch.jit.trace`.
"""

import collections
import contextlib
import os

from . import _neura

__all__ = ["Explanation", "Node", "Program", "Replay", "ReplayCounts", "automatic_replay", "explain", "export"]
__all__ += ["is_automatic_replay", "load", "parse", "replay", "replay_counts", "trace"]

Node = collections.namedtuple("Node", "name inputs outputs")
Node.__doc__ = "A call of a program: the operation's name, its operands (numbers of values; Scalar, None) and results."


class Explanation(
    collections.namedtuple("Explanation", "waited unread ran fused plans found planning running flushes")
):
    """Statistics of compiled functions: how many calls `waited`, how many of them were never read (`unread`), how many
    `ran` in their place and how many of these are `fused`; how many `plans` were made and how many were `found` again;
    seconds of `planning` and `running`; and by what each stretch ended, as a dict, `flushes`."""

    def __str__(self):
        lines = [
            f"{self.waited} calls waited, {self.unread} of them unread; {self.ran} ran, {self.fused} of them fused",
            f"{self.plans} plans made, {self.found} found again",
            f"planning {self.planning * 1e3:.3f} ms, running {self.running * 1e3:.3f} ms",
        ]
        return "\n".join(lines + [f"ended by {why}: {times}" for why, times in sorted(self.flushes.items())])


def explain(reset=False):
    """What all compiled functions of the process have done so far, as an `Explanation`; reset: and counts from zero.

    >>> import neura
    >>> _ = neura.graph.explain(reset=True)
    >>> f = neura.compile(lambda x: (x.exp() + 1).tanh())
    >>> _ = f(neura.zeros(300, 200))
    >>> print(str(neura.graph.explain()).splitlines()[0])
    3 calls waited, 2 of them unread; 1 ran, 1 of them fused
    """
    return Explanation(**_neura._graph.explanation(reset))


def automatic_replay(on=True):
    """Replays what a program launches on CUDA again and again as one CUDA graph, without a change to the program. On at
    first, unless `NEURA_REPLAY=0`.

    A *stretch* is what a thread launches from one boundary to the next: the end of an optimizer's step, the call of a
    module that no other one calls, a value that is read, a question to a stream. One that came twice, and whose
    launches cost the host more time than the device, waits from its third time on until its last launch has come, and
    is captured then. Results are the same, bit for bit; `replay_counts` says what was replayed.

    >>> import neura
    >>> neura.graph.automatic_replay(False)
    >>> neura.graph.is_automatic_replay()
    False
    >>> neura.graph.automatic_replay()
    """
    _neura._graph.automatic_replay(on)


def is_automatic_replay():
    """Whether launches that repeat are replayed: see `automatic_replay`."""
    return _neura._graph.is_automatic_replay()


class ReplayCounts(collections.namedtuple("ReplayCounts", "stretches captures replays launches moved apart")):
    """Statistics of `automatic_replay`: how many `stretches` repeated, how often one was captured (`captures`) and
    replayed (`replays`), how many `launches` replays took the place of, how many results of a replay had to be moved
    before the next one (`moved`); and how many launches that waited ran one by one, by the reason, as a dict,
    `apart`."""

    def __str__(self):
        lines = [
            f"{self.stretches} stretches, {self.captures} captures",
            f"{self.replays} replays in the place of {self.launches} launches, {self.moved} results moved",
        ]
        return "\n".join(lines + [f"apart for {why}: {launches}" for why, launches in sorted(self.apart.items())])


def replay_counts(reset=False):
    """What `automatic_replay` has done in this process, as `ReplayCounts`; reset: and counts from zero.

    >>> import neura
    >>> neura.graph.replay_counts().replays
    0
    """
    return ReplayCounts(**_neura._graph.replay_counts(reset))


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

    def __init__(self, program, input_names=(), output_names=(), metadata=None):
        self._program = program
        self._names = (list(input_names), list(output_names))
        self.metadata = dict(metadata or {})  # texts by name, which go into a file

    def _ports(self, which, name):
        given = self._names[which == "outputs"]
        return [given[i] if i < len(given) else f"{name}_{i}" for i in range(self._program.ports(which))]

    @property
    def input_names(self):
        """The names of a run's arguments; input_0 where none was given."""
        return self._ports("inputs", "input")

    @property
    def output_names(self):
        """The names of a run's results; output_0 where none was given."""
        return self._ports("outputs", "output")

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
        """The memory that it reads and updates besides its inputs: names and tensors, in the order of the text."""
        return [(name, t) for kind, name, t in self._program.externals() if kind == "captured"]

    def optimized(self):
        """The same in fewer calls, bit for bit: constants computed, equal calls made once, unread ones dropped, and
        chains of pointwise operations gone through in one pass over memory, on CUDA by kernels compiled for them.

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
        """Writes it to a file, with the values of captured memory. A path that ends in `.neura` becomes a safetensors
        file with the text in its metadata, whose weights other programs can read and `load` maps; any other the text
        alone. What an optimizer gave is not in it: such a program raises NotImplementedError when it is run after
        `load`. IoError leaves an older file untouched."""
        path = os.fspath(path)
        if path.endswith(".neura"):
            return self._program.save(path, self.input_names, self.output_names, self.metadata)
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._program.str(True))


class Replay:
    """A program as one launch of a CUDA graph; made by `replay`, called as the program is."""

    def __init__(self, program):
        self.program = program
        self._replay = _neura._graph.Replay(program._program)

    def __call__(self, *inputs):
        results = self._replay.run(inputs)
        return results[0] if len(results) == 1 else results or None

    def __repr__(self):
        return f"<neura.graph.Replay of {self.program!r}, {self._replay.captures()} captures>"


def replay(program):
    """The program as a function whose calls are one launch of a CUDA graph each, with the results of the program's.

    The first call runs operation by operation; the second is captured, and so is one that finds captured memory
    elsewhere, such as a parameter with new data. Results belong to the caller: later calls do not change them.
    DeviceError for a program that is not on one device of CUDA; NotImplementedError where numbers vary from run to run
    that are no optimizer's; RuntimeError where an operation waits for the device.

    >>> import neura
    >>> if neura.cuda.is_available():
    ...     p = neura.graph.trace(lambda x: x.exp() + 1, neura.zeros(2, device="cuda"))
    ...     step = neura.graph.replay(p.optimized())
    ...     y = [step(neura.full((2,), float(i), device="cuda")) for i in range(4)]
    """
    return Replay(program)


def parse(text):
    """The program of a text. ValueError where it is not one; an operation trusts its attributes, so read only texts of
    your own.

    >>> import neura
    >>> p = neura.graph.trace(lambda x: x.exp() + 1, neura.zeros(2))
    >>> str(neura.graph.parse(str(p))) == str(p)
    True
    """
    return Program(_neura._graph.parse(text))


def load(path, mmap=True, trusted=False):
    """What `Program.save` wrote.

    Of a `.neura` file the weights are in the file's own pages (`mmap=False`: in memory, compared with their hash), and
    everything is checked before it runs: such a file may be untrusted. FormatError if it is damaged;
    NotImplementedError for operations that are not checked in files, unless it is `trusted`. A text is for your own
    only, see `parse`.

    >>> import neura, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "layer.neura")
    >>> layer = neura.nn.Linear(2, 3)
    >>> neura.graph.export(layer, neura.ones(1, 2), input_names=["x"]).save(path)
    >>> program = neura.graph.load(path)
    >>> program.input_names, bool((program(neura.ones(1, 2)) == layer(neura.ones(1, 2))).all())
    (['x'], True)
    """
    path = os.fspath(path)
    if path.endswith(".neura"):
        return Program(*_neura._graph.load(path, mmap, trusted))
    with open(path, encoding="utf-8") as file:
        return parse(file.read())


def export(model, args, input_names=(), output_names=(), metadata=None):
    """What a module or function computes of the tensors `args`, as a program to be saved and run elsewhere: traced in
    evaluation mode and without gradients. Its captured memory has the names of `state_dict`, and is the model's own.

    args: a tensor or a tuple of them; the sizes are fixed. ValueError as of `trace`.

    >>> import neura
    >>> net = neura.nn.Sequential(neura.nn.Linear(2, 3), neura.nn.Dropout())
    >>> program = neura.graph.export(net, neura.ones(1, 2), output_names=["y"])
    >>> [name for name, _ in program.captured], program.output_names, net.training
    (['0.weight', '0.bias'], ['y'], True)
    """
    from . import no_grad
    from .nn.modes import in_mode

    args = (args,) if isinstance(args, _neura.Tensor) else tuple(args)
    with in_mode(model, False) if hasattr(model, "modules") else contextlib.nullcontext(), no_grad():
        return Program(trace(model, *args)._program, input_names, output_names, metadata)


def trace(f, *inputs):
    """Calls f(*inputs) and writes down every operation that it runs: the forward of a module, or a whole training step
    with backward and the optimizer. f returns a tensor, a tuple of tensors or None.

    f is called until two calls after another do the same, at most four times, and each call counts: a training step
    is taken. A run draws new random numbers, as f would, and the learning rate and counts of an optimizer advance.
    What f does besides operations, such as branches and prints, is as in the last call. ValueError where a program
    could not do the same as f: f reads values on the host (`item()`, `if x > 0`), keeps a tensor that its next call
    reads, or seeds a generator. Runs do not assign a new `.grad`.

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
