#!/usr/bin/env python3
"""What a module costs beside its arithmetic, in nanoseconds: the best of several runs.

    bench/module_calls.py [neura|torch]
"""
import importlib
import sys
import timeit

B = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "neura")
nn = B.nn


class Pass(nn.Module):
    def forward(self, x):
        return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(1, 1)
        self.k = 3

    def forward(self, x):
        return self.fc(x)


def measure(name, statement, **names):
    timer = timeit.Timer(statement, globals=names)
    n, _ = timer.autorange()
    best = min(timer.repeat(7, max(1, n // 4))) / max(1, n // 4)
    print(f"{name:42} {best * 1e9:9.0f}")


with B.no_grad():
    x, net, linear = B.ones(1, 1), Net(), nn.Linear(1, 1)
    measure("an attribute of an object", "o.k", o=type("O", (), {"k": 1})())
    measure("get a child", "net.fc", net=net)
    measure("get a parameter", "layer.weight", layer=linear)
    measure("get a plain attribute", "net.k", net=net)
    measure("set a plain attribute", "net.k = 3", net=net)
    measure("F.linear(x, w, b)", "f(x, w, b)", f=nn.functional.linear, x=x, w=linear.weight, b=linear.bias)
    measure("Identity()(x)", "m(x)", m=nn.Identity(), x=x)
    measure("Linear(1, 1)(x)", "m(x)", m=linear, x=x)
    measure("a forward of Python that returns x", "m(x)", m=Pass(), x=x)
    measure("a forward of Python that calls Linear", "m(x)", m=net, x=x)
    measure("Sequential of 10 Identities", "m(x)", m=nn.Sequential(*[nn.Identity() for _ in range(10)]), x=x)
    measure("Sequential of 10 Linears", "m(x)", m=nn.Sequential(*[nn.Linear(1, 1) for _ in range(10)]), x=x)
    measure("Sequential of 10 forwards of Python", "m(x)", m=nn.Sequential(*[Pass() for _ in range(10)]), x=x)
    hooked = nn.Identity()
    hooked.register_forward_hook(lambda m, args, out: None)
    measure("Identity with a forward hook", "m(x)", m=hooked, x=x)
    deep = nn.Sequential(*[Net() for _ in range(50)])
    measure("list(parameters()) of 100", "list(m.parameters())", m=deep)
    measure("train() of 101 modules", "m.train()", m=deep)
    measure("zero_grad() of 100 parameters", "m.zero_grad()", m=deep)
    measure("state_dict() of 100 parameters", "m.state_dict()", m=deep)
