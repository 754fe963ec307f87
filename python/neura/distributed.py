"""The names of torch.distributed for one process: a group of its own, in which every exchange is a copy.

`init_process_group` with a world of one process, given or by WORLD_SIZE, makes that group, so that a program written
for many processes runs as one. A world of more raises NotImplementedError: there is no exchange between processes.

>>> import neura.distributed as dist
>>> dist.get_rank() if dist.is_available() and dist.is_initialized() else 0
0
>>> dist.init_process_group("gloo", rank=0, world_size=1)
>>> t = neura.ones(2)
>>> dist.all_reduce(t)
>>> t, dist.get_world_size()
(tensor([1., 1.]), 1)
>>> dist.destroy_process_group()
"""

import enum
import os

from ._neura import Tensor, errors

__all__ = (
    "Backend GroupMember P2POp ProcessGroup ReduceOp Work all_gather all_gather_into_tensor all_gather_object "
    "all_reduce all_to_all all_to_all_single barrier broadcast broadcast_object_list destroy_process_group gather "
    "gather_object get_backend get_process_group_ranks get_rank get_world_size group init_process_group irecv "
    "is_available is_backend_available is_gloo_available is_initialized is_mpi_available is_nccl_available "
    "is_torchelastic_launched isend monitored_barrier new_group recv reduce reduce_scatter reduce_scatter_tensor "
    "scatter scatter_object_list send"
).split()


class ReduceOp(enum.Enum):
    """How values of several processes become one; of one process they stay as they are."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR = range(8)


class Backend:
    """The names of PyTorch's back ends."""

    UNDEFINED, GLOO, NCCL, UCC, MPI = "undefined", "gloo", "nccl", "ucc", "mpi"


class ProcessGroup:
    """The group of this process alone."""

    def rank(self):
        """0."""
        return 0

    def size(self):
        """1."""
        return 1


class GroupMember:
    """The group of all processes, where there is one."""

    WORLD, NON_GROUP_MEMBER = None, object()


class Work:
    """An exchange that is over."""

    def wait(self, timeout=None):
        """True, at once."""
        return True

    def is_completed(self):
        """True."""
        return True


class group:  # noqa: N801, PyTorch's name
    """PyTorch's older place of the group of all processes."""

    WORLD = None


class P2POp:
    """An exchange between two processes, of which there is one."""

    def __init__(self, *args, **kwargs):
        raise _one_process("P2POp")


_state = {}


def _one_process(name):
    return errors.NotImplementedError(
        f"{name}: expected to stay within one process; there is no exchange between processes"
    )


def is_available():
    """True: there are groups of one process."""
    return True


def is_initialized():
    """Has init_process_group made a group?"""
    return bool(_state)


def is_nccl_available():
    """False."""
    return False


is_mpi_available = is_torchelastic_launched = is_nccl_available


def is_gloo_available():
    """True: its name stands for the exchange within one process."""
    return True


def is_backend_available(backend):
    """Is it "gloo"?"""
    return backend.lower() == "gloo"


def init_process_group(
    backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="", pg_options=None,
    device_id=None,
):  # fmt: skip
    """Makes the group of this process.

    world_size, rank: 1 and 0, or unset, when WORLD_SIZE and RANK of the environment say so. ValueError where neither
    does or a group is there already; NotImplementedError for more processes.
    """
    if _state:
        raise errors.ValueError("init_process_group: expected no group yet, got one; call destroy_process_group first")
    try:
        size = world_size if world_size >= 0 else int(os.environ["WORLD_SIZE"])
        place = rank if rank >= 0 else int(os.environ["RANK"])
    except KeyError as missing:
        raise errors.ValueError(
            f"init_process_group: expected world_size and rank or the variable {missing.args[0]} of the environment, "
            "got neither"
        ) from None
    if size != 1:
        raise errors.NotImplementedError(
            f"init_process_group: expected a world of one process, got {size}; there is no exchange between processes"
        )
    if place != 0:
        raise errors.ValueError(f"init_process_group: expected a rank below the number of processes, 1, got {place}")
    _state["backend"] = (backend or "gloo").lower()
    _state["group"] = GroupMember.WORLD = group.WORLD = ProcessGroup()


def destroy_process_group(group=None):
    """Forgets the group."""
    _group(None)
    if group is None or group is _state["group"]:
        _state.clear()
        GroupMember.WORLD = globals()["group"].WORLD = None


def _group(group):
    if not _state:
        raise errors.ValueError("distributed: expected a group of processes, got none; call init_process_group first")
    return group


def get_rank(group=None):
    """0."""
    _group(group)
    return 0


def get_world_size(group=None):
    """1."""
    _group(group)
    return 1


def get_backend(group=None):
    """The name that init_process_group was given."""
    _group(group)
    return _state["backend"]


def get_process_group_ranks(group=None):
    """[0]."""
    _group(group)
    return [0]


def new_group(ranks=None, timeout=None, backend=None, pg_options=None, use_local_synchronization=False, **_):
    """A group of this process, or GroupMember.NON_GROUP_MEMBER where ranks does not have 0."""
    _group(None)
    return ProcessGroup() if ranks is None or 0 in ranks else GroupMember.NON_GROUP_MEMBER


def _own(where, rank):
    if rank not in (0, None):
        raise errors.ValueError(f"{where}: expected rank 0, the only one, got {rank}")


def _checked(where, group, *tensors):
    _group(group)
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{where}: expected a tensor, got {type(tensor).__name__}")


def _done(async_op):
    return Work() if async_op else None


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """Leaves the tensor as it is: the only process has it already."""
    _checked("all_reduce", group, tensor)
    return _done(async_op)


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """Leaves the tensor as it is."""
    _checked("reduce", group, tensor)
    _own("reduce", dst)
    return _done(async_op)


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """Leaves the tensor as it is."""
    _checked("broadcast", group, tensor)
    _own("broadcast", src)
    return _done(async_op)


def _copy(into, tensor):
    from .autograd.grad_mode import no_grad

    with no_grad():
        into.copy_(tensor)


def _only(where, items):
    if len(items) != 1:
        raise errors.ValueError(f"{where}: expected a list of one, the number of processes, got {len(items)}")
    return items[0]


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Copies the tensor into the only one of the list."""
    _checked("all_gather", group, tensor, *tensor_list)
    _copy(_only("all_gather", tensor_list), tensor)
    return _done(async_op)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Copies the tensor."""
    _checked("all_gather_into_tensor", group, output_tensor, input_tensor)
    _copy(output_tensor, input_tensor.reshape(output_tensor.shape))
    return _done(async_op)


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """Copies the tensor into the only one of the list."""
    _own("gather", dst)
    return all_gather(gather_list or [], tensor, group, async_op)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Copies the only one of the list into the tensor."""
    _own("scatter", src)
    return all_gather([tensor], _only("scatter", scatter_list or []), group, async_op)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Copies the only one of the list into the output."""
    return all_gather([output], _only("reduce_scatter", input_list), group, async_op)


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """Copies the tensor."""
    return all_gather_into_tensor(output, input, group, async_op)


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Copies the only one."""
    return all_gather(output_tensor_list, _only("all_to_all", input_tensor_list), group, async_op)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False):
    """Copies the tensor."""
    return all_gather_into_tensor(output, input, group, async_op)


def all_gather_object(object_list, obj, group=None):
    """Puts the object at the only place of the list."""
    _group(group)
    _only("all_gather_object", object_list)
    object_list[0] = obj


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """Puts the object at the only place of the list."""
    _own("gather_object", dst)
    all_gather_object(object_gather_list or [], obj, group)


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Leaves the list as it is."""
    _group(group)
    _own("broadcast_object_list", src)


def scatter_object_list(output_list, input_list=None, src=None, group=None, group_src=None):
    """Puts the only object of the second list at the first place of the first."""
    _group(group)
    _own("scatter_object_list", src)
    output_list[0] = _only("scatter_object_list", input_list or [])


def barrier(group=None, async_op=False, device_ids=None):
    """Returns at once."""
    _group(group)
    return _done(async_op)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """Returns at once."""
    _group(group)


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """NotImplementedError: there is no other process."""
    raise _one_process("send")


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    """NotImplementedError: there is no other process."""
    raise _one_process("recv")


def isend(tensor, dst=None, group=None, tag=0, group_dst=None):
    """NotImplementedError: there is no other process."""
    raise _one_process("isend")


def irecv(tensor, src=None, group=None, tag=0, group_src=None):
    """NotImplementedError: there is no other process."""
    raise _one_process("irecv")
