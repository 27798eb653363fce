"""The global rank as a device (DL504): silent only where the file plainly starts one machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import findings_in, lines_of, marked

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

AT_A_STORE = """
def worker(port, rank, size):
    store = dist.TCPStore("127.0.0.1", port, size, False)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
    torch.cuda.set_device(dist.get_rank())
"""

AT_A_NAMED_STORE = """
def worker(port, rank, size):
    store = dist.TCPStore(host_name="localhost", port=port, world_size=size)
    dist.init_process_group("nccl", store=store, rank=rank, world_size=size)
    torch.cuda.set_device(dist.get_rank())
"""

AT_A_DISTANT_STORE = """
def worker(address, port, rank, size):
    store = dist.TCPStore(address, port, size, rank == 0)
    dist.init_process_group("nccl", store=store, rank=rank, world_size=size)
    torch.cuda.set_device(dist.get_rank())  # here
    print("127.0.0.1", rank)
"""

STORES = [AT_A_STORE, AT_A_NAMED_STORE, AT_A_DISTANT_STORE]


@pytest.mark.parametrize(
    "text", [LAUNCHED, SEVERAL, AT_HOME, BY_ADDRESS, BY_DEFAULT, SPAWNED, *STORES]
)
def test_only_files_that_start_one_machine_are_silent(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lines_of("DL504", tmp_path, HEAD + text, capsys) == marked(HEAD + text)


SAMPLER = """
import torch
import torch.distributed as dist


class Buckets(torch.utils.data.Sampler):
    def __init__(self, data):
        self.rank = dist.get_rank()
        torch.cuda.set_device(self.rank)
"""

FITS = """
import lightning.pytorch as pl
from buckets import Buckets


def main(module, data):
    trainer = pl.Trainer(devices=-1, strategy="ddp")
    trainer.fit(module, Buckets(data))
"""


@pytest.mark.parametrize(
    ("main", "found"),
    [
        (FITS, []),
        (FITS.replace("devices=-1", "devices=-1, num_nodes=2"), [("buckets.py", 9)]),
        (FITS.replace("pl.Trainer(devices=-1,", "make(devices=-1,"), [("buckets.py", 9)]),
    ],
)
def test_a_trainer_of_lightning_that_is_told_of_no_nodes(
    main: str,
    found: list[tuple[str, int]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = {"buckets.py": SAMPLER, "train.py": main}
    assert findings_in("DL504", tmp_path, files, capsys) == found


def test_another_script_that_may_run_on_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = "import torch.distributed as dist\nfrom buckets import Buckets\n\nBuckets(dist.group.WORLD)\n"
    files = {"buckets.py": SAMPLER, "train.py": FITS, "other.py": other}
    assert findings_in("DL504", tmp_path, files, capsys) == [("buckets.py", 9)]


MEETING = """
import os
import torch.distributed as dist


def set_up(rank, size):
    os.environ["MASTER_ADDR"] = "localhost"
    dist.init_process_group("nccl", rank=rank, world_size=size)
"""

VALIDATION = """
import torch
import torch.distributed as dist


def validate(model):
    torch.cuda.set_device(dist.get_rank())
    return model


if __name__ == "__main__":
    validate(torch.nn.Linear(2, 2))
"""

STARTS = """
import torch.multiprocessing as mp
from meeting import set_up
from validation import validate


def work(rank, size):
    set_up(rank, size)
    validate(None)


mp.spawn(work, args=(2,), nprocs=2)
"""


@pytest.mark.parametrize(
    ("meeting", "other", "found"),
    [
        (MEETING, "", []),
        (MEETING, "from accelerate import Accelerator\nAccelerator()\n", []),
        (
            MEETING,
            "from accelerate import Accelerator\nfrom validation import validate\nAccelerator()\nvalidate(0)\n",
            [("validation.py", 7)],
        ),
        (
            MEETING.replace(
                'os.environ["MASTER_ADDR"] = ', 'os.environ.setdefault("MASTER_ADDR", '
            ).replace('"localhost"\n', '"localhost")\n'),
            "",
            [("validation.py", 7)],
        ),
        (
            MEETING,
            'import torch.distributed as dist\nfrom meeting import set_up\ndist.init_process_group("nccl")\n',
            [("validation.py", 7)],
        ),
    ],
)
def test_who_makes_every_group_meets_here(
    meeting: str,
    other: str,
    found: list[tuple[str, int]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Music-Source-Separation-Training utils/settings.py:622, valid.py:753
    files = {
        "meeting.py": meeting,
        "validation.py": VALIDATION,
        "start.py": STARTS,
        "plain.py": "from validation import validate\nvalidate(1)\n",
        "other.py": other,
    }
    assert findings_in("DL504", tmp_path, files, capsys) == found


OF_ITS_DEVICES = """
RANK = int(os.environ.get("RANK", -1))


class Trainer:
    def __init__(self, options):
        self.options = options

    def train(self):
        if self.options.devices:
            size = len(self.options.devices.split(","))
        elif torch.cuda.is_available():
            size = torch.cuda.device_count()
        else:
            size = 0
        self.fit(size)

    def fit(self, size):
        self.join(size)
        print(self.options)

    def join(self, size):
        dist.init_process_group("nccl", rank=RANK, world_size=size)
        torch.cuda.set_device(int(os.environ["RANK"]))
"""
BY_THE_LAUNCHER = OF_ITS_DEVICES.replace("torch.cuda.device_count()", 'int(os.environ["SIZE"])')
OF_ALL_MACHINES = OF_ITS_DEVICES.replace("self.fit(size)", "self.fit(size * self.options.machines)")
OF_A_CONSTANT = OF_ITS_DEVICES.replace("self.fit(size)", "self.fit(16)")
OF_THE_ENVIRONMENT = OF_ITS_DEVICES.replace(", world_size=size", "")


@pytest.mark.parametrize(
    ("text", "loud"),
    [
        (OF_ITS_DEVICES, False),
        (BY_THE_LAUNCHER, True),
        (OF_ALL_MACHINES, True),
        (OF_A_CONSTANT, True),
        (OF_THE_ENVIRONMENT, True),
    ],
)
def test_groups_as_large_as_this_machine_has_devices(
    text: str, loud: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bool(lines_of("DL504", tmp_path, HEAD + text, capsys)) is loud


def test_another_group_of_a_program_is_not_that_of_this_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # yoloe 6e916ab ultralytics/engine/trainer.py:219: a package beside it has a group of its own
    other = (
        "import torch.distributed as dist\n\n\ndef join():\n    dist.init_process_group('nccl')\n"
    )
    script = "import other\nimport trainer\n\ntrainer.Trainer(other).train()\n"
    for text, lines in ((OF_ITS_DEVICES, 0), (OF_A_CONSTANT, 1)):
        files = {"trainer.py": HEAD + text, "other.py": other, "run.py": script}
        assert len(findings_in("DL504", tmp_path, files, capsys)) == lines
