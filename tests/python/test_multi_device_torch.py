"""Ranks of torch's: tensors of torch, and a process group or a store by which GPUs meet."""
import os
import subprocess
import sys
import threading

import pytest

torch = pytest.importorskip("torch")
import tokamak  # noqa: E402
from test_multi_device import mlp, on_ranks  # noqa: E402
from tokamak import Communicator, MultiDeviceExecutor  # noqa: E402
from tokamak.communicator import _bootstrap_of  # noqa: E402


def mlp_of(x, w1, b1, w2):
    return torch.relu(x @ w1.T + b1) @ w2.T


def mlp_inputs():
    sizes = [(5, 8), (16, 8), (16,), (8, 16)]
    return [torch.randint(-4, 5, each).float() for each in sizes]


def test_tensors_of_torch_in_and_out():
    inputs = mlp_inputs()

    def work(communicator):
        executor = MultiDeviceExecutor(mlp(2), communicator)
        outputs = executor.run(executor.shard(inputs))
        assert isinstance(outputs[0], torch.Tensor)
        return executor.gather(outputs)[0]

    for whole in on_ranks(Communicator.local(2), work):
        torch.testing.assert_close(whole, mlp_of(*inputs), rtol=0, atol=0)


def test_parts_of_halves_are_gathered():
    def work(communicator):
        with tokamak.FusionDefinition() as fd:
            x = fd.define_tensor([4, 3], contiguity=True, dtype=tokamak.DataType.BFloat16)
            fd.add_output(fd.ops.cast(fd.ops.neg(x), tokamak.DataType.BFloat16))
        fd.sched._set_device_mesh(x, tokamak.DeviceMesh(2))
        fd.sched.split(x, 0, 2, False)
        fd.sched.parallelize(x, 0, tokamak.ParallelType.mesh_x)
        executor = MultiDeviceExecutor(fd, communicator)
        return executor.gather(executor.run(executor.shard([whole])))[0]

    whole = torch.arange(12).reshape(4, 3).to(torch.bfloat16)
    for given in on_ranks(Communicator.local(2), work):
        assert given.dtype is torch.bfloat16
        torch.testing.assert_close(given, -whole)


def test_a_store_is_a_bootstrap():
    store = torch.distributed.HashStore()
    told = {}

    def meet(rank):
        bootstrap = _bootstrap_of("nccl", store, rank, 3, 60.0)
        told[rank] = [bootstrap.exchange(b"%d" % rank), bootstrap.exchange(b"again %d" % rank)]

    threads = [threading.Thread(target=meet, args=[rank]) for rank in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    wanted = [[b"0", b"1", b"2"], [b"again 0", b"again 1", b"again 2"]]
    assert told == {0: wanted, 1: wanted, 2: wanted}


OVER_GLOO = """
import os
import torch.distributed
from tokamak.communicator import _bootstrap_of

rank = int(os.environ["RANK"])
torch.distributed.init_process_group("gloo", init_method=os.environ["STORE"], rank=rank, world_size=2)
group = torch.distributed.group.WORLD
bootstrap = _bootstrap_of("nccl", group, None, None, 60.0)
assert (bootstrap.rank, bootstrap.size) == (group.rank(), group.size())
for turn in range(2):
    parts = bootstrap.exchange(bytes([turn, bootstrap.rank]))
    assert parts == [bytes([turn, rank]) for rank in range(bootstrap.size)], parts
del bootstrap, group  # which it is done with, before torch ends it
torch.distributed.destroy_process_group()
print("met")
"""


def test_a_process_group_is_a_bootstrap(tmp_path):
    started = [subprocess.Popen([sys.executable, "-B", "-c", OVER_GLOO], text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT,
                                env={**os.environ, "RANK": str(rank), "STORE": f"file://{tmp_path}/store"})
               for rank in range(2)]
    for each in started:
        printed = each.communicate(timeout=120)[0]
        assert each.returncode == 0 and printed.rstrip().endswith("met"), printed


def test_wrong_bootstraps_of_torch_are_refused():
    store = torch.distributed.HashStore()
    with pytest.raises(TypeError, match="comes with rank and size"):
        Communicator.nccl(store)
