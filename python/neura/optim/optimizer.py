"""The base of every optimizer: parameter groups, state, hooks, saving. The steps themselves are C++."""

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Iterable

from .. import _neura
from .._neura import Tensor
from ..autograd.grad_mode import enable_grad
from ._listed import constructor

required = object()  # a default that every group must give itself
ParamsT = object  # what PyTorch calls the type of params
_NUMBERS = ("step", "eta", "mu", "mu_product")  # of the state: they are not like the parameter
_global_pre_hooks = OrderedDict()
_global_post_hooks = OrderedDict()


class _Handle:
    """Removes a hook; also a context manager."""

    def __init__(self, hooks, hook, first=False):
        self._hooks, self.id = hooks, object()
        hooks[self.id] = hook
        if first:
            hooks.move_to_end(self.id, last=False)

    def remove(self):
        """Removes the hook. A second call does nothing."""
        self._hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


def register_optimizer_step_pre_hook(hook):
    """Calls `hook(optimizer, args, kwargs)` before the step of every optimizer. Returns a handle with `remove()`."""
    return _Handle(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook):
    """Calls `hook(optimizer, args, kwargs)` after the step of every optimizer. Returns a handle with `remove()`."""
    return _Handle(_global_post_hooks, hook)


def _hooked(step):
    """`step` with the hooks around it; they find out for themselves whether there are any."""

    @functools.wraps(step)
    def wrapper(self, *args, **kwargs):
        if _global_pre_hooks or self._optimizer_step_pre_hooks:
            for hook in (*_global_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
                changed = hook(self, (self, *args), kwargs)
                if changed is None:
                    continue
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(f"step pre hook: expected None or (args, kwargs), got {changed!r}")
                args, kwargs = changed
                args = args[1:] if args and args[0] is self else args
        result = step(self, *args, **kwargs)
        self._opt_called = True  # what schedulers look at
        if _global_post_hooks or self._optimizer_step_post_hooks:
            for hook in (*self._optimizer_step_post_hooks.values(), *_global_post_hooks.values()):
                hook(self, (self, *args), kwargs)
        return result

    wrapper.hooked = True
    return wrapper


class Optimizer:
    """Parameters in groups, and their state.

    `params` is an iterable of tensors, of `(name, tensor)` pairs, or of dicts: groups with options of their own, the
    tensors under "params". `defaults` are the options of groups that do not give them. Both lists and dicts are live:
    `optimizer.param_groups[0]["lr"] = 0.1` holds from the next step on.

    To write an optimizer, derive from it and define `step`:

    >>> import neura
    >>> class Descent(neura.optim.Optimizer):
    ...     def __init__(self, params, lr):
    ...         super().__init__(params, {"lr": lr})
    ...     @neura.no_grad()
    ...     def step(self):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 if p.grad is not None:
    ...                     p.add_(p.grad, alpha=-group["lr"])
    >>> x = neura.ones(2, requires_grad=True)
    >>> optimizer = Descent([x], lr=0.5)
    >>> x.sum().backward()
    >>> optimizer.step()
    >>> x.tolist()
    [0.5, 0.5]
    """

    def __init__(self, params, defaults):
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        self._prepare()
        if isinstance(params, Tensor):
            raise TypeError("optimizer: expected an iterable of tensors or dicts, got one Tensor; write [parameter]")
        groups = list(params)
        if not groups:
            raise _neura.errors.ValueError("optimizer: expected parameters, got an empty list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def _prepare(self):
        """Everything that is neither saved nor copied."""
        for name in ("step_pre", "step_post", "state_dict_pre", "state_dict_post"):
            self.__dict__.setdefault(f"_optimizer_{name}_hooks", OrderedDict())
        for name in ("load_state_dict_pre", "load_state_dict_post"):
            self.__dict__.setdefault(f"_optimizer_{name}_hooks", OrderedDict())
        cls = type(self)
        if not hasattr(cls.step, "hooked"):
            cls.step = _hooked(cls.step)

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._prepare()

    def __repr__(self):
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            lines = "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
            text += f"\nParameter Group {i}\n{lines}"
        return text + ")"

    def step(self, closure=None):
        """Updates every parameter that has a gradient. `closure` computes the loss again; its result is returned."""
        raise NotImplementedError(f"{type(self).__name__}: expected a method step, got none; define it")

    def zero_grad(self, set_to_none=True):
        """Sets the gradients of all parameters to None or, with `set_to_none=False`, to zero."""
        _neura._optim.zero_grad(self.param_groups, set_to_none)

    def add_param_group(self, param_group):
        """Adds a group: a dict with "params" and whatever options differ from the defaults.

        ValueError, and nothing changed, for a parameter that is in a group already, or is no leaf.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"add_param_group: expected a dict, got {type(param_group).__name__}")
        if "params" not in param_group:
            raise KeyError("params")
        group = dict(param_group)
        params, names = _unpack(group["params"])
        group["params"] = params
        if names is not None:
            group["param_names"] = names
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer: expected tensors as parameters, got {type(p).__name__}")
            if not p.is_leaf and not self.defaults.get("differentiable"):
                raise _neura.errors.ValueError("optimizer: expected leaf tensors, got a result; detach() it")
        for name, default in self.defaults.items():
            if default is required and name not in group:
                raise _neura.errors.ValueError(f'add_param_group: expected "{name}" in every group, got none')
            group.setdefault(name, default)
        _check_rate(group.get("lr"))
        known = {id(p) for g in self.param_groups for p in g["params"]}
        if not known.isdisjoint(map(id, params)):
            raise _neura.errors.ValueError(
                "optimizer: expected every parameter in one group, got one that is in a group already"
            )
        if len(set(map(id, params))) != len(params):
            import warnings

            warnings.warn("optimizer: a group lists a parameter twice; it will be updated twice", stacklevel=3)
        if self.param_groups and ("param_names" in self.param_groups[0]) != (names is not None):
            raise _neura.errors.ValueError("optimizer: expected names for the parameters of all groups or of none")
        self._check_group(group)
        param_group.update(group)
        self.param_groups.append(param_group)

    def _check_group(self, group):
        """ValueError for options out of range."""

    def state_dict(self):
        """{"state": {number: values}, "param_groups": [...]}, in which parameters are numbers. Shares the tensors."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers, groups, start = {}, [], 0
        for group in self.param_groups:
            for i, p in enumerate(group["params"], start):
                numbers.setdefault(id(p), i)
            start += len(group["params"])
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict):
        """Takes over the groups' options, copied, and the state, whose dtype and device become the parameters'.

        Tensors of the state that have them already are shared: the next step changes them in `state_dict` too. Load a
        `copy.deepcopy` of it to keep it as it is.

        ValueError, and nothing changed, where the groups do not fit.
        """
        state_dict = dict(state_dict)
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved = state_dict["param_groups"]
        if len(saved) != len(self.param_groups):
            raise _neura.errors.ValueError(
                f"load_state_dict: expected {len(self.param_groups)} parameter groups, got {len(saved)}"
            )
        for i, (group, old) in enumerate(zip(self.param_groups, saved)):
            if len(group["params"]) != len(old["params"]):
                raise _neura.errors.ValueError(
                    f"load_state_dict: expected {len(group['params'])} parameters in group {i}, "
                    f"got {len(old['params'])}"
                )
        parameters = {}
        groups = []
        for group, old in zip(self.param_groups, saved):
            parameters.update(zip(old["params"], group["params"]))
            fresh = {**self.defaults, **{key: _copied(value) for key, value in old.items()}}
            fresh["params"] = group["params"]
            if "param_names" in group:
                fresh.setdefault("param_names", group["param_names"])
            groups.append(fresh)
        state = defaultdict(dict)
        for number, values in state_dict["state"].items():
            if isinstance(number, str) and number.isdigit():  # as a file written by C++ has it
                number = int(number)
            p = parameters.get(number)
            if p is None:
                state[number] = values
            else:
                state[p] = _like(p, values)
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def register_step_pre_hook(self, hook):
        """Calls `hook(optimizer, args, kwargs)` before each step; it may return other (args, kwargs)."""
        return _Handle(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """Calls `hook(optimizer, args, kwargs)` after each step."""
        return _Handle(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Calls `hook(optimizer)` before `state_dict()`."""
        return _Handle(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Calls `hook(optimizer, state_dict)` after `state_dict()`; it may return another dict."""
        return _Handle(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Calls `hook(optimizer, state_dict)` before a state is loaded; it may return another dict."""
        return _Handle(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Calls `hook(optimizer)` after a state was loaded."""
        return _Handle(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def _unpack(params):
    """The tensors of a group as a list, and their names if they came as pairs."""
    if isinstance(params, Tensor):
        return [params], None
    if isinstance(params, (set, frozenset)):
        raise TypeError("optimizer: expected parameters in an order, got a set; pass a list")
    params = list(params)
    pairs = sum(isinstance(p, tuple) for p in params)
    if not pairs:
        return params, None
    if pairs < len(params):
        raise _neura.errors.ValueError("optimizer: expected names for all parameters or for none, got some")
    if not all(len(p) == 2 and isinstance(p[0], str) for p in params):
        raise TypeError("optimizer: expected pairs of a name and a tensor, got other tuples")
    return [p for _, p in params], [name for name, _ in params]


def _check_rate(lr):
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise _neura.errors.ValueError(
            f"optimizer: expected a learning rate of one element, got a tensor of shape {list(lr.shape)}"
        )


def _copied(value):
    """A copy of a group's option: loading shares nothing with what is loaded."""
    if isinstance(value, (list, dict)):
        import copy

        return copy.deepcopy(value)
    return value.clone() if isinstance(value, Tensor) else value


def _like(parameter, value, name=None, master=False):
    """State with the dtype and device of its parameter: the tensor itself where it has them, as in PyTorch. Besides a
    master, all of it is float32."""
    if isinstance(value, Tensor):
        if name in _NUMBERS:
            return value
        dtype = parameter.dtype if parameter.is_floating_point() else value.dtype
        return value.to(device=parameter.device, dtype=_neura.float32 if master else dtype)
    if isinstance(value, dict):
        master = master or "master_param" in value
        return {key: _like(parameter, v, key, master) for key, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return type(value)(_like(parameter, v, None, master) for v in value)
    return value


class KernelOptimizer(Optimizer):
    """An optimizer whose step is C++."""

    _last = ()  # options that PyTorch's groups have last, in this order, where it is not that of the arguments

    def __init_subclass__(cls, kernel=None, **kwargs):
        super().__init_subclass__(**kwargs)
        if kernel:
            cls.__doc__ = _neura._optim.texts[kernel]
            cls._update = staticmethod(getattr(_neura._optim, "step_" + kernel))
            cls._check = staticmethod(getattr(_neura._optim, "check_" + kernel))
            arguments = getattr(_neura._optim, "arguments_" + kernel)()
            cls.__init__ = constructor("params", arguments, KernelOptimizer._begin)
            cls.__init__.__qualname__ = f"{cls.__qualname__}.__init__"

    def _begin(self, params, **options):
        last = {name: options.pop(name) for name in self._last}
        Optimizer.__init__(self, params, {**options, **last})

    def _check_group(self, group):
        self._check(group, self.defaults)
        if group.get("differentiable"):
            raise _neura.errors.NotImplementedError(
                f"{type(self).__name__}: expected differentiable=False; steps are not recorded"
            )
        if group.get("foreach") and group.get("fused"):
            raise RuntimeError(f"{type(self).__name__}: expected foreach or fused, got both")

    @_hooked
    def step(self, closure=None):
        """Updates every parameter that has a gradient, in place and unrecorded.

        `closure`, if there is one, is called first with recording on, to compute the loss and the gradients again; its
        result is returned.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        self._update(self.param_groups, self.state, self.defaults)
        return loss
