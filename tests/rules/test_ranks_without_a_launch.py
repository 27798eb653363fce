"""Files that all ranks write, remove or name: information where nothing starts several processes.

A barrier, a wrap, an Accelerator, a trainer, a hook and a test of the rank work on one process, too. What makes the group or
starts the ranks does not, nor does a launch of what leads there.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import severities_in

HEAD = """\
import os
import shutil
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from lightning.pytorch import LightningModule
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer
from transformers import Trainer, TrainingArguments


"""
HARM = {
    "DL301": "torch.save(net.state_dict(), 'last.pt')",
    "DL303": "shutil.rmtree('old')",
    "DL304": "torch.save(net.state_dict(), f'{time.time()}.pt')",
    "DL305": "os.path.exists('out') or os.mkdir('out')",
}
WEAK = {
    "a barrier": "def work(net):\n    dist.barrier()\n    HARM\n",
    "a wrap": "def work(net):\n    net = torch.nn.parallel.DistributedDataParallel(net)\n    HARM\n",
    "an Accelerator": "def work(net):\n    net = Accelerator().prepare(net)\n    HARM\n",
    "a trainer": "def work(net):\n    Trainer(net, TrainingArguments('out')).train()\n    HARM\n",
    "a hook": "class Net(LightningModule):\n    def on_train_epoch_end(self, net):\n        HARM\n",
    "a test of the rank": "def work(net):\n    if dist.get_rank() == 0:\n        print(net)\n    HARM\n",
}
STRONG = {
    "the group": "def work(net):\n    dist.init_process_group('gloo')\n    HARM\n",
    "the group under an option": "def work(net, args):\n    if args.several:\n        dist.init_process_group('gloo')\n    dist.barrier()\n    HARM\n",
    "the group above a barrier": "def main(net):\n    dist.init_process_group('gloo')\n    work(net)\n\n\ndef work(net):\n    dist.barrier()\n    HARM\n",
    "the group in a setup": "def init_ranks(args):\n    if args.several:\n        dist.init_process_group('gloo')\n\n\ndef work(net, args):\n    init_ranks(args)\n    dist.barrier()\n    HARM\n",
    "a spawned function that is handed another": "def work(rank, net):\n    dist.barrier()\n    HARM\n\n\ndef start(rank, call, net):\n    call(rank, net)\n\n\ndef main(net):\n    mp.spawn(start, args=(work, net), nprocs=net.gpus)\n",
    "a worker of Ray": "def work(net):\n    dist.barrier()\n    HARM\n\n\ndef main(number):\n    TorchTrainer(train_loop_per_worker=work, scaling_config=ScalingConfig(num_workers=number)).fit()\n",
    "a model that is divided": "def work(net):\n    net = Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin()).prepare(net)\n    HARM\n",
    "another way for one GPU": "def work(net):\n    net = Accelerator().prepare(net)\n    HARM\n\n\ndef main(net, args):\n    if args.num_gpus > 1:\n        work(net)\n",
    "a spawn": "def work(rank, net):\n    dist.barrier()\n    HARM\n\n\ndef main(net):\n    mp.spawn(work, args=(net,), nprocs=2)\n",
}
LOUD = (["warning"], ["error"])


def _found(
    code: str,
    shown: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    **files: str,
) -> list[str]:
    text = HEAD + shown.replace("HARM", HARM[code])
    named = {name.replace("_", "."): held for name, held in files.items()}
    return severities_in(code, tmp_path, {"work.py": text, **named}, capsys)


@pytest.mark.parametrize("code", HARM)
@pytest.mark.parametrize("shown", WEAK)
def test_what_works_on_one_process_is_information_without_a_launch(
    code: str, shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _found(code, WEAK[shown], tmp_path, capsys, README_md="# Rows\n") == ["info"]


@pytest.mark.parametrize("code", HARM)
def test_where_no_page_could_tell_a_launch_none_is_asked_for(
    code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a file alone, or a package as it is installed, nothing says how it is started."""
    assert _found(code, WEAK["a barrier"], tmp_path, capsys) in LOUD


@pytest.mark.parametrize("code", HARM)
@pytest.mark.parametrize("shown", WEAK)
def test_what_works_on_one_process_is_loud_with_a_launch(
    code: str, shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    launch = "torchrun --nproc_per_node 2 work.py\n"
    # Who asks for the rank in front of a print may be called by rank 0 alone, which then saves.
    quiet = code == "DL301" and shown == "a test of the rank"
    found = _found(code, WEAK[shown], tmp_path, capsys, run_sh=launch)
    assert found in ((["info"],) if quiet else LOUD)


@pytest.mark.parametrize("code", HARM)
@pytest.mark.parametrize("shown", STRONG)
def test_what_begins_the_ranks_needs_no_launch(
    code: str, shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _found(code, STRONG[shown], tmp_path, capsys, README_md="# Rows\n") in LOUD


LIGHTNING = """\
import argparse

import torch
from lightning.pytorch import Trainer

parser = argparse.ArgumentParser()
parser.add_argument("--gpus", type=int, default=DEFAULT)
args = parser.parse_args()


def work(net, data):
    Trainer(devices=args.gpus).fit(net, data)
    torch.save(net.state_dict(), "last.pt")


work(make(), rows())
"""


@pytest.mark.parametrize(("default", "found"), [("2", LOUD), ("None", (["info"],))])
def test_the_default_of_an_option_is_a_number(
    default: str, found: tuple[list[str], ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """InnerEye-DeepLearning, issue 622."""
    files = {"train.py": LIGHTNING.replace("DEFAULT", default), "README.md": "# Rows\n"}
    assert severities_in("DL301", tmp_path, files, capsys) in found


USES = """\
import torch.distributed
from work import work

if __name__ == "__main__":
    work(make())
"""
BY_NUMBER = """\
from accelerate import notebook_launcher
from work import work

if __name__ == "__main__":
    notebook_launcher(work, (make(),), num_processes=NUMBER)
"""


@pytest.mark.parametrize(
    ("files", "is_loud"),
    [
        pytest.param({"run_sh": "torchrun --nproc_per_node 2 work.py\n"}, True, id="itself"),
        pytest.param(
            {"use_py": USES, "run_sh": "torchrun --nproc_per_node 2 use.py\n"},
            True,
            id="a script that imports it",
        ),
        pytest.param(
            {"use_py": USES, "README_md": "```bash\ntorchrun --nproc_per_node 2 use.py\n```\n"},
            True,
            id="by a page",
        ),
        pytest.param(
            {
                "two_yaml": "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 2\n",
            },
            True,
            id="by a configuration of accelerate",
        ),
        pytest.param(
            {"use_py": BY_NUMBER.replace("NUMBER", "2")}, True, id="by a number in the code"
        ),
        pytest.param(
            {"use_py": BY_NUMBER.replace("NUMBER", "1")}, False, id="by the number of one"
        ),
        pytest.param(
            {"run_sh": "torchrun --nproc_per_node 1 work.py\n"}, False, id="on one process"
        ),
        pytest.param({"run_sh": "python work.py\n"}, False, id="without a launcher"),
        pytest.param(
            {"run_sh": "torchrun --nproc_per_node 2 other.py\n", "other_py": "import torch\n"},
            False,
            id="another script",
        ),
    ],
)
def test_which_launch_counts(
    files: dict[str, str], is_loud: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"README_md": "# Rows\n", **files}
    found = _found("DL301", WEAK["a barrier"], tmp_path, capsys, **files)
    assert found in (LOUD if is_loud else ([], ["info"]))
