"""The recorded graph: names of nodes, next functions, freeing by backward."""


def run(torch):
    a = torch.ones(2, requires_grad=True)
    b = torch.full((2,), 3.0, requires_grad=True)
    y = (a * b + a).sum()
    names, node = [], y.grad_fn
    while node is not None:
        names.append(node.name())
        following = [n for n, _ in node.next_functions if n is not None]
        node = following[0] if following else None
    y.backward(retain_graph=True)
    y.backward()
    return {"names": names, "a": a.grad, "b": b.grad, "leaf": a.grad_fn is None}
