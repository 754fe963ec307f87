"""neura.autograd.graph: hooks on several tensors, edges in a tensor's place, versions, values saved as they are."""

import neura
import pytest
from neura import errors
from neura.autograd import graph


def leaves():
    x = neura.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    return x, y, x + y


def test_a_hook_of_all_is_called_once_with_each_gradient():
    x, y, z = leaves()
    seen = []
    handle = graph.register_multi_grad_hook([x, y], lambda grads: seen.append([g.tolist() for g in grads]))
    z.sum().backward(retain_graph=True)
    assert seen == [[[3.0, 3.0], [1.0, 1.0]]]
    z.sum().backward(retain_graph=True)
    assert len(seen) == 2
    handle.remove()
    z.sum().backward(retain_graph=True)
    assert len(seen) == 2


def test_a_hook_of_all_gives_none_for_what_is_not_reached():
    x, y, z = leaves()
    other = neura.ones(2, requires_grad=True)
    seen = []
    with graph.register_multi_grad_hook([other, y, x], lambda grads: seen.append([g is None for g in grads])):
        z.sum().backward(retain_graph=True)
        neura.autograd.grad(z.sum(), y, retain_graph=True)
        (other * 3).sum().backward()
        z.sum().backward(inputs=[x], retain_graph=True)
    assert seen == [[True, False, False], [True, False, True], [False, True, True], [True, False, False]]


def test_a_hook_of_any_is_called_with_the_first_gradient():
    x, y, z = leaves()
    seen = []
    with graph.register_multi_grad_hook([x, y, neura.ones(2)], lambda g: seen.append(g.tolist()), mode="any"):
        z.sum().backward(retain_graph=True)
        z.sum().backward(retain_graph=True)
    z.sum().backward()
    assert seen == [[1.0, 1.0], [1.0, 1.0]]


def test_hooks_of_several_within_a_hook_of_one():
    x, y, z = leaves()
    seen = []
    graph.register_multi_grad_hook([x, y], lambda grads: seen.append("outer"))
    w = neura.ones(2, requires_grad=True)
    total = (w * 2).sum()
    graph.register_multi_grad_hook([w], lambda grads: seen.append("inner"))
    y.register_hook(lambda g: total.backward())
    z.sum().backward()
    assert seen == ["inner", "outer"]


def test_hooks_of_several_refuse_what_they_cannot_follow():
    x, _, _ = leaves()
    with pytest.raises(errors.ValueError, match="register_multi_grad_hook: expected mode 'all' or 'any', got 'x'"):
        graph.register_multi_grad_hook([x], print, mode="x")
    with pytest.raises(AssertionError, match="expected tensors that require a gradient"):
        graph.register_multi_grad_hook([x, neura.ones(2)], print)


def test_an_edge_takes_a_tensors_place():
    x, y, z = leaves()
    edge = graph.get_gradient_edge(x)
    assert edge.node.name() == "torch::autograd::AccumulateGrad" and edge.output_nr == 0
    assert graph.get_gradient_edge(y).node is y.grad_fn and isinstance(edge, graph.GradientEdge)
    (g,) = neura.autograd.grad(z.sum(), edge, retain_graph=True)
    assert g.tolist() == [3, 3] and x.grad is None
    (g,) = neura.autograd.grad(z.sum(), [graph.get_gradient_edge(y)], retain_graph=True)
    assert g.tolist() == [1, 1]
    root = graph.GradientEdge(z.grad_fn, 0)
    (g,) = neura.autograd.grad(root, x, neura.tensor([1.0, 2.0]), retain_graph=True)
    assert g.tolist() == [3, 6]
    neura.autograd.backward([root], [neura.ones(2)], retain_graph=True)
    assert x.grad.tolist() == [3, 3]
    neura.autograd.backward(z.sum(), inputs=[edge])
    assert x.grad.tolist() == [6, 6]


def test_an_edge_of_one_of_several_results():
    x = neura.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
    first, second = neura.linalg.qr(x)
    edge, weights = graph.get_gradient_edge(second), neura.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert edge.output_nr == 1 and edge.node is first.grad_fn
    (expected,) = neura.autograd.grad(second, x, weights, retain_graph=True)
    (g,) = neura.autograd.grad(edge, x, weights)
    assert g.tolist() == expected.tolist() and g.abs().sum() > 1


def test_edges_refuse_what_they_cannot_name():
    with pytest.raises(errors.AutogradError, match="get_gradient_edge: expected a tensor that requires a gradient"):
        graph.get_gradient_edge(neura.ones(2))
    _, _, z = leaves()
    with pytest.raises(errors.IndexError, match="GradientEdge: expected an output_nr below 1, got 3"):
        neura.autograd.backward(graph.GradientEdge(z.grad_fn, 3))


def test_a_raised_version_is_seen_by_backward():
    a = neura.ones(2, requires_grad=True) * 1
    y = (a * a).sum()
    before = a._version
    graph.increment_version(a)
    assert a._version == before + 1
    with pytest.raises(errors.InplaceError, match="a write changed it in place"):
        y.backward()
    b, c = neura.ones(1), neura.ones(1)
    graph.increment_version([b, c])
    assert (b._version, c._version) == (1, 1)


def test_saved_values_stay_whatever_is_written():
    a = neura.ones(2, requires_grad=True)
    with graph.allow_mutation_on_saved_tensors():
        b = a.clone()
        c = (b**2).sum()
        b.sin_()
        c.backward()
    assert a.grad.tolist() == [2, 2]


def test_the_node_of_a_leaf_gives_the_leaf():
    x, y, z = leaves()
    (first, _), (second, _) = z.grad_fn.next_functions
    assert first.variable is x and not hasattr(second, "variable") and not hasattr(z.grad_fn, "variable")
    layer = neura.nn.Linear(2, 1)
    named = dict(layer.named_parameters())
    nodes = [n for n, _ in layer(neura.ones(1, 2)).grad_fn.next_functions if n is not None and hasattr(n, "variable")]
    assert any(n.variable is named["bias"] for n in nodes)
    node = (neura.ones(2, requires_grad=True) * 2).grad_fn.next_functions[0][0]
    assert not hasattr(node, "variable")  # nobody holds that leaf any more


def test_a_gradient_of_nothing_is_a_mistake():
    x, _, z = leaves()
    with pytest.raises(errors.ValueError, match="grad: expected at least one tensor as inputs, got none"):
        neura.autograd.grad(z.sum(), [])


def test_writes_through_data_are_not_missed_by_backward():
    x = neura.ones(3, requires_grad=True)
    y = x.exp()
    y.data.mul_(2)
    assert y._version == 0
    y.sum().backward()
    assert x.grad.tolist() == (2 * x.detach().exp()).tolist()  # with what is there now, as in PyTorch

    w = neura.ones(2, requires_grad=True)
    z = (w * w).sum()
    w.data[0] = 5  # through views
    w.data.view(2)[1] = 7
    w.data.detach().add_(1)  # and what is detached
    assert w._version == 0 and w.tolist() == [6, 8]
    z.backward()
    assert w.grad.tolist() == [12, 16]

    z = (w * w).sum()
    w.detach().mul_(2)  # detach() is not data
    with pytest.raises(neura.errors.InplaceError, match="mul_ changed it in place"):
        z.backward()


def test_autocast_casts_anew_what_was_written_through_data():
    w = neura.ones(4, 4, requires_grad=True)
    x = neura.ones(4, 4)
    with neura.autocast("cpu", dtype=neura.bfloat16):
        first = x @ w
        w.data.mul_(2)
        second = x @ w
    assert first[0, 0].item() == 4 and second[0, 0].item() == 8
