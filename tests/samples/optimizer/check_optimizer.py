"""An optimizer with a fused kernel in Python: its class, its arguments, a step, its state."""

import inspect

import neura


def test_the_class_has_a_name_a_text_and_arguments():
    cls = neura.optim.Lion
    assert cls.__name__ == "Lion" and "Lion" in neura.optim.__all__ and cls.__doc__.startswith("Steps by the sign")
    assert cls.__module__ == neura.optim.Adam.__module__ and issubclass(cls, neura.optim.Optimizer)
    assert list(inspect.signature(cls).parameters) == ["params", "lr", "betas", "weight_decay", "maximize"]


def test_a_step_and_its_state():
    p = neura.ones(3, requires_grad=True)
    optimizer = neura.optim.Lion([p], lr=0.25)
    p.grad = neura.tensor([2.0, -1.0, 0.0])
    optimizer.step()
    assert p.tolist() == [0.75, 1.25, 1.0]
    assert list(optimizer.state_dict()["state"][0]) == ["exp_avg"]
