"""The global rank as a device (DL504): silent only where the file plainly starts one machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import lines_of, marked

HEAD = "import os\nimport torch\nimport torch.distributed as dist\nimport torch.multiprocessing as mp\n"

LAUNCHED = """
def logs(port):
    print(f"open http://localhost:{port}/")
    torch.cuda.set_device(dist.get_rank())  # here


def addresses(own):
    return [*own, "localhost"]
"""

SEVERAL = """
def launch(main, num_machines, machine_rank, per_machine):
    url = "tcp://127.0.0.1:8686" if num_machines == 1 else None
    mp.spawn(worker, nprocs=per_machine, args=(main, url, machine_rank))


def worker(index, main, url, machine_rank):
    dist.init_process_group("nccl", init_method=url)
    torch.cuda.set_device(dist.get_rank())  # here
    main()
"""

AT_HOME = """
def worker(rank, world_size):
    os.environ["MASTER_ADDR"] = "localhost"
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    torch.cuda.set_device(dist.get_rank())
"""

BY_ADDRESS = """
def worker():
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29500")
    torch.cuda.set_device(dist.get_rank())
"""

BY_DEFAULT = """
def worker(address="127.0.0.1"):
    dist.init_process_group("nccl", init_method=f"tcp://{address}:29500")
    torch.cuda.set_device(dist.get_rank())
"""

SPAWNED = """
def main():
    mp.spawn(worker, nprocs=torch.cuda.device_count())


def worker(index):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_rank())
"""


@pytest.mark.parametrize("text", [LAUNCHED, SEVERAL, AT_HOME, BY_ADDRESS, BY_DEFAULT, SPAWNED])
def test_only_files_that_start_one_machine_are_silent(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lines_of("DL504", tmp_path, HEAD + text, capsys) == marked(HEAD + text)
