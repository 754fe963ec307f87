"""The profiler: its schedule and what it records."""

import enum
import functools
import os
import socket
import threading
import time

from .._neura import _profile as _native
from .._neura import errors
from ._events import EventList, FunctionEvent, tree


class ProfilerActivity(enum.Enum):
    """What a profile measures."""

    CPU = 0
    CUDA = 2


class ProfilerAction(enum.Enum):
    """What a profile does during a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities():
    """The set of ProfilerActivity that this machine can measure."""
    from .. import cuda

    return {ProfilerActivity.CPU} | ({ProfilerActivity.CUDA} if cuda.is_available() else set())


def schedule(*, wait, warmup, active, repeat=0, skip_first=0):
    """For profile(schedule=): of each cycle of steps, `wait` and then `warmup` are left out, then `active` recorded.

    repeat (int): of how many cycles; 0 without end. skip_first (int): how many steps are left out before the first
    cycle. ValueError where a number is below 0, or active is 0.

    >>> plan = neura.profiler.schedule(wait=1, warmup=0, active=2)
    >>> [plan(step).name for step in range(4)]
    ['NONE', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active < 1:
        raise errors.ValueError(
            "schedule: expected wait, warmup, repeat and skip_first from 0 and active from 1, got "
            f"{wait}, {warmup}, {repeat}, {skip_first} and {active}"
        )
    length = wait + warmup + active

    def action(step):
        if step < 0:
            raise errors.ValueError(f"schedule: expected a step from 0, got {step}")
        cycle, at = divmod(step - skip_first, length)
        if cycle < 0 or (repeat and cycle >= repeat) or at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False):
    """For profile(on_trace_ready=): writes each trace to a file of its own in a directory, for TensorBoard's
    profiler."""
    os.makedirs(dir_name, exist_ok=True)
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"

    def write(profile):
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        profile.export_chrome_trace(os.path.join(dir_name, name))

    return write


class record_function:
    """A named range of the program: a block, or each call of a function decorated. Without a profile it does nothing.

    name (str); args (str): written after the name.

    >>> with neura.profiler.profile() as p:
    ...     with neura.profiler.record_function("my step"):
    ...         y = neura.ones(3) + 1
    >>> [e.name for e in p.events() if e.is_user_annotation]
    ['my step']
    """

    def __init__(self, name, args=None):
        self.name, self.args, self._open = name, args, []

    def __enter__(self):
        self._open.append(_native.begin_range(self.name if self.args is None else f"{self.name}({self.args})"))
        return self

    def __exit__(self, *error):
        _native.end_range(self._open.pop())

    def __call__(self, function):
        """The function, each call of which is a range."""

        @functools.wraps(function)
        def ranged(*args, **kwargs):
            with type(self)(self.name, self.args):
                return function(*args, **kwargs)

        return ranged


def _below(module, name):
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


class _Modules:
    """A range for each call of a module on this thread, called by its path from the module that was called first."""

    def __init__(self, seen=None):
        from ..nn import hooks

        self._seen = seen or (lambda path: None)  # told before and after each call which module is the innermost

        self._thread, self._open, self._places = threading.get_ident(), [], {}
        self._handles = [
            hooks.register_module_forward_pre_hook(self._begin),
            hooks.register_module_forward_hook(self._end, always_call=True),
        ]

    def _name(self, module):
        if not self._open:
            return type(module).__name__
        parent, path, _ = self._open[-1]
        return f"{path}.{self._place(parent, module)}"

    def _place(self, parent, module):
        """The module's name below the parent, whose modules are walked once."""
        known, names = self._places.get(id(parent), (None, {}))
        name = names.get(id(module)) if known is parent else None
        if name is not None and _below(parent, name) is module:
            return name
        names = {id(child): name for name, child in reversed(list(parent.named_modules()))}
        self._places[id(parent)] = parent, names
        return names.get(id(module), type(module).__name__)

    def innermost(self):
        return self._open[-1][1] if self._open else ""

    def _begin(self, module, args):
        if threading.get_ident() == self._thread:
            self._seen(self.innermost())
            path = self._name(module)
            self._open.append((module, path, _native.begin_range("nn.Module: " + path, True)))

    def _end(self, module, args, output):
        if threading.get_ident() != self._thread:
            return
        while self._open:  # what is above it was left by an error
            inner, path, opened = self._open.pop()
            self._seen(path)
            _native.end_range(opened)
            if inner is module:
                break

    def remove(self):
        for handle in self._handles:
            handle.remove()


class profile:
    """Records what this thread does, from entering the block to leaving it, or from start() to stop().

    Arguments, all by name:
        activities: of ProfilerActivity, CPU among them; None is supported_activities(). With CUDA each operation on a
            device is also timed there, by two events.
        schedule: a function of the number of the step, such as schedule() gives, that says by ProfilerAction which
            steps are recorded; step() ends a step. None records all.
        on_trace_ready: is called with the profile when what was to be recorded is there.
        record_shapes (bool): sizes and dtypes of operands. profile_memory (bool): bytes that each operation allocated,
            less those it gave back. with_modules (bool): each call of a module is a range, called by the module's path.

    Recorded are operations, as neura's own docs/operations.md names them, forward and backward; nothing of other
    threads. Each costs about 0.2 microseconds; without a profile nothing. What a compiled function runs together, and
    operations inside of an operation that is defined by others, do not appear by themselves.

    NotImplementedError for other activities, with_stack and with_flops; ValueError inside another profile.

    >>> model, x = neura.nn.Linear(4, 2), neura.ones(3, 4)
    >>> with neura.profiler.profile(record_shapes=True) as p:
    ...     model(x).sum().backward()
    >>> any(e.backward for e in p.events())
    True
    """

    def __init__(
        self,
        *,
        activities=None,
        schedule=None,
        on_trace_ready=None,
        record_shapes=False,
        profile_memory=False,
        with_stack=False,
        with_flops=False,
        with_modules=False,
    ):
        for name, on in (("with_stack", with_stack), ("with_flops", with_flops)):
            if on:
                raise errors.NotImplementedError(
                    f"profile: expected {name}=False, got True; use with_modules or record_shapes"
                )
        self.activities = supported_activities() if activities is None else set(activities)
        if ProfilerActivity.CPU not in self.activities or not self.activities <= set(ProfilerActivity):
            raise errors.NotImplementedError(
                f"profile: expected activities CPU, or CPU and CUDA, got {activities}; "
                "device times are those of operations"
            )
        if not self.activities <= supported_activities():
            raise errors.DeviceError(
                "profile: expected a CUDA device for ProfilerActivity.CUDA, got none; leave it out"
            )
        self.schedule, self.on_trace_ready = schedule, on_trace_ready
        self.record_shapes, self.profile_memory, self.with_modules = record_shapes, profile_memory, with_modules
        self.step_num, self.current_action = 0, ProfilerAction.NONE
        self._recorder = self._modules = self._step = self._events = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.stop()

    def start(self):
        """Begins the first step."""
        self._change(self._action())

    def stop(self):
        """Ends the last step; what was recorded is handed to on_trace_ready."""
        self._end_step()
        recorded = self._recorder is not None
        self._end()
        self.current_action = ProfilerAction.NONE
        if recorded and self.on_trace_ready:
            self.on_trace_ready(self)

    def step(self):
        """Ends a step and begins the next; with a schedule only."""
        self._end_step()
        self.step_num += 1
        if self.current_action is ProfilerAction.RECORD_AND_SAVE:
            self._end()
            if self.on_trace_ready:
                self.on_trace_ready(self)
        self._change(self._action())

    def _action(self):
        return ProfilerAction.RECORD if self.schedule is None else self.schedule(self.step_num)

    def _change(self, action):
        self.current_action = action
        if action not in _RECORDING:
            self._end()
        elif self._recorder is None:
            devices = ProfilerActivity.CUDA in self.activities
            self._recorder = _native.Profile(self.record_shapes, self.profile_memory, devices)
            self._modules = _Modules() if self.with_modules else None
        if self.schedule is not None:
            self._step = _native.begin_range(f"ProfilerStep#{self.step_num}")

    def _end_step(self):
        if self._step:
            _native.end_range(self._step)
        self._step = None

    def _end(self):
        if self._recorder is None:
            return
        self._recorder.stop()
        if self._modules:
            self._modules.remove()
        thread = threading.get_native_id()
        events = [FunctionEvent(i, thread, values) for i, values in enumerate(self._recorder.events())]
        self._events = EventList(tree(events), self)
        self._recorder = self._modules = None

    def events(self):
        """The EventList of what was recorded last. ValueError before there is one."""
        if self._events is None:
            raise errors.ValueError("profile: expected a recording that has ended, got none; call stop() first")
        return self._events

    def key_averages(self, group_by_input_shape=False):
        """EventList.key_averages of what was recorded last."""
        return self.events().key_averages(group_by_input_shape)

    def export_chrome_trace(self, path):
        """Writes what was recorded last for Perfetto, chrome://tracing or TensorBoard; compressed if it ends in .gz."""
        self.events().export_chrome_trace(path)
