"""inspect.signature, help() and tab completion for functions that come from C++."""

from . import _neura


def _parameters(text, defaults):
    """The parameters and the result of one overload, as nanobind writes it."""
    import ast
    import inspect
    import re

    text = re.sub(r"\\(\d+)", r"_(\1)", text)
    text = re.sub(r"\b(from|lambda|in|is)(?=[:,)])", r"\1_", text)
    function = ast.parse(text + ": ...").body[0]
    a = function.args

    def parameter(arg, kind, default=None):
        value = inspect.Parameter.empty if default is None else defaults[ast.literal_eval(default.args[0])]
        annotation = ast.unparse(arg.annotation) if arg.annotation else inspect.Parameter.empty
        return inspect.Parameter(arg.arg, kind, default=value, annotation=annotation)

    positional = [(p, inspect.Parameter.POSITIONAL_ONLY) for p in a.posonlyargs]
    positional += [(p, inspect.Parameter.POSITIONAL_OR_KEYWORD) for p in a.args]
    missing = [None] * (len(positional) - len(a.defaults))
    result = [parameter(p, kind, d) for (p, kind), d in zip(positional, missing + a.defaults)]
    if a.vararg:
        result.append(parameter(a.vararg, inspect.Parameter.VAR_POSITIONAL))
    result += [parameter(p, inspect.Parameter.KEYWORD_ONLY, d) for p, d in zip(a.kwonlyargs, a.kw_defaults)]
    if a.kwarg:
        result.append(parameter(a.kwarg, inspect.Parameter.VAR_KEYWORD))
    return result, ast.unparse(function.returns) if function.returns else inspect.Signature.empty


def signature_of(function):
    """The signature with most parameters of a function that C++ defines; AttributeError where it cannot be said."""
    import inspect

    try:
        if hasattr(function, "__nb_signature__"):
            overloads = [_parameters(e[0], e[2] or ()) for e in function.__nb_signature__]
        else:
            overloads = [_parameters("def f" + _numbered(function.__text_signature__), _Literals())]
        parameters, result = max(overloads, key=lambda overload: len(overload[0]))
        return inspect.Signature(parameters, return_annotation=result)
    except (SyntaxError, ValueError, IndexError) as error:
        raise AttributeError(f"__signature__: {error}") from None


def keywords_of(function):
    """The names of arguments that may be given by name, of all overloads, in order; none where they cannot be said."""
    import inspect

    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    try:
        overloads = [_parameters(e[0], e[2] or ())[0] for e in function.__nb_signature__]
        return list(dict.fromkeys(p.name for parameters in overloads for p in parameters if p.kind in by_name))
    except (AttributeError, SyntaxError, ValueError, IndexError):
        return []


def _numbered(text):
    """A row's defaults in the form of nanobind's: what stands in their place is their text."""
    import re

    return re.sub(r"=([^,)]+)", lambda m: f"=_({m.group(1)})", text)


class _Literals:
    def __getitem__(self, value):
        return value


def _install():
    """Such a function, as an attribute of a class, is called without self, as ever; pydoc takes it for a function."""
    about = {"__signature__": property(signature_of)}
    _neura._describe_functions(vars(_neura.RemovableHandle)["remove"], about)
    about["__get__"] = lambda self, instance, owner=None: self
    for function in (_neura.is_grad_enabled, _neura.softmax, _neura.exp):  # one of each type
        _neura._describe_functions(function, about)


_install()
