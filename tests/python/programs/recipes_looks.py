"""What programs print and ask besides numbers: states, options, classes and their names, words of errors."""

import importlib
import re

import numpy as np
from program_helpers import raised, values


def part(torch, name):
    return importlib.import_module(f"{torch.__name__}.{name}")


def text(torch, value):
    """What print shows, without the library's name and addresses."""
    return re.sub(r"0x[0-9a-f]+", "0x", str(value).replace(torch.__name__ + ".", ""))


def schedules_say_their_state(torch):
    s = torch.optim.lr_scheduler
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1, momentum=0.9)
    made = [
        s.StepLR(optimizer, 2),
        s.MultiStepLR(optimizer, [1]),
        s.CosineAnnealingLR(optimizer, 3),
        s.LambdaLR(optimizer, lambda epoch: 1),
        s.LinearLR(optimizer),
        s.ReduceLROnPlateau(optimizer),
        s.ReduceLROnPlateau(optimizer, "max", min_lr=[0.01]),
        s.OneCycleLR(optimizer, 0.2, total_steps=4, cycle_momentum=False),
    ]
    return [list(schedule.state_dict()) for schedule in made], str(made[0].state_dict()), str(made[5].state_dict())


def options_in_order(torch):
    names = "SGD Adam AdamW Adagrad RMSprop Adadelta Adamax NAdam RAdam ASGD Rprop".split()
    made = [getattr(torch.optim, name)([torch.nn.Parameter(torch.ones(2))]) for name in names]
    return [str(optimizer.state_dict()["param_groups"]) for optimizer in made]


def classes_that_programs_ask_for(torch):
    nn, layer = torch.nn, torch.nn.Linear(1, 1)
    wrapped = (nn.DataParallel, nn.parallel.DistributedDataParallel)
    scaler = part(torch, "cuda.amp.grad_scaler").GradScaler
    return [
        isinstance(layer, wrapped),
        part(torch, "nn.parallel.distributed").DistributedDataParallel is wrapped[1],
        scaler is torch.cuda.amp.GradScaler,
        part(torch, "cuda.amp.autocast_mode").autocast is torch.cuda.amp.autocast,
        issubclass(part(torch, "_C")._LinAlgError, RuntimeError),
        part(torch, "types")._dtype is torch.dtype,
        hasattr(part(torch, "optim.adam"), "nowhere"),
    ]


def classes_that_loading_may_make(torch):
    s = torch.serialization
    s.add_safe_globals([re.Pattern])
    added = re.Pattern in s.get_safe_globals()
    s.clear_safe_globals()
    with s.safe_globals([re.Pattern]):
        within = s.get_safe_globals() == [re.Pattern]
    return added, within, s.get_safe_globals()


def names_of_members(torch):
    net = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.ReLU())
    return str(net._modules.keys()), str(net[0]._parameters.keys()), list(net._modules), str(net[1]._buffers.keys())


def arrays_as_numpy_shows_them(torch):
    i = torch.arange(3)
    made = [
        i.numpy(),
        np.asarray(i),
        np.array(i),
        i.int().numpy(),
        (i > 1).numpy(),
        i.double().numpy(),
        i.byte().numpy(),
    ]
    return [repr(array) for array in made], repr([i.numpy(), {"labels": i.numpy()}])


def dimensions_one_by_one(torch):
    x = torch.ones(2, 1, 3, 1)
    shapes = [x.squeeze(1, 3), x.squeeze((1, 3)), x.squeeze(0, 1), x.squeeze(-1), x.squeeze(dim=1), x.squeeze()]
    return [list(s.shape) for s in shapes], raised(lambda: x.squeeze(1, 9), IndexError)


def normalised_over_several_dimensions(torch):
    x = values(torch, 2, 3, 2, 2).requires_grad_()
    y = torch.nn.functional.normalize(x, dim=(2, 3))
    y[0, 0, 0, 0].backward()
    return y, x.grad, torch.nn.functional.normalize(x, p=1, dim=[1, 2])


def words_that_are_matched(torch):
    found = []
    for call, word in (
        (lambda: torch.linalg.inv(torch.zeros(2, 2)), "singular"),
        (lambda: torch.linalg.solve(torch.zeros(2, 2), torch.ones(2)), "singular"),
        (lambda: torch.inverse(torch.zeros(2, 2, 2)), "singular"),
        (lambda: torch.linalg.cholesky(-torch.eye(2)), "positive-definite"),
        (lambda: torch.nn.functional.binary_cross_entropy(torch.ones(2) / 2, torch.full((2,), 2.0)), "between 0 and 1"),
    ):
        try:
            call()
        except RuntimeError as e:
            found.append(word in str(e))
    return found


def own_functions_say_whose_they_are(torch):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    y = Twice.apply(torch.ones(1, requires_grad=True))
    node = y.grad_fn
    return text(torch, node), text(torch, type(node)), node.name(), type(node).__name__


def the_bias_of_a_layer_comes_first(torch):
    layer, x = torch.nn.Linear(2, 3), torch.ones(1, 2, requires_grad=True)
    bias = layer.bias
    y = layer(x * 2)
    names = [node.name() for node, _ in y.grad_fn.next_functions[:2]]
    seen = []
    y.grad_fn.register_hook(lambda results, grads: seen.extend(list(g.shape) for g in results[:2]))
    y.grad_fn.register_hook(lambda results, grads: (results[0] * 2, *results[1:]))
    y.sum().backward()
    found = y.grad_fn.next_functions[0][0].variable is bias
    unneeded = layer(torch.ones(1, 2)).grad_fn.next_functions[1][0] is None
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    node = torch.nn.MSELoss()(net(torch.ones(1, 2)), torch.ones(1, 1)).grad_fn
    addmm = node.next_functions[0][0]
    chain = [type(n).__name__ for n in (node, addmm, *(before for before, _ in addmm.next_functions[:2]))]
    return names, seen, found, unneeded, bias.grad, layer.weight.grad, chain


def a_distribution_of_ones_own(torch):
    utils, of_several = part(torch, "distributions.utils"), part(torch, "distributions.multivariate_normal")
    drawn = utils._standard_normal(torch.Size([3, 2]), dtype=torch.float64, device=torch.device("cpu"))
    factor = torch.linalg.cholesky(values(torch, 3, 3) @ values(torch, 3, 3).mT + torch.eye(3, dtype=torch.float64))
    x = values(torch, 4, 3)
    return [
        list(drawn.shape),
        drawn.dtype == torch.float64,
        utils._sum_rightmost(x, 1),
        of_several._batch_mahalanobis(factor, x),
        of_several._batch_mv(factor, x),
        of_several._precision_to_scale_tril(factor @ factor.mT),
    ]
