"""First steps: tensors, gradients, and a line fitted to points.

python examples/python/first_steps.py
"""

# %% Tensors: PyTorch's names, Python's operators
import neura
import numpy

x = neura.tensor([[1.0, 2.0], [3.0, 4.0]])
print(x @ x.T + 1)
print(x[:, 1], x[x > 2], x.mean(dim=0))
print(neura.arange(6).reshape(2, 3).float().softmax(dim=1))

# %% NumPy arrays share their memory with tensors, both ways (neura itself imports NumPy only when asked)
array = numpy.linspace(0, 1, 5)
shared = neura.from_numpy(array)
shared *= 10
print(array)

# %% Gradients: operations on what requires_grad are recorded; backward goes through them
w = neura.tensor([2.0, -1.0], requires_grad=True)
y = (w**2).sum() * w[0]
y.backward()
print(w.grad)  # d/dw0 (w0² + w1²) w0 = 3 w0² + w1², d/dw1 = 2 w0 w1
assert w.grad.tolist() == [13.0, -4.0]

# %% Gradients of gradients
(first,) = neura.autograd.grad((w**3).sum(), w, create_graph=True)
(second,) = neura.autograd.grad(first.sum(), w)
print(second)  # 6 w

# %% A mistake is an exception that says what to do
try:
    x @ neura.ones(3, 2)
except RuntimeError as error:  # also a ShapeError and a ValueError
    print(type(error).__name__, "-", error)

# %% A line through noisy points, by gradient descent
neura.manual_seed(0)
points = neura.linspace(-1, 1, 100)
values = 3 * points + 0.5 + 0.1 * neura.randn(100)
slope, shift = neura.zeros(1, requires_grad=True), neura.zeros(1, requires_grad=True)
for step in range(200):
    loss = ((slope * points + shift - values) ** 2).mean()
    loss.backward()
    with neura.no_grad():  # what the step computes is not recorded
        for parameter in (slope, shift):
            parameter -= 0.2 * parameter.grad
            parameter.grad = None
print(f"slope {slope.item():.2f}, shift {shift.item():.2f}, mean square error {loss.item():.4f}")
assert abs(slope.item() - 3) < 0.1 and abs(shift.item() - 0.5) < 0.1
