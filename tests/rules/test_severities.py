"""How bad a finding is depends on the rest of the program, which one cases.py cannot show."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import severities, severities_in

TEMPORARY = """
import torch.distributed as dist

def sample(model, batch):
    use_cache = model.config.use_cache
    model.config.use_cache = False
    out = model.generate(**batch)
    model.config.use_cache = use_cache
    return out
"""

DECORATED = """
import torch.distributed as dist

def in_eval(method):
    def inner(model, *args):
        was_training = model.training
        model.eval()
        out = method(model, *args)
        model.train(was_training)
        return out
    return inner

@in_eval
def sample(model, batch):
    return model(batch)
"""


def caller(handler: str) -> str:
    return f"""
import torch.distributed as dist
from file_0 import sample

def preview(model, batch):
    return sample(model, batch)

def train(model, loader):
    for batch in loader:
        try:
            preview(model, batch)
        {handler}
"""


@pytest.mark.parametrize(
    ("text", "handler", "expected"),
    [
        (TEMPORARY, "except RuntimeError:\n            continue", "warning"),
        (DECORATED, "except RuntimeError:\n            continue", "warning"),
        (TEMPORARY, "except RuntimeError:\n            print(1)\n            raise", "info"),
        (TEMPORARY, "finally:\n            print(1)", "info"),
        (DECORATED, "finally:\n            print(1)", "info"),
        (
            TEMPORARY,
            "except subprocess.CalledProcessError:\n            continue",
            "info",
        ),
    ],
)
def test_a_temporary_value_matters_where_somebody_catches(
    tmp_path: Path, text: str, handler: str, expected: str
) -> None:
    assert severities(tmp_path, "DL202", text, caller(handler)) == [expected]


METHOD = """
import torch.distributed as dist

class Environment:
    def run(self, batch):
        return self.generate(batch)

    def generate(self, batch):
        use_cache = self.model.config.use_cache
        self.model.config.use_cache = False
        out = self.model.generate(**batch)
        self.model.config.use_cache = use_cache
        return out
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("Environment(model).generate(batch)", "warning"),
        ("Environment(model).run(batch)", "warning"),
        ("model.generate(**batch)", "info"),  # LLaVA-NeXT trl/environment/base_environment.py:422
        ("subprocess.run(batch)", "info"),
        ("Worker(model).run(batch)", "info"),
    ],
)
def test_a_method_of_the_same_name_is_not_the_one(tmp_path: Path, call: str, expected: str) -> None:
    known = "from file_0 import Environment\n" if "Environment" in call else ""
    text = f"""
import subprocess
import torch.distributed as dist
{known}
class Worker:
    def run(self, batch):
        return batch

def serve(model, batches):
    for batch in batches:
        try:
            {call}
        except RuntimeError:
            continue
"""
    assert severities(tmp_path, "DL202", METHOD, text) == [expected]


UNWRAP = """
import deepspeed
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.module = nn.Linear(2, 2)

def inner(model):
    model = model.module if hasattr(model, "module") else model
    {cut}
    return model

def run(net, path):
    {wraps}
    torch.save(inner(model).{read}, path)
    {later}
"""
COMPILES = "model = DistributedDataParallel(torch.compile(net))"


@pytest.mark.parametrize(
    ("wraps", "read", "cut", "later", "expected"),
    [
        ("model = net", "state_dict()", "", "", ["info"]),
        (COMPILES, "state_dict()", "", "", ["warning"]),
        (
            "DistributedDataParallel(net)\n    model = torch.compile(net)",
            "state_dict()",
            "",
            "",
            ["warning"],
        ),
        # torch.compile's layer hands on the `module` of what it is around
        ("model = torch.compile(DistributedDataParallel(net))", "state_dict()", "", "", ["info"]),
        (COMPILES, "temperature", "", "", ["info"]),
        (
            COMPILES,
            "state_dict()",
            'model = model._orig_mod if hasattr(model, "_orig_mod") else model',
            "",
            ["info"],
        ),
        (
            "model = DistributedDataParallel(net)",
            "state_dict()",
            "",
            "model = torch.compile(model)",
            [],
        ),
        ("model, *_ = deepspeed.initialize(model=net)", "state_dict()", "", "", []),
        ("model = DistributedDataParallel(Own())", "state_dict()", "", "", ["warning"]),
        (
            "model = net",
            "state_dict()",
            "",
            "@torch.compiler.disable\n    def plain(batch):\n        return batch",
            ["info"],
        ),
    ],
)
def test_unwrapping_by_name_matters_for_a_model_that_comes_there(
    tmp_path: Path, wraps: str, read: str, cut: str, later: str, expected: list[str]
) -> None:
    text = UNWRAP.format(wraps=wraps, read=read, cut=cut, later=later)
    assert severities(tmp_path, "DL205", text) == expected


KEEPS = """
import torch
from copy import deepcopy

def plain(model):
    return model.module if hasattr(model, "module") else model

class Average:
    def __init__(self, model):
        self.twin = deepcopy(plain(model))

    def state(self):
        return plain(self.twin).state_dict()

def build(net, fast):
    average = Average(net)
    {compiles}
    return average
"""


@pytest.mark.parametrize(
    ("compiles", "expected"),
    [
        ("average.twin = torch.compile(average.twin)", ["warning"]),
        ("average.other = torch.compile(average.twin)", ["info"]),
    ],
)
def test_unwrapping_by_name_matters_for_an_attribute_that_is_compiled_elsewhere(
    tmp_path: Path, compiles: str, expected: list[str]
) -> None:
    assert severities(tmp_path, "DL205", KEEPS.format(compiles=compiles)) == expected


PAST = """
from torch.nn.parallel import DistributedDataParallel

def compare(net, batch):
    model = DistributedDataParallel(net)
    model.module(batch).sum().backward()
    return [p.grad for p in net.parameters()]
"""
STEPS = """
from file_0 import compare

def train(net, batch, optimizer):
    compare(net, batch)
    optimizer.step()
"""


def test_a_forward_past_the_wrapper_matters_where_an_optimizer_steps(tmp_path: Path) -> None:
    assert severities(tmp_path, "DL206", PAST) == []
    assert severities(tmp_path, "DL206", PAST, STEPS) == ["error"]


SUMS = """
def train(model, optimizer, loader, every):
    running = 0.0
    for step, batch in enumerate(loader):
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        running += loss
        if step % every == 0:
            print(running)
            {reset}
    return running
"""


@pytest.mark.parametrize(
    ("reset", "expected"), [("running = 0.0", ["info"]), ("pass", ["warning"])]
)
def test_a_total_of_graphs_matters_where_nothing_begins_it_anew(
    tmp_path: Path, reset: str, expected: list[str]
) -> None:
    assert severities(tmp_path, "DL607", SUMS.format(reset=reset)) == expected


WRAPPING = """
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

class Painter(nn.Module):
    def sample(self, batch):
        return batch

class Trainer:
    def __init__(self, args):
        self.is_distributed = args.distributed

    def train(self, model):
        self.begin(model)
        self.draw(model)

    def begin(self, model):
        {wrap}
        self.model = model

    def draw(self, batch):
        {read}
"""

DERIVED = """
import torch.distributed as dist

from file_0 import Trainer

class Drawing(Trainer):
    def draw(self, batch):
        return self.model.sample(batch)

def main(args, model):
    Drawing(args).train(model)
"""


@pytest.mark.parametrize(
    ("test", "apart", "expected"),
    [
        ("", False, ["error"]),
        ("if self.is_distributed: ", False, ["warning"]),
        ("", True, ["warning"]),
        ("if self.is_distributed: ", True, ["info"]),
    ],
)
def test_an_attribute_behind_a_wrapper_of_another_place(
    test: str, apart: bool, expected: list[str], tmp_path: Path
) -> None:
    wrap = f"{test}model = DistributedDataParallel(model)"
    read = "raise NotImplementedError" if apart else "return self.model.sample(batch)"
    texts = [WRAPPING.format(wrap=wrap, read=read), *([DERIVED] if apart else [])]
    assert severities(tmp_path, "DL201", *texts) == expected


COPIED = """
import os
import shutil

import torch.distributed as dist

def keep_code(source, target, options, args):
    {shown}
    if os.path.exists(target):
        return
    shutil.copytree(source, target)
"""


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ("dist.barrier()", "error"),
        ("if dist.get_rank() == 0: print(options)", "warning"),
        # Off unless somebody asks for it.
        ("dist.barrier()\n    if not args.copy_codebase: return", "warning"),
    ],
)
def test_a_tree_that_all_ranks_copy_matters_where_all_come(
    tmp_path: Path, shown: str, expected: str
) -> None:
    (tmp_path / "run.sh").write_text("torchrun --nproc_per_node 2 file_0.py\n", encoding="utf-8")
    assert severities(tmp_path, "DL305", COPIED.format(shown=shown)) == [expected]


MODE = """
import torch
import torch.distributed as dist


def score(model, batch):
    was = model.training
    model.eval()
    result = model(batch)
    model.train(was)
    return result


class Trainer:
    def train_step(self, batch):
        FIRST
        loss = self.model(batch).mean()
        loss.backward()
        dist.all_reduce(loss)

    def run(self, batches):
        for batch in batches:
            try:
                self.train_step(batch)
                score(self.model, batch)
            except RuntimeError:
                torch.cuda.empty_cache()
"""


@pytest.mark.parametrize(
    ("first", "severity"),
    [("self.model.train()", "info"), ("self.optimizer.zero_grad()", "warning")],
)
def test_a_mode_that_each_step_sets_anew(tmp_path: Path, first: str, severity: str) -> None:
    assert severities(tmp_path, "DL202", MODE.replace("FIRST", first)) == [severity]


RESUMES = """
import os

import torch
from accelerate import Accelerator


def main(args, model, loader):
    accelerator = Accelerator()
    {makes}
    model, loader = accelerator.prepare(model, loader)
    accelerator.init_trackers("run")
    folders = sorted(os.listdir(args.out))
    if folders:
        accelerator.load_state(os.path.join(args.out, folders[-1]))
    for step, batch in enumerate(loader):
        accelerator.backward(model(batch).mean())
    {saves}
"""
ON_MAIN = "if accelerator.is_main_process: "
MAKES = "os.makedirs(args.out, exist_ok=True)"
SAVES = "accelerator.save_state(os.path.join(args.out, str(step)))"


@pytest.mark.parametrize(
    ("makes", "saves", "expected"),
    [
        (MAKES, ON_MAIN + SAVES, ["warning"]),
        (ON_MAIN + MAKES, ON_MAIN + SAVES, ["info"]),
        (MAKES, "accelerator.end_training()", []),  # trackers are no checkpoint
    ],
)
def test_a_folder_that_rank_0_makes_is_not_listed_elsewhere(
    tmp_path: Path, makes: str, saves: str, expected: list[str]
) -> None:
    text = RESUMES.format(makes=makes, saves=saves)
    assert severities(tmp_path, "DL309", text) == expected


@pytest.mark.parametrize(
    ("makes", "saves", "expected"),
    [
        (ON_MAIN + "made(args.out)", ON_MAIN + SAVES, ["info"]),
        ("made(args.out)", ON_MAIN + SAVES, ["warning"]),
    ],
)
def test_a_listing_above_the_test_fails_where_rank_0_made_the_folder(
    tmp_path: Path, makes: str, saves: str, expected: list[str]
) -> None:
    """Ask-Anything 4dd8210 video_chat/tasks/shared_utils.py:86: the folder is another name's, in a function."""
    text = RESUMES.format(makes=makes, saves=saves.replace("str(step)", "'last'"))
    text += "\n\ndef made(out):\n    os.makedirs(out, exist_ok=True)\n"
    text = text.replace(
        "    if folders:\n",
        "    path = os.path.join(args.out, 'last')\n    if os.path.isfile(path):\n",
    ).replace("os.path.join(args.out, folders[-1])", "path")
    assert severities(tmp_path, "DL309", text) == expected


def test_another_program_s_checkpoint_is_not_resumed_from(tmp_path: Path) -> None:
    first = RESUMES.format(makes=MAKES, saves="accelerator.end_training()")
    second = RESUMES.format(makes=MAKES, saves=ON_MAIN + SAVES).replace("os.listdir", "listed")
    assert severities(tmp_path, "DL309", first, second) == []


RESUMED = RESUMES.format(makes=MAKES, saves=ON_MAIN + SAVES)


@pytest.mark.parametrize(
    ("started", "text", "expected"),
    [
        ("torchrun --nproc_per_node=8 file_0.py", "", ["info"]),
        ("torchrun --nnodes=1 --nproc_per_node=8 file_0.py", "", ["info"]),
        ("torchrun --nnodes=2 --nproc_per_node=8 file_0.py", "", ["warning"]),
        ("torchrun --nnodes=$MACHINES --nproc_per_node=8 file_0.py", "", ["warning"]),
        ("torchrun $OPTIONS file_0.py", "", ["warning"]),
        ("torchrun file_0.py\ntorchrun --nnodes=2 file_0.py", "", ["warning"]),
        ("srun -n 16 python file_0.py\ntorchrun file_0.py", "", ["warning"]),
        ("deepspeed --hostfile hosts file_0.py", "", ["warning"]),
        ("accelerate launch file_0.py", "", ["warning"]),
        ("", "", ["warning"]),
        ("", "import submitit\n", ["info"]),
        ("torchrun --nnodes=2 file_0.py", "import submitit\n", ["warning"]),
    ],
)
def test_machines_are_asked_for_a_checkpoint_where_a_launch_has_several(
    tmp_path: Path, started: str, text: str, expected: list[str]
) -> None:
    (tmp_path / "run.sh").write_text(f"{started}\n", encoding="utf-8")
    assert severities(tmp_path, "DL309", text + RESUMED) == expected


STARTS = """
import os
import torch.distributed as dist

def init_distributed_mode(args):
    if "RANK" in os.environ:
        args.rank = int(os.environ["RANK"])
        args.world_size = int(os.environ["WORLD_SIZE"])
    elif "SLURM_PROCID" in os.environ:
        args.rank = int(os.environ["SLURM_PROCID"])
    dist.init_process_group("nccl", world_size=args.world_size, rank=args.rank)

def get_rank():
    return dist.get_rank()

def add_options(parser):
    parser.add_argument("--world_size", type=int, default=1)
"""


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("from file_0 import init_distributed_mode\ninit_distributed_mode(options)", ["warning"]),
        ("import file_0\nstart = file_0.init_distributed_mode", ["warning"]),
        ("print('a file of its own')", ["warning"]),
        ("import file_0\nprint(file_0.get_rank())", []),  # LAVIS lavis/models/ulip_models/utils
    ],
)
def test_a_function_that_came_along_with_others(
    tmp_path: Path, other: str, expected: list[str]
) -> None:
    text = f"import torch.distributed as dist\n{other}\ndist.barrier()\n"
    assert severities(tmp_path, "DL511", STARTS, text) == expected
    registered = STARTS.replace("def init", "@register\ndef init")
    assert severities(tmp_path, "DL511", registered, text) == ["warning"]


def test_a_world_size_that_is_no_option_has_no_default(tmp_path: Path) -> None:
    """esvit 2d6becd utils.py:448: no parser has it, and every process ends with AttributeError."""
    assert severities(tmp_path, "DL511", STARTS.replace("--world_size", "--machines")) == []


SPAWNED = """
import torch.distributed as dist
import torch.multiprocessing as mp

def train(rank, config):
    dist.init_process_group(
        backend="nccl",
        init_method=config["dist_url"],
        world_size=config["world_size"] * config["gpus"],
        rank=rank,
    )

mp.spawn(train, nprocs=2, args=(read(),))
"""


@pytest.mark.parametrize(
    ("configurations", "severity"),
    [
        ({"config.yaml": 'dist:\n  dist_url: "tcp://localhost:54321"\n'}, "info"),
        ({"config.json": '{"dist_url": "tcp://127.0.0.1:54321"}'}, "info"),
        ({"config.yaml": 'dist_url: "tcp://node0:54321"\n'}, "warning"),
        (
            {"a.yaml": "dist_url: tcp://node0:1\n", "b.yaml": "dist_url: tcp://localhost:1\n"},
            "warning",
        ),
        ({"config.yaml": 'log_url: "tcp://localhost:54321"\n'}, "warning"),
        ({}, "warning"),
    ],
)
def test_configurations_of_one_machine(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    configurations: dict[str, str],
    severity: str,
) -> None:
    # Comprehensive-Transformer-TTS dca252c config/LJSpeech/train.yaml:4
    files = {"train.py": SPAWNED, **configurations}
    assert severities_in("DL511", tmp_path, files, capsys) == [severity]


JOINS = """
import torch.distributed as dist
from options import read

options = read()
dist.init_process_group(
    "nccl", init_method=options.dist_url, rank=options.local_rank, world_size=options.world_size
)
"""
MEETS = """
import argparse
import os


def read():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dist_url", default="tcp://HOST:23456")
    options = parser.parse_args()
    options.local_rank = int(os.environ["LOCAL_RANK"])
    options.world_size = int(os.environ["WORLD_SIZE"])
    return options
"""


@pytest.mark.parametrize(
    ("host", "told", "severity"),
    [
        ("127.0.0.1", "", "info"),
        ("localhost", "--dist_url tcp://127.0.0.1:2 --batch 4", "info"),
        ("127.0.0.1", "--dist_url tcp://$HEAD:2", "warning"),
        ("127.0.0.1", "--dist_url=tcp://10.0.0.7:2", "warning"),
        ("head", "", "warning"),
        ("head", "--dist_url tcp://127.0.0.1:2", "warning"),
    ],
)
def test_an_option_by_which_all_meet_on_this_machine(
    host: str, told: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # nni 767ed7f examples/nas/legacy/cdarts/search.py:25
    files = {
        "search.py": JOINS,
        "options.py": MEETS.replace("HOST", host),
        "run.sh": f"python -m torch.distributed.launch --nproc_per_node=4 search.py {told}\n",
    }
    assert severities_in("DL511", tmp_path, files, capsys) == [severity]


PULLS = """
import torch.distributed as dist
from transformers import AutoModel


def pull(name):
    if dist.get_rank() == 0:
        model = AutoModel.from_pretrained(name)
    dist.barrier()
    if dist.get_rank() > 0:
        model = AutoModel.from_pretrained(name)
    return model
"""


def test_the_first_rank_pulls_a_model_and_comes_to_the_barrier(tmp_path: Path) -> None:
    # RADIO c0f3701 mmseg/radio.py:41: a collective under ZeRO-3 alone
    assert "warning" not in severities(tmp_path, "DL102", PULLS)
    assert "warning" not in severities(tmp_path, "DL102", PULLS, "import deepspeed\n")


SAVES_BY_MODE = """
from accelerate import Accelerator

def train(args, model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        loss = model(batch)
        accelerator.backward(loss)
        if {test}:
            accelerator.save_state(args.folder)

train(None, None, None)
"""


@pytest.mark.parametrize(
    ("test", "launch", "expected"),
    [
        ("args.use_deepspeed or accelerator.is_main_process", "", "info"),
        ("args.use_deepspeed or accelerator.is_main_process", "--use_fsdp ", "warning"),
        ("args.use_ema or accelerator.is_main_process", "", "warning"),
    ],
)
def test_a_condition_that_lets_all_ranks_in_where_the_model_is_sharded(
    tmp_path: Path, test: str, launch: str, expected: str
) -> None:
    # CogVideoX-Fun 6c39567 scripts/train.py:1656
    (tmp_path / "train.sh").write_text(
        f"accelerate launch {launch}--num_processes 8 file_0.py --use_deepspeed\n",
        encoding="utf-8",
    )
    found = severities(tmp_path, "DL102", SAVES_BY_MODE.format(test=test))
    assert found == [expected]


EXPORTS = """
class Keeper:
    def keep(self, accelerator, model, path):
        if accelerator.is_main_process:
            accelerator.save(model.get_base_model(), path)
"""

LAUNCHES = """
from accelerate import Accelerator

from file_0 import Keeper


def launch(accelerator: Accelerator, model, data, keeper: Keeper, offload=False):
    if offload:
        data = accelerator.prepare(data)
    else:
        model, data = accelerator.prepare(model, data)
    for batch in data:
        accelerator.backward(model(batch))
    {keeps}
"""


@pytest.mark.parametrize(
    ("keeps", "expected"),
    [
        ('keeper.keep(accelerator, model, "last")', ["warning"]),
        ('if offload:\n        keeper.keep(accelerator, model, "last")', ["info"]),
    ],
)
def test_a_model_that_is_handed_on_to_another_file(
    keeps: str, expected: list[str], tmp_path: Path
) -> None:
    assert severities(tmp_path, "DL201", EXPORTS, LAUNCHES.format(keeps=keeps)) == expected


PREPARES = """
from accelerate import Accelerator


class Training:
    def __init__(self, model, loader):
        self.accelerator = Accelerator()
        {assigned}

    def generate(self):
        return self.model.generate()

    def train(self):
        for batch in self.loader:
            self.accelerator.backward(self.model(batch))
"""


@pytest.mark.parametrize(
    "assigned",
    [
        "self.model, self.loader = self.accelerator.prepare(model, loader)",
        "(self.model, self.loader) = self.accelerator.prepare(model, loader)",
        "(\n            self.model,\n            self.loader,\n        ) = self.accelerator.prepare(model, loader)",
        "self.model, self.loader = (\n            self.accelerator.prepare(model, loader)\n        )",
    ],
)
def test_attributes_that_are_assigned_over_several_lines(assigned: str, tmp_path: Path) -> None:
    text = PREPARES.format(assigned=assigned)
    assert severities(tmp_path, "DL201", text) == ["warning"]


GROUP = """
import argparse
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

def main(data):
    options = argparse.ArgumentParser().parse_args()
    if options.local_rank == -1:
        gpus = torch.cuda.device_count()
    else:
        dist.init_process_group("nccl")
        gpus = 1
    model = torch.nn.Linear(2, 2)
    {wrapped}
    sampler = DistributedSampler(data)
    for epoch in range(3):
        for batch in DataLoader(data, sampler=sampler):
            model(batch).mean().backward()
    torch.save(model.state_dict(), "last.pt")
"""


@pytest.mark.parametrize(
    ("wrapped", "expected"),
    [
        ("model = torch.nn.DataParallel(model) if gpus > 1 else model", "warning"),
        ("model = torch.nn.parallel.DistributedDataParallel(model)", "error"),
        ("dist.barrier()", "error"),
    ],
)
def test_ranks_that_never_exchange_anything(wrapped: str, expected: str, tmp_path: Path) -> None:
    assert severities(tmp_path, "DL301", GROUP.format(wrapped=wrapped)) == [expected]
    # An order that is the same in each epoch ends no run: thirteen judges of thirteen called it a warning.
    assert severities(tmp_path, "DL403", GROUP.format(wrapped=wrapped)) == ["warning"]


ZERO = """
compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
deepspeed_config:
  zero_stage: {stage}
  {setting}
num_processes: 8
"""


@pytest.mark.parametrize(
    ("stage", "setting", "expected"),
    [
        (2, "zero3_init_flag: true", ["info"]),  # accelerate warns, and switches it off
        (3, "zero3_init_flag: true", []),
        (2, "offload_param_device: cpu", ["warning"]),  # nothing is offloaded, and nothing says so
    ],
)
def test_what_accelerate_puts_right_itself(
    stage: int,
    setting: str,
    expected: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = {"zero.yaml": ZERO.format(stage=stage, setting=setting), "train.py": "import torch\n"}
    assert severities_in("DL802", tmp_path, files, capsys) == expected


NAMED_BY_THE_CLOCK = """
import time
import torch.distributed as dist
from transformers import TrainingArguments

def arguments(name, args):
    dist.init_process_group("nccl")
    folder = f"{name}-{time.strftime('%H-%M-%S')}"
    return TrainingArguments(output_dir=folder, num_train_epochs=3KEYWORDS)
"""


@pytest.mark.parametrize(
    ("keywords", "expected"),
    [
        ("", "warning"),
        (", save_strategy='steps', load_best_model_at_end=True", "error"),
        (", load_best_model_at_end=False", "warning"),
        (", load_best_model_at_end=args.best", "warning"),
        (", fsdp='full_shard auto_wrap'", "error"),
        (", deepspeed='zero3.json'", "error"),
        (", deepspeed=None, fsdp=''", "warning"),
    ],
)
def test_a_name_of_each_rank_is_worse_where_ranks_read_it_back(
    tmp_path: Path, keywords: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("distlint.checking._on_trial", lambda _, finding: finding)
    text = NAMED_BY_THE_CLOCK.replace("KEYWORDS", keywords)
    assert severities(tmp_path, "DL304", text) == [expected]


GATHERS = """
import torch.distributed as dist

def gathered(values):
    parts = [None] * dist.get_world_size()
    dist.all_gather_object(parts, values)
    return parts
"""

ON_MAIN = """
import torch.distributed as dist
{known}
def evaluate(values):
    dist.barrier()
    if dist.get_rank() == 0:
        print(gathered(values))
"""


def test_a_collective_of_another_file_is_less_sure(tmp_path: Path) -> None:
    apart = ON_MAIN.format(known="from file_0 import gathered")
    assert severities(tmp_path, "DL101", GATHERS, apart) == ["warning"]


def test_a_collective_behind_conditions_of_another_file_is_advice(tmp_path: Path) -> None:
    """SwissArmyTransformer 63dc23a sat/model/base_model.py:341: an early return for the arguments of this call."""
    returns = GATHERS.replace(
        "    parts =", "    if values.whole:\n        return values\n    parts ="
    )
    apart = ON_MAIN.format(known="from file_0 import gathered")
    assert severities(tmp_path, "DL101", returns, apart) == ["info"]


def test_ranks_that_leave_in_front_of_another_file_warn(tmp_path: Path) -> None:
    """open_clip's training, of which three programs have a copy: rank 0 returns where its log file exists."""
    returns = GATHERS.replace(
        "    parts =", "    if values.whole:\n        return values\n    parts ="
    )
    apart = ON_MAIN.format(known="from file_0 import gathered").replace(
        "        print(gathered(values))", "        return\n    print(gathered(values))"
    )
    assert severities(tmp_path, "DL101", returns, apart) == ["warning"]


COMPUTED = """
import torch.distributed as dist
from functools import cached_property, lru_cache

class Arguments:
    {decorator}
    def device(self):
        dist.barrier()
        return "cuda"

def finish(arguments: Arguments):
    if dist.get_rank() == 0:
        print(arguments.device{call})

def start(arguments: Arguments):
    dist.barrier()
    {start}
"""


@pytest.mark.parametrize(
    ("decorator", "call", "start", "expected"),
    [
        # LoRA c4593f0 examples/NLU/src/transformers/integrations.py:568: all ranks have computed it long before
        ("@cached_property", "", "return arguments.device", []),
        ("@lru_cache(maxsize=1)", "()", "return arguments.device()", []),
        ("@cached_property", "", "return None", ["error"]),
        ("@lru_cache(maxsize=1)", "()", "return None", ["error"]),
        ("@property", "", "return arguments.device", ["error"]),
        ("", "()", "return arguments.device()", ["error"]),
    ],
)
def test_what_is_computed_once_may_be_there_already(
    tmp_path: Path, decorator: str, call: str, start: str, expected: list[str]
) -> None:
    text = COMPUTED.format(decorator=decorator, call=call, start=start)
    assert severities(tmp_path, "DL101", text) == expected


def test_a_collective_of_the_same_file_is_an_error(tmp_path: Path) -> None:
    assert severities(tmp_path, "DL101", GATHERS + ON_MAIN.format(known="")) == ["error"]


TURNS = """
import torch.distributed as dist
{known}
def exchanged(values, where):
    if dist.get_rank() == 0:
        gathered(values)
    dist.broadcast(where, 0)
    if dist.get_rank() != 0:
        gathered(values)
"""


def test_a_turn_of_another_file_is_less_sure(tmp_path: Path) -> None:
    apart = TURNS.format(known="from file_0 import gathered")
    assert severities(tmp_path, "DL102", GATHERS, apart) == ["warning"]


def test_turns_of_the_same_file_warn_while_the_rule_is_in_preview(tmp_path: Path) -> None:
    assert severities(tmp_path, "DL102", GATHERS + TURNS.format(known="")) == ["warning"]


LEAVES = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def train(net, batches, worst):
    model = DistributedDataParallel(net)
    for batch in batches:
        loss = model(batch)
        {test}
            continue
        loss.backward()
"""


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("if torch.isnan(loss):", "warning"),
        ("bad = not torch.isfinite(loss).item()\n        if bad:", "warning"),
        ("if loss.item() > worst:", "info"),
    ],
)
def test_numbers_that_are_not_finite_differ_between_ranks(
    tmp_path: Path, test: str, expected: str
) -> None:
    assert severities(tmp_path, "DL103", LEAVES.format(test=test)) == [expected]


CONTRASTS = """\
import math

import torch
import torch.distributed as dist
import torch.distributed.nn
from torch import nn
from torch.nn import functional as F


def of_all(mine):
    found = [torch.zeros_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(found, mine)
    return torch.cat(found)


class Contrast(nn.Module):
    def forward(self, images, texts, labels):
        if dist.get_world_size() > 1:
            others = torch.cat(torch.distributed.nn.all_gather(texts))
            logits = images @ others.T
        else:
            logits = images @ texts.T
        return F.cross_entropy(logits, labels)


class Alone(nn.Module):
    def forward(self, images, texts, labels):
        print("images of all", len(of_all(images)))
        return F.cross_entropy(images @ texts.T, labels)


def train(net, loader, optimizer, mine):
    net = nn.parallel.DistributedDataParallel(net)
    contrast, alone = Contrast(), Alone()
    for images, texts, labels in loader:
        seen, said = net(images), net(texts)
        {loss}
        if {test}:
            continue
        optimizer.zero_grad()
        dist.all_reduce(mine)
"""


@pytest.mark.parametrize(
    ("loss", "test", "expected"),
    [
        # microsoft/Cream 4a13c40 TinyCLIP/src/training/train.py:466: not finite on one rank, not finite on all
        ("loss = contrast(seen, said, labels)", "not torch.isfinite(loss)", "info"),
        ("loss = contrast(seen, said, labels) / 2", "math.isnan(loss.item())", "info"),
        ("value = contrast(seen, said, labels).item()", "not math.isfinite(value)", "info"),
        ("loss = (seen @ of_all(said).T).mean()", "torch.isnan(loss)", "info"),
        (
            "loss = contrast(seen, said, labels) + contrast(said, seen, labels)",
            "torch.isnan(loss)",
            "info",
        ),
        ("loss = alone(seen, said, labels)", "not torch.isfinite(loss)", "error"),
        (
            "loss = contrast(seen, said, labels) + alone(seen, said, labels)",
            "torch.isnan(loss)",
            "warning",
        ),
        (
            "total = of_all(said).sum(); loss = (seen @ said.T).mean()",
            "torch.isnan(loss)",
            "warning",
        ),
        ("loss = (seen.gather(1, labels)).mean()", "torch.isnan(loss)", "error"),
        ("loss = (seen @ said.T).mean().item()", "not math.isfinite(loss)", "error"),
    ],
)
def test_what_is_not_finite_in_a_gathered_tensor_is_so_on_all_ranks(
    tmp_path: Path, loss: str, test: str, expected: str
) -> None:
    assert severities(tmp_path, "DL103", CONTRASTS.format(loss=loss, test=test)) == [expected]


ENDS = """
import math
import os
import sys

import torch
from torch.nn.parallel import DistributedDataParallel


def train(net, batches):
    model = DistributedDataParallel(net)
    for batch in batches:
        loss = model(batch).mean()
        {ends}
        loss.backward()


def main(net, batches):
    {calls}


if __name__ == "__main__":
    main(None, [])
"""

UNDER_TEST = "if not math.isfinite(loss.item()):\n            "
CALLS = "train(net, batches)"
CATCHES = "try:\n        train(net, batches)\n    except {kind}:\n        print('stopped')"


@pytest.mark.parametrize(
    ("ends", "calls", "expected"),
    [
        # SatMAE e31c11f engine_pretrain.py:47: torch.distributed.launch ends all ranks when one exits with an error
        ("sys.exit(1)", CALLS, "info"),
        ("sys.exit('not finite')", CALLS, "info"),
        ("os._exit(3)", CALLS, "info"),
        ("os.abort()", CALLS, "info"),
        ("raise SystemExit(1)", CALLS, "info"),
        ("raise ValueError('not finite')", CALLS, "info"),
        # who exits without an error has done its work: the others go on
        ("sys.exit()", CALLS, "warning"),
        ("sys.exit(0)", CALLS, "warning"),
        ("raise SystemExit", CALLS, "warning"),
        ("raise SystemExit(0)", CALLS, "warning"),
        # FasterViT 7ecdb2b fastervit/train.py:805 and 815: `except SystemExit: pass` around it
        ("sys.exit(1)", CATCHES.format(kind="SystemExit"), "warning"),
        ("raise ValueError('not finite')", CATCHES.format(kind="ValueError"), "warning"),
        ("sys.exit(1)", CATCHES.format(kind="ValueError"), "info"),
    ],
)
def test_launchers_end_the_other_ranks_when_one_fails(
    tmp_path: Path, ends: str, calls: str, expected: str
) -> None:
    text = ENDS.format(ends=UNDER_TEST + ends, calls=calls)
    assert severities(tmp_path, "DL103", text) == [expected]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("srun python -u file_0.py --lr 1", "warning"),
        ("srun --kill-on-bad-exit=1 python file_0.py", "info"),
        ("srun -K --ntasks 8 python file_0.py", "info"),
        ("srun torchrun --nproc_per_node 8 file_0.py", "info"),
        ("srun python other.py", "info"),
        ("torchrun --nproc_per_node 8 file_0.py", "info"),
    ],
)
def test_slurm_leaves_the_other_ranks_when_one_fails(
    tmp_path: Path, command: str, expected: str
) -> None:
    (tmp_path / "run.sh").write_text(f"#!/bin/bash\n{command}\n", encoding="utf-8")
    text = ENDS.format(ends=UNDER_TEST + "sys.exit(1)", calls=CALLS)
    assert severities(tmp_path, "DL103", text) == [expected]


def test_an_assertion_ends_the_job(tmp_path: Path) -> None:
    text = ENDS.format(ends="assert math.isfinite(loss.item())", calls=CALLS)
    assert severities(tmp_path, "DL103", text) == ["info"]


OF_A_LIBRARY = """
import timm
from torch.nn.parallel import DistributedDataParallel


def train(name, loader, optimizer):
    model = DistributedDataParallel(timm.create_model(name))
    model.{attribute}
    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        # FasterViT 7ecdb2b fastervit/train.py:845: of a tool for sparsity that is not in the program; timm has no such
        ("enforce_mask()", ["info"]),
        ("mask_of_mine", ["info"]),
        ("default_cfg", ["error"]),
        ("reset_classifier(10)", ["error"]),
        ("generate()", ["info"]),
    ],
)
def test_what_nobody_names_may_be_missing_from_the_model(
    tmp_path: Path, attribute: str, expected: list[str]
) -> None:
    text = OF_A_LIBRARY.format(attribute=attribute)
    assert severities(tmp_path, "DL201", text) == expected


def test_what_the_program_names_is_the_model_s(tmp_path: Path) -> None:
    own = "from torch import nn\n\nclass Sparse(nn.Module):\n    def enforce_mask(self):\n        pass\n"
    text = own + OF_A_LIBRARY.format(attribute="enforce_mask()")
    assert severities(tmp_path, "DL201", text) == ["error"]


@pytest.mark.parametrize(
    ("made", "attribute", "expected"),
    [
        # yolov9 5b1ea9a utils/loss_tal.py:110: nothing says what the model is
        ("name", "mask_of_mine", ["info"]),
        ("name", "generate()", ["error"]),
        ("make_the_model(name)", "mask_of_mine", ["error"]),
        ("BatchTokenizer.from_pretrained(name)", "mask_of_mine", ["info"]),
    ],
)
def test_a_model_of_unknown_make(
    tmp_path: Path, made: str, attribute: str, expected: list[str]
) -> None:
    text = OF_A_LIBRARY.replace("timm.create_model(name)", made).format(attribute=attribute)
    assert severities(tmp_path, "DL201", text) == expected


ENDS_ALONE = """
import os
import torch.distributed as dist

def check(loss):
    {leaves}
    dist.barrier()
"""


@pytest.mark.parametrize(
    ("leaves", "severity"),
    [
        # retinanet-examples 65e6310 odtk/train.py:137; oat c1a074c k8s/hostfile.py:21
        ("if dist.get_rank() == 0:\n        raise RuntimeError('diverged')", "info"),
        ("assert os.environ['LOCAL_RANK'] == '0'", "info"),
        ("if dist.get_rank() == 0:\n        return", "error"),
        ("if dist.get_rank() == 0:\n        raise SystemExit(0)", "error"),
    ],
)
def test_ranks_that_end_with_an_error_end_the_job(
    tmp_path: Path, leaves: str, severity: str
) -> None:
    found = severities(tmp_path, "DL101", ENDS_ALONE.format(leaves=leaves))
    assert found == [severity]


SHARDED_SOMETIMES = """
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

def keep(model, path):
    state = model.state_dict()
    torch.save(state, path)

def main(args, model):
    if args.sharded:
        dist.init_process_group("nccl")
    {wrap}
    train(model)
    {save}
"""


@pytest.mark.parametrize(
    ("wrap", "save", "found"),
    [
        (
            "if args.sharded:\n        model = FSDP(model)",
            'if not args.sharded:\n        keep(model, "last.pt")',
            [],
        ),
        ("model = FSDP(model)", 'keep(model, "last.pt")', ["error"]),
    ],
)
def test_a_state_that_only_some_launches_shard_is_no_evidence(
    wrap: str, save: str, found: list[str], tmp_path: Path
) -> None:
    assert severities(tmp_path, "DL301", SHARDED_SOMETIMES.format(wrap=wrap, save=save)) == found


READS_SETTINGS = """
import json
import sys
import torch
import torch.distributed as dist

def settings(path):
    try:
        return json.load(open(path))
    except (OSError, ValueError) as error:
        {handler}

def main(path):
    dist.init_process_group("gloo")
    found = settings(path)
    dist.barrier()
    return found

main(sys.argv[1])
"""


@pytest.mark.parametrize(
    ("handler", "severity"),
    [
        ("sys.exit(0)", "warning"),
        ("sys.exit(f'{path}: {error}')", "info"),
        ("raise SystemExit(f'{path}: {error}') from error", "info"),
        ("raise SystemExit", "warning"),
    ],
)
def test_a_handler_that_ends_the_job(
    handler: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """diffusers 0.42.1 commands/run.py:368."""
    files = {"train.py": READS_SETTINGS.format(handler=handler)}
    assert severities_in("DL105", tmp_path, files, capsys) == [severity]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("input('Overwrite it? ') == 'n'", "info"),
        ("answer == 'n'", "info"),
        ("os.listdir(folder)", "warning"),
    ],
)
def test_ranks_that_leave_on_a_persons_answer(
    asked: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SparseBEV 024778a train.py:68: who types "n" sees that the run has ended."""
    text = f"""
import os
import torch.distributed as dist

def main(folder):
    if int(os.environ["RANK"]) == 0:
        if os.path.exists(folder):
            answer = input("Go on? ")
            if {asked}:
                exit(0)
    dist.init_process_group("nccl")
"""
    assert severities_in("DL101", tmp_path, {"train.py": text}, capsys) == [expected]


LAUNCHED = """
import argparse, os
import torch, torch.distributed as dist
{first}
parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
args{rest} = parser.{parse}()
torch.cuda.set_device(args.local_rank)
dist.init_process_group("nccl")
"""


@pytest.mark.parametrize(
    ("helper", "severity"),
    [
        ("import torch\n\nif torch._six.PY3:\n    import importlib\n", "info"),
        (
            "import torch\n\ndef text(x):\n    return isinstance(x, torch._six.string_classes)\n",
            "error",
        ),
    ],
)
def test_a_helper_that_torch_2_cannot_import(
    helper: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """scene_graph_benchmark 8e14944 maskrcnn_benchmark/utils/imports.py:4."""
    files = {
        "train.py": LAUNCHED.format(first="import importing", rest="", parse="parse_args"),
        "importing.py": helper,
        "train.sh": "python -m torch.distributed.launch --nproc_per_node=2 train.py\n",
    }
    assert severity in severities_in("DL805", tmp_path, files, capsys)


@pytest.mark.parametrize(
    ("page", "called", "severity"),
    [
        ("torchrun: we use pytorch 1.8.0", "self._sync_params()", "info"),
        ("pip install torch==2.0.0", "self._sync_params()", "error"),
        ("torchrun: we use pytorch 1.12.0", "self._sync_buffers()", "warning"),
        (
            "torchrun: we use pytorch 1.12.0",
            "self._sync_params()\n\n    def _sync_params(self):\n        pass",
            "warning",
        ),
    ],
)
def test_a_ddp_of_its_own_that_torch_2_cannot_run(
    page: str, called: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """soho 95824a8 commons/parallel/distributed.py:43."""
    files = {
        "train.py": LAUNCHED.format(first="import wrapper", rest="", parse="parse_args"),
        "wrapper.py": "from torch.nn.parallel import DistributedDataParallel\n\n\nclass Wrapper(DistributedDataParallel):\n"
        f"    def train_step(self, *inputs):\n        {called}\n",
        "README.md": f"```\n{page}\n```\n",
        "train.sh": "python -m torch.distributed.launch --nproc_per_node=2 train.py\n",
    }
    assert severity in severities_in("DL805", tmp_path, files, capsys)


@pytest.mark.parametrize(
    ("page", "severities"),
    [
        ("Python=3.8\nPytorch=1.6.0", ["info", "info"]),
        ("pip install torch==2.1.0", ["error", "warning"]),
        ("torchrun: we use pytorch 1.6.0", ["info", "warning"]),
    ],
)
def test_a_page_that_requires_a_torch_whose_launcher_passes_an_underscore(
    page: str, severities: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """TCVOM f5fa07a README.md:88. What was tried says less than what is required."""
    files = {
        "train.py": LAUNCHED.format(first="", rest="", parse="parse_args"),
        "README.md": f"```\n{page}\n```\n",
        "train.sh": "python -m torch.distributed.launch --nproc_per_node=2 train.py\n",
    }
    assert sorted(severities_in("DL805", tmp_path, files, capsys)) == severities


@pytest.mark.parametrize(
    ("more", "severity"), [({}, "info"), ({"old/train_teacher.py": "print(1)\n"}, "warning")]
)
def test_a_launch_in_a_folder_of_somebodys_machine(
    more: dict[str, str], severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """EasyNLP a4ee956 examples/knowledge_distillation/meta_student_distill.sh:16."""
    files = {
        "teacher/train_teacher.py": LAUNCHED.format(
            first="", rest=", rest", parse="parse_known_args"
        ).replace("args.local_rank", "int(os.environ['LOCAL_RANK'])"),
        "teach.sh": "cd /workspace/teacher\npython -m torch.distributed.launch --nproc_per_node 2 train_teacher.py\n",
        **more,
    }
    assert severities_in("DL805", tmp_path, files, capsys) == [severity]


def test_a_launch_of_what_somebodys_machine_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """research-contributions 21ed8e5 DAE/Pretrain_full_contrast/scripts/ablation_m20.sh:96."""
    files = {
        "wide/main.py": "print(1)\n",
        "deep/main.py": "print(1)\n",
        "tall/run.sh": "cd /workspace/framework\npython -m torch.distributed.launch --nproc_per_node 2 main.py\n",
    }
    assert severities_in("DL805", tmp_path, files, capsys) == ["info"]


@pytest.mark.parametrize(
    ("pin", "severity"), [("mmcv-full==1.4.8", "warning"), ("mmcv-full==1.7.2", "error")]
)
def test_an_mmcv_that_no_torch_2_takes(
    pin: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """AiT 3527d50 vae/train_depth_vqvae_dist.py:220."""
    files = {
        "train.py": LAUNCHED.format(first="import mmcv", rest="", parse="parse_args"),
        "requirements.txt": f"{pin}\n",
        "README.md": "```\npython -m torch.distributed.launch --nproc_per_node=2 train.py\n```\n",
    }
    assert severity in severities_in("DL805", tmp_path, files, capsys)


@pytest.mark.parametrize(
    ("version", "severities"), [("2.1.0", ["info"]), ("1.6.0", ["warning", "warning"])]
)
def test_a_script_of_mmcv_1_beside_mmcv_2(
    version: str, severities: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """DFormer 814799b mmseg/.mim/tools/train.py:12: the script ends before it parses anything."""
    head = "from mmcv.runner import get_dist_info"
    files = {
        "train.py": LAUNCHED.format(first=head, rest="", parse="parse_args"),
        "README.md": f"```\npip install mmcv=={version}\npip install torch==2.1.2\n```\n",
        "train.sh": "python -m torch.distributed.launch --nproc_per_node=2 train.py\n",
    }
    assert severities_in("DL805", tmp_path, files, capsys) == severities


@pytest.mark.parametrize(
    ("image", "severity"), [("nvidian/pytorch:20.03", "info"), ("nvidia/pytorch:23.05", "error")]
)
def test_the_image_of_a_page(
    image: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """research-contributions 21ed8e5 DiNTS/README.md:20."""
    files = {
        "train.py": LAUNCHED.format(first="", rest="", parse="parse_args"),
        "README.md": f"```\nFROM nvcr.io/{image}-py3\n```\n",
        "train.sh": "python -m torch.distributed.launch --nproc_per_node=2 train.py\n",
    }
    assert severity in severities_in("DL805", tmp_path, files, capsys)


@pytest.mark.parametrize(
    ("saved", "severity"),
    [
        ("# torch.save(state, os.path.join(args.output_dir, 'moments.pt'))", "info"),
        ("torch.save(state, os.path.join(args.output_dir, 'moments.pt'))", "warning"),
    ],
)
def test_a_checkpoint_that_no_line_writes(
    saved: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pretrained-Language-Model 0598f02 JABER-PyTorch/run_alue.py:691."""
    text = f"""
import os
import torch, torch.distributed as dist

def save(args, state):
    if dist.get_rank() == 0:
        print(args.output_dir)
        {saved}

def resume(args, optimizer):
    dist.barrier()
    if os.path.isfile(os.path.join(args.model_path, "moments.pt")):
        optimizer.load_state_dict(torch.load(os.path.join(args.model_path, "moments.pt")))
"""
    assert severities_in("DL505", tmp_path, {"train.py": text}, capsys) == [severity]


SILENCED = """
import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter

def keep_to(chosen, board):
    draw = board.add_scalar

    def add_scalar(*args):
        if {asked}:
            draw(*args)

    board.add_scalar = add_scalar

def train(args, losses):
    dist.init_process_group("nccl")
    board = SummaryWriter(args.folder)
    keep_to({told}, board)
    for step, loss in enumerate(losses):
        board.add_scalar("loss", loss, step)
"""


@pytest.mark.parametrize(
    ("asked", "told", "expected"),
    [
        ("chosen", "args.rank == 0", "info"),
        ("chosen", "args.draws", "warning"),
        ("args", "args.rank == 0", "warning"),
    ],
)
def test_a_writer_that_is_silenced_on_other_ranks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: str, told: str, expected: str
) -> None:
    # SAQ 594e9c7 core/utils.py:240
    files = {"train.py": SILENCED.format(asked=asked, told=told)}
    assert severities_in("DL704", tmp_path, files, capsys) == [expected]


OPENED_BY_A_METHOD = """\
import torch.distributed as dist
import torch.multiprocessing as mp
from tensorboardX import SummaryWriter
from torch.nn.parallel import DistributedDataParallel as DDP

class Meter:
    def reset(self):
        self.total = 0

class Curves:
    def __init__(self, folder):
        self.reset(folder)

    def reset(self, folder):
        self.board = SummaryWriter(folder)

    def draw(self, loss):
        self.board.add_scalar("loss", loss)

def worker(rank, args):
    dist.init_process_group("nccl", rank=rank, world_size=args.ranks)
    net = DDP(args.net)
    curves = Curves(args.folder){who}
    for batch in args.batches:
        loss = net(batch).mean()
        loss.backward()
        if curves:
            curves.draw(loss)

if __name__ == "__main__":
    mp.spawn(worker, args=(args,), nprocs=args.ranks)
"""


@pytest.mark.parametrize(("who", "expected"), [("", ["warning"]), (" if rank == 0 else None", [])])
def test_a_writer_that_a_constructor_opens_through_a_method_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], who: str, expected: list[str]
) -> None:
    # FeatureDecorrelationSSL 408bd9e tools/logger.py:21
    text = OPENED_BY_A_METHOD.format(who=who)
    assert severities_in("DL704", tmp_path, {"train.py": text}, capsys) == expected


@pytest.mark.parametrize(
    ("rest", "severity"),
    [
        ("from engines import Engine\nEngine()\n", "info"),
        ("dist.init_process_group('nccl')\n", "error"),
    ],
)
def test_a_port_in_files_that_make_no_group(
    rest: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """TorchSemiSeg 5e0c29c exp.voc/voc8.res50v3+.CPS/train.py:42."""
    text = (
        f'import os\nimport torch.distributed as dist\nos.environ["MASTER_PORT"] = "169711"\n{rest}'
    )
    assert severities_in("DL806", tmp_path, {"train.py": text}, capsys) == [severity]


CHECKPOINT = """
import os
import torch
import torch.distributed as dist

def put(state, path):
    torch.save(state, path)

def main(model, args, epochs):
    dist.init_process_group("nccl")
    path = f"{args.folder}/last.pt"
    if os.path.exists(path):
        args.resume = path
    if args.resume:
        model.load_state_dict(torch.load(args.resume))
    for epoch in range(epochs):
        dist.barrier()
        put(model.state_dict(), path)
"""


@pytest.mark.parametrize(
    ("below", "expected"),
    [
        ("", "warning"),
        ("        model.load_state_dict(torch.load(args.resume))\n", "error"),
        ("    model.load_state_dict(torch.load(path))\n", "error"),
    ],
)
def test_a_checkpoint_that_is_read_in_front_of_the_loop_alone(
    tmp_path: Path, below: str, expected: str
) -> None:
    assert severities(tmp_path, "DL301", CHECKPOINT + below) == [expected]


LEFT = """
import torch
import torch.distributed as dist

def main(model, batches):
    dist.init_process_group("nccl")
    for batch in batches:
        dist.barrier()
        try:
            model(batch)
        {then}
            torch.save(model.state_dict(), "left.pt")
"""


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        # SummerLM 99bbe51 main_distributed.py:247: who has failed comes there
        ("except RuntimeError:", "warning"),
        ("finally:", "error"),
    ],
)
def test_a_checkpoint_of_a_rank_that_failed(tmp_path: Path, then: str, expected: str) -> None:
    assert severities(tmp_path, "DL301", LEFT.format(then=then)) == [expected]


AVERAGED = """
import copy
import torch

class Averaged(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.module = {kept}

    def forward(self, batch):
        return self.module(batch)

def bare(model):
    return model.module if hasattr(model, "module") else model

def keep(model, path):
    average = torch.compile(Averaged(model))
    torch.save(bare(average).state_dict(), path)
"""


@pytest.mark.parametrize(
    ("kept", "expected"),
    [("copy.deepcopy(model)", "info"), ("torch.nn.Linear(4, 4)", "warning")],
)
def test_what_keeps_a_copy_is_unwrapped(tmp_path: Path, kept: str, expected: str) -> None:
    # VisRAG f35d232 timm_modified/timm/utils/model_ema.py:109
    assert severities(tmp_path, "DL205", AVERAGED.format(kept=kept)) == [expected]


TOLD = """
import torch
import torch.distributed as dist

def send(state, device):
    if dist.get_rank() == 0:
        if not isinstance(state, torch.Tensor) or state.dim() == 0:
            return state
        tensor = state.to(device)
    else:
        OTHERS
        tensor = torch.zeros(state.shape, device=device)
    dist.broadcast(tensor, src=0)
    return tensor
"""


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ("if isinstance(state, torch.Tensor): return state", "info"),
        ("assert isinstance(state, tuple)", "warning"),
    ],
)
def test_ranks_that_leave_by_one_value(others: str, expected: str, tmp_path: Path) -> None:
    # cosmos-predict1 cosmos_predict1/utils/fsdp_optim_fix.py:82: rank 0 has told the others what it leaves with
    assert severities(tmp_path, "DL101", TOLD.replace("OTHERS", others)) == [expected]


LOADED_BY_NAME = """
import os
import torch, torch.distributed as dist

def save(net, folder, step):
    if dist.get_rank() == 0:
        {saved}

def start(net, folder, given):
    dist.barrier()
    net.load_state_dict(torch.load({path}))
"""


@pytest.mark.parametrize(
    ("saved", "path", "severity"),
    [
        ("torch.save(net.state_dict(), given)", "f'{folder}/edges.pth'", "info"),
        ("torch.save(net.state_dict(), f'{folder}/edges.pth')", "f'{folder}/edges.pth'", "warning"),
        ("torch.save(net.state_dict(), f'{folder}/{step}.pth')", "given", "warning"),
        (
            "torch.save({k: v.cpu() for k, v in net.state_dict().items()}, f'{folder}/{step}.pth')",
            "given",
            "info",
        ),
    ],
)
def test_a_checkpoint_that_nothing_writes_from_a_gpu(
    saved: str, path: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ControlAR 87e32e9 condition/hed.py:65; DialoGPT 61194e4 gpt2_training/train_utils.py:29."""
    text = LOADED_BY_NAME.format(saved=saved, path=path)
    assert severities_in("DL505", tmp_path, {"train.py": text}, capsys) == [severity]


SET_LATE = """
import os
import torch

def start(local_rank):
    if torch.cuda.is_available():
        if local_rank != -1:
            torch.cuda.set_device({device})
        os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
"""


@pytest.mark.parametrize(("device", "severity"), [("local_rank", "info"), ("0", "warning")])
def test_devices_that_are_named_below_the_one_that_is_taken(
    device: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """DFC2025 45c5b5b train.py:157."""
    files = {"train.py": SET_LATE.format(device=device)}
    assert severities_in("DL502", tmp_path, files, capsys) == [severity]


COUNTED = """
import torch
import torch.distributed as dist

def start(port, rank):
    dist.init_process_group("nccl", {address}world_size=torch.cuda.device_count(), rank=rank)
"""


@pytest.mark.parametrize(
    ("address", "severity"), [('init_method=f"tcp://127.0.0.1:{port}", ', "warning"), ("", "error")]
)
def test_a_count_of_devices_for_a_group_of_one_machine(
    address: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """autodeeplab 065cf99 train_distributed.py:37."""
    files = {"train.py": COUNTED.format(address=address)}
    assert severities_in("DL508", tmp_path, files, capsys) == [severity]


HANDED_ON = """
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.tensorboard import SummaryWriter

def train(net, batches, folder, num_gpus):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    net = DDP(net)
    writer = SummaryWriter(folder)
    for batch in batches:
        if num_gpus > 1:
            {several}
        else:
            {one}
    writer.close()
"""


@pytest.mark.parametrize(
    ("several", "one", "severity"),
    [
        ("if rank == 0: net.module.draw(writer)", "net.draw(writer)", "info"),
        ("net.module.draw(writer)", "net.draw(writer)", "warning"),
        ("if rank == 0: writer.add_scalar('loss', 0)", "writer.add_scalar('loss', 0)", "info"),
        ("writer.add_scalar('loss', 0)", "writer.add_scalar('loss', 0)", "warning"),
        ("if rank == 0: keep(writer)", "kept = writer", "warning"),
    ],
)
def test_a_writer_that_one_rank_draws_with_in_each_arm(
    several: str, one: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Superpoints_Registration 1713a3c src/trainer.py:174, ReViT 2188c96 epoch.py:161."""
    files = {"train.py": HANDED_ON.format(several=several, one=one)}
    assert severities_in("DL704", tmp_path, files, capsys) == [severity]


NEVER_TESTED = """
import torch
import torch.distributed as dist


def main(args, model):
    dist.init_process_group("nccl")
    if args.resume:
        {above}
        model.load_state_dict(torch.load(args.path))
    dist.barrier()
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), args.path)
"""


@pytest.mark.parametrize(
    ("above", "expected"),
    [("never_tested", "info"), ("args", "warning"), ("print('resuming')", "warning")],
)
def test_nothing_runs_behind_a_bare_name_that_nothing_binds(
    tmp_path: Path, above: str, expected: str
) -> None:
    assert severities(tmp_path, "DL505", NEVER_TESTED.format(above=above)) == [expected]


TASKS = """
import os
import time
from datetime import datetime

{imports}


def main():
    {starts}
    rank = int(os.environ["SLURM_PROCID"])
    with open(datetime.now().strftime("%H%M%S") + ".txt", "w") as report:
        report.write("done")
    print(rank)


main()
"""


@pytest.mark.parametrize(
    ("imports", "starts", "expected"),
    [
        ("import torch.distributed as dist", 'dist.init_process_group("nccl")', "warning"),
        ("import torch", "torch.cuda.set_device(0)", "info"),
    ],
)
def test_a_name_of_each_task_that_trains_for_itself(
    tmp_path: Path, imports: str, starts: str, expected: str
) -> None:
    (tmp_path / "run.sh").write_text("srun -n 4 python file_0.py\n", encoding="utf-8")
    text = TASKS.format(imports=imports, starts=starts)
    assert severities(tmp_path, "DL304", text) == [expected]


UNZIPS = """
import os
import zipfile
import torch.distributed as dist


def unzip_all(folder):
    dist.barrier()
    for root, _, names in os.walk(folder):
        for name in names:
            with zipfile.ZipFile({opened}) as archive:
                archive.extractall(folder)
"""


@pytest.mark.parametrize(
    ("opened", "expected"), [("folder", "info"), ("os.path.join(root, name)", "warning")]
)
def test_a_folder_cannot_be_opened_as_a_file(tmp_path: Path, opened: str, expected: str) -> None:
    assert severities(tmp_path, "DL301", UNZIPS.format(opened=opened)) == [expected]


TRACKED = """
import wandb
from transformers import Trainer

def main():
    wandb.init(project="llm")
    trainer = Trainer(model=build(), args={args})
    trainer.train()


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("args", "launch", "severity"),
    [
        ("options()", "python train.py", "info"),
        ("options()", "python train.py\ntorchrun --nproc_per_node=2 train.py", "warning"),
        ("options(local_rank)", "python train.py", "warning"),
        ("options()", "python other.py", "warning"),
    ],
)
def test_a_tracker_of_a_script_that_python_alone_starts(
    args: str, launch: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """gpt-training-rocm-rx9700 d602d5a train_single_gpu.py:210."""
    files = {
        "train.py": TRACKED.format(args=args),
        "run.sh": f"{launch}\ntorchrun --nproc_per_node=2 several.py\n",
        "several.py": "print(1)\n",
    }
    assert severities_in("DL704", tmp_path, files, capsys) == [severity]


@pytest.mark.parametrize(
    ("given", "severity"),
    [('--num_processes "$GPUS"', "info"), ("--mixed_precision bf16", "warning")],
)
def test_a_number_of_processes_that_is_left_to_the_launch(
    given: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Marg-Li-CoT 8e6898f accelerate_configs/accelerate_ds.yaml:18."""
    files = {
        "open.yaml": "distributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: 0\n",
        "train.py": "print(1)\n",
        "run.sh": f"accelerate launch {given} --config_file open.yaml train.py\n",
    }
    assert severities_in("DL801", tmp_path, files, capsys) == [severity]


WITHOUT_A_GROUP = """
import torch
import ranks
from torch.utils.tensorboard import SummaryWriter

def main(model, data):
    {first}
    writer = SummaryWriter("runs")
    for step, batch in enumerate(data):
        loss = model(batch).mean()
        writer.add_scalar("loss", ranks.mean_of_all(loss), step)


if __name__ == "__main__":
    main(torch.nn.Linear(4, 4), [])
"""

RANKS = """
import torch.distributed as dist

def start():
    dist.init_process_group("nccl")

def mean_of_all(x):
    dist.all_reduce(x)
    return x
"""


@pytest.mark.parametrize(
    ("first", "severity"),
    [
        ("print(model)", "info"),
        ("ranks.start()", "warning"),
        ("begin = ranks.start; begin()", "warning"),
    ],
)
def test_a_tracker_of_a_script_that_leaves_the_group_out(
    first: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """DAMAE-GPU 48a26ad main_pretrain.py:136, and FINETUNE.md:115 starts several."""
    files = {
        "train.py": WITHOUT_A_GROUP.format(first=first),
        "ranks.py": RANKS,
        "TRAIN.md": "```\npython -m torch.distributed.launch --nproc_per_node=8 train.py\n```\n",
    }
    assert severities_in("DL704", tmp_path, files, capsys) == [severity]


OFFLOADED = """
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullStateDictConfig, FullyShardedDataParallel as FSDP, StateDictType

policy = FullStateDictConfig(offload_to_cpu={offload}, rank0_only=True)

def save(model, path):
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, policy):
        whole = model.state_dict()
    if dist.get_rank() == 0:
        torch.save(whole, path)

def load(model, path):
    dist.barrier()
    state = torch.load(path)
    model.load_state_dict(state)
    {more}
"""


@pytest.mark.parametrize(
    ("offload", "more", "severity"),
    [
        ("True", "return model", "info"),
        ("False", "return model", "warning"),
        ("True", "torch.save(model.state_dict(), path)", "warning"),
    ],
)
def test_a_state_that_fsdp_puts_into_the_hosts_memory(
    offload: str, more: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """pytorch-trainer 7776242 utils/model_checkpointing/fsdp_handler.py:52."""
    files = {
        "train.py": OFFLOADED.format(offload=offload, more=more),
        "other.py": "import torch\n\ndef save(net):\n    torch.save(net.state_dict(), 'net.pt')\n",
    }
    assert severities_in("DL505", tmp_path, files, capsys) == [severity]


FSDP = "fsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("distributed_type: NO\nnum_processes: 1\n", ["info"]),
        ("distributed_type: NO\nnum_processes: 4\n", ["warning"]),
        (f"distributed_type: FSDP\nnum_processes: 4\n{FSDP}  fsdp: full_shard\n", ["info"]),
        (
            f"distributed_type: FSDP\nnum_processes: 4\n{FSDP}  fsdp: shard_grad_op\n",
            ["warning"],
        ),
        ("distributed_type: XLA\nnum_processes: 4\nmixed_precision: no\n", []),
        ("distributed_type: MULTI_GPU\nnum_processes: 4\nmixed_precision: no\n", ["error"]),
    ],
)
def test_what_of_a_configuration_changes_nothing(
    text: str, expected: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """llm-recsys-research 2365cc9 configs/accelerate; LLaDOU 97ff0cc configs/accelerate/fsdp.yaml:5."""
    files = {
        "accelerate.yaml": f"compute_environment: LOCAL_MACHINE\n{text}",
        "train.py": "print(1)\n",
    }
    assert severities_in("DL802", tmp_path, files, capsys) == expected


@pytest.mark.parametrize(
    ("key", "severity"), [("data_parallel_size", "info"), ("model_parallel_size", "warning")]
)
def test_a_key_of_what_deepspeed_counts_itself(
    key: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ray_train_tensor_parallel fe9b45b autotp_strategy.py:276."""
    known = '"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}'
    files = {"ds.json": f'{{{known}, "{key}": 8}}\n', "train.py": "print(1)\n"}
    assert severities_in("DL802", tmp_path, files, capsys) == [severity]
