"""`fix-style`: the runtime's calls where they can run, else what the code at the place has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Program

HEAD = """\
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def main(path):
"""

MADE = "    dist.init_process_group('gloo')\n"


def lines(text: str) -> list[str]:
    """What a diff adds and takes away, without the names of files."""
    return [
        line for line in text.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]


def fixed(distlint: Program, root: Path, body: str, *options: str, head: str = HEAD) -> list[str]:
    """The lines that fixing a script with this body changes."""
    (root / "train.py").write_text(
        head + body + '\n\nif __name__ == "__main__":\n    main("out")\n'
    )
    return lines(distlint("fix", "--unsafe-fixes", *options).out)


NATIVE = ("--fix-style", "native")
RUNTIME = ("--fix-style", "runtime")

SAVES = MADE + "    rank = dist.get_rank()\n    torch.save(torch.rand(3), path)\n    print(rank)\n"
UNWRAPS = MADE + "    model = DDP(torch.nn.Linear(2, 2))\n    print(model.config)\n"
CHOOSES = MADE + (
    "    local_rank = int(os.environ['LOCAL_RANK'])\n"
    "    torch.cuda.set_device(dist.get_rank())\n    print(local_rank)\n"
)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        pytest.param(
            SAVES,
            [
                "-    torch.save(torch.rand(3), path)",
                "+    if rank == 0:",
                "+        torch.save(torch.rand(3), path)",
            ],
            id="save under the file's own rank, at the end",
        ),
        pytest.param(
            SAVES + "    print(torch.load(path))\n",
            [
                "-    torch.save(torch.rand(3), path)",
                "+    if rank == 0:",
                "+        torch.save(torch.rand(3), path)",
                "+    dist.barrier()",
            ],
            id="save under the file's own rank, then a barrier",
        ),
        pytest.param(
            MADE + "    torch.save(torch.rand(3), path)\n    dist.barrier()\n",
            [
                "-    torch.save(torch.rand(3), path)",
                "+    if dist.get_rank() == 0:",
                "+        torch.save(torch.rand(3), path)",
            ],
            id="no second barrier",
        ),
        pytest.param(
            UNWRAPS,
            ["-    print(model.config)", "+    print(model.module.config)"],
            id="module of what is DDP on every path",
        ),
        pytest.param(
            MADE + "    model = torch.nn.Linear(2, 2)\n    model = DDP(model)\n"
            "    print(model.config)\n",
            ["-    print(model.config)", "+    print(model.module.config)"],
            id="module under the name that the model had",
        ),
        pytest.param(
            MADE + "    model = torch.nn.Linear(2, 2)\n    if os.environ.get('DDP'):\n"
            "        model = DDP(model)\n    print(model.config)\n",
            [],
            id="no module of what may be bare",
        ),
    ],
)
def test_native_forms(distlint: Program, tmp_path: Path, body: str, wanted: list[str]) -> None:
    assert fixed(distlint, tmp_path, body, *NATIVE) == wanted


def test_the_runtime_where_it_is_wanted(distlint: Program, tmp_path: Path) -> None:
    assert "+    save(torch.rand(3), path)" in fixed(distlint, tmp_path, SAVES, *RUNTIME)
    maybe = MADE + "    model = torch.nn.Linear(2, 2)\n    if os.environ.get('DDP'):\n"
    maybe += "        model = DDP(model)\n    print(model.config)\n"
    assert "+    print(unwrap(model).config)" in fixed(distlint, tmp_path, maybe, *RUNTIME)


def test_the_way_into_ddp_is_taken_over_in_every_style(distlint: Program, tmp_path: Path) -> None:
    written = ["-    print(model.config)", "+    print(model.module.config)"]
    assert fixed(distlint, tmp_path, UNWRAPS, *RUNTIME) == written


@pytest.mark.parametrize("style", [NATIVE, RUNTIME])
def test_a_local_rank_in_use_in_every_style(
    distlint: Program, tmp_path: Path, style: tuple[str, ...]
) -> None:
    assert fixed(distlint, tmp_path, CHOOSES, *style) == [
        "-    torch.cuda.set_device(dist.get_rank())",
        "+    torch.cuda.set_device(local_rank)",
    ]


ACCELERATE = """\
import torch
from accelerate import Accelerator


def main(path):
    accelerator = Accelerator()
    model = accelerator.prepare(torch.nn.Linear(2, 2))
"""


def test_what_an_accelerator_has(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("accelerate launch --num_processes 2 train.py\n")
    body = "    print(model.config)\n    accelerator.wait_for_everyone()\n"
    assert fixed(distlint, tmp_path, body, *NATIVE, head=ACCELERATE) == [
        "-    print(model.config)",
        "+    print(accelerator.unwrap_model(model).config)",
    ]
    body = "    torch.save(torch.rand(3), path)\n    accelerator.wait_for_everyone()\n"
    assert fixed(distlint, tmp_path, body, *NATIVE, head=ACCELERATE) == [
        "-    torch.save(torch.rand(3), path)",
        "+    if accelerator.is_main_process:",
        "+        torch.save(torch.rand(3), path)",
    ]


AGREES = """\
import torch
from accelerate import Accelerator


def main(path):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(torch.nn.Linear(2, 2), [torch.ones(1, 2)])
    for batch in loader:
        loss = model(batch).mean()
"""


def test_an_answer_of_all_through_the_accelerator(distlint: Program, tmp_path: Path) -> None:
    body = "        if torch.isnan(loss):\n            continue\n        print(accelerator.gather(loss))\n"
    agreed = "accelerator.gather(torch.tensor([bool({})], device=accelerator.device))"
    assert fixed(distlint, tmp_path, body, *NATIVE, head=AGREES) == [
        "-        if torch.isnan(loss):",
        f"+        if {agreed.format('torch.isnan(loss)')}.any():",
    ]
    body = (
        "        try:\n            note = open(path).read()\n        except OSError:\n            continue\n"
        "        print(accelerator.gather(loss), note)\n"
    )
    written = fixed(distlint, tmp_path, body, *NATIVE, "--preview", head=AGREES)
    assert f"+        if {agreed.format('failed')}.any():" in written


STOPS = MADE + "    for step in range(10):\n        dist.all_reduce(torch.ones(1))\n"
BY_CLOCK = STOPS + "        if time.perf_counter() > 3600:\n            break\n"
FAILS = STOPS + (
    "        try:\n            print(open(path).read())\n        except OSError:\n            break\n"
    "        dist.barrier()\n"
)


def test_an_answer_of_all_by_the_process_group(distlint: Program, tmp_path: Path) -> None:
    head = HEAD.replace("import os\n", "import os\nimport time\n")
    asked = [
        "+        answers = [None] * dist.get_world_size()",
        "+        dist.all_gather_object(answers, {})",
        "+        if any(answers):",
    ]
    assert fixed(distlint, tmp_path, BY_CLOCK, *NATIVE, head=head) == [
        "-        if time.perf_counter() > 3600:",
        *(line.format("bool(time.perf_counter() > 3600)") for line in asked),
    ]
    assert fixed(distlint, tmp_path, FAILS, *NATIVE, head=head) == [
        "+        failed = False",
        "+            failed = True",
        *(line.format("failed") for line in asked),
    ]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            STOPS + "        if step > 20:\n            pass\n"
            "        elif time.perf_counter() > 3600:\n            break\n",
            id="elif: nothing can stand in front of it",
        ),
        pytest.param(
            STOPS.replace("for step in range(10)", "while time.perf_counter() < 3600"),
            id="the test of a loop is asked again each turn",
        ),
        pytest.param(
            BY_CLOCK.replace("'gloo'", "'nccl'"), id="over NCCL without a device of its own"
        ),
        pytest.param(
            BY_CLOCK.replace(MADE, "    dist.get_rank = print\n"), id="no group on every way"
        ),
        pytest.param(
            BY_CLOCK + "    torch.cuda.set_device(dist.get_rank())\n",
            id="ranks choose their devices below",
        ),
    ],
)
def test_no_answer_of_all_where_it_cannot_be_asked(
    distlint: Program, tmp_path: Path, body: str
) -> None:
    head = HEAD.replace("import os\n", "import os\nimport time\n")
    assert fixed(distlint, tmp_path, body, *NATIVE, head=head) == []


@pytest.mark.parametrize(
    ("launch", "spawns", "wanted"),
    [
        ("torchrun --nnodes 2 --nproc_per_node 8 train.py", "", True),
        ("accelerate launch --multi_gpu train.py", "", True),
        ("python train.py", "", False),
        ("torchrun --nproc_per_node 8 other.py", "", False),
        ("torchrun --nproc_per_node 8 train.py", "    torch.multiprocessing.spawn(print)\n", False),
    ],
)
def test_the_local_rank_of_the_launcher(
    distlint: Program, tmp_path: Path, launch: str, spawns: str, *, wanted: bool
) -> None:
    (tmp_path / "run.sh").write_text(f"{launch}\n")
    body = MADE + "    torch.cuda.set_device(dist.get_rank())\n" + spawns
    assert (
        fixed(distlint, tmp_path, body, *NATIVE)
        == [
            "-    torch.cuda.set_device(dist.get_rank())",
            '+    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))',
        ]
        * wanted
    )


WITH_NONE = """\
import os

import torch
import torch.distributed as dist


def start():
    local = int(os.getenv("LOCAL_RANK", -1))
{made}
    torch.cuda.set_device(dist.get_rank())
    print(local)


start()
"""


@pytest.mark.parametrize(
    ("made", "written"),
    [
        ("    dist.init_process_group('nccl')", "local"),
        (
            "    if local != -1:\n        dist.init_process_group('nccl')",
            'int(os.environ.get("LOCAL_RANK", 0))',
        ),
        ("    world = os.environ['WORLD_SIZE']", 'int(os.environ.get("LOCAL_RANK", 0))'),
        ("    world = int(os.environ['WORLD_SIZE'])", 'int(os.environ["LOCAL_RANK"])'),
    ],
)
def test_a_local_rank_without_a_launcher_is_none(
    distlint: Program, tmp_path: Path, made: str, written: str
) -> None:
    (tmp_path / "run.sh").write_text("torchrun --nnodes 2 --nproc_per_node 8 train.py\n")
    (tmp_path / "train.py").write_text(WITH_NONE.format(made=made))
    assert lines(distlint("fix", *NATIVE, "--unsafe-fixes", "--select", "DL504").out) == [
        "-    torch.cuda.set_device(dist.get_rank())",
        f"+    torch.cuda.set_device({written})",
    ]


WITH_OPTION = """\
import argparse

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int{default})


def main(path):
    args, others = parser.parse_known_args()
    args = {again}
    torch.cuda.set_device(dist.get_rank())
    print(path, args.local_rank, others)


main("out")
"""
WITH_PARAMETER = """\
import torch
import torch.distributed as dist


def main(local_rank{default}):
    torch.cuda.set_device(dist.get_rank())
    print(local_rank)


main(0)
"""
WITH_ATTRIBUTE = """\
import torch
import torch.distributed as dist


class Trainer:
    def __init__(self, config):
        self.config = config
        local_rank = {own}
        self.local_rank = local_rank

    def start(self):
        torch.cuda.set_device(dist.get_rank())

    def moved(self, model):
        return model.to({kept})


Trainer(None).start()
"""
READ_ELSEWHERE = """\
import os

import torch
import torch.distributed as dist


def start():
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_rank())


def main(model):
    start()
    return model.to(int(os.environ{read}))


main(None)
"""


ASKED_FIRST = (
    'return model.to(int(os.environ["LOCAL_RANK"]))',
    'if "RANK" in os.environ:\n        gpu = int(os.environ["LOCAL_RANK"])\n    else:\n        gpu = 0\n'
    "    return model.to(gpu)",
)
"""HIPT 780fafa 1-Hierarchical-Pretraining/utils.py:470, which is started by Slurm or as one process as well."""
UNREAD = ("args.local_rank", "args.rank")
"""HIPT 780fafa 1-Hierarchical-Pretraining/eval_image_retrieval.py:97: an option that is left over."""


@pytest.mark.parametrize(
    ("code", "written"),
    [
        (WITH_OPTION.format(default="", again="parser.parse_args()"), "args.local_rank"),
        (WITH_OPTION.format(default="", again="None"), ""),
        (WITH_OPTION.format(default=", default=-1", again="parser.parse_args()"), ""),
        (WITH_PARAMETER.format(default=""), "local_rank"),
        (WITH_PARAMETER.format(default="=-1"), ""),
        (WITH_ATTRIBUTE.format(kept="self.config.local_rank", own=0), "self.config.local_rank"),
        (WITH_ATTRIBUTE.format(kept="self.config.device", own=0), ""),
        (WITH_ATTRIBUTE.format(kept="self.local_rank", own="config.gpu"), "self.local_rank"),
        (WITH_ATTRIBUTE.format(kept="self.local_rank", own="dist.get_rank()"), ""),
        (READ_ELSEWHERE.format(read='["LOCAL_RANK"]'), 'int(os.environ["LOCAL_RANK"])'),
        (READ_ELSEWHERE.format(read='["LOCAL_RANK"]') + "torch.multiprocessing.spawn(main)\n", ""),
        (READ_ELSEWHERE.format(read='["RANK"]'), ""),
        (READ_ELSEWHERE.format(read='["LOCAL_RANK"]').replace(*ASKED_FIRST), ""),
        (WITH_OPTION.format(default="", again="parser.parse_args()").replace(*UNREAD), ""),
    ],
)
def test_a_local_rank_by_its_name(
    distlint: Program, tmp_path: Path, code: str, written: str
) -> None:
    (tmp_path / "train.py").write_text(code)
    changed = lines(distlint("fix", *NATIVE, "--unsafe-fixes", "--select", "DL504").out)
    wanted = [
        "-    torch.cuda.set_device(dist.get_rank())",
        f"+    torch.cuda.set_device({written})",
    ]
    assert [line.replace("        ", "    ") for line in changed] == (wanted if written else [])


MEETS_NEXT = """\
import torch
import torch.distributed as dist


def told(total, path, backend="{backend}"):
    try:
        print(open(path).read())
    except OSError:
        return None
{behind}
    return total
"""


@pytest.mark.parametrize(
    ("behind", "backend", "wanted"),
    [
        ("    dist.all_reduce(total)", "gloo", True),
        ("    print(total)\n    dist.all_reduce(total)", "gloo", True),
        ("    if dist.is_initialized():\n        dist.all_reduce(total)", "gloo", False),
        ("    dist.all_reduce(total)", "nccl", False),
    ],
)
def test_the_group_of_what_follows_asks_all(
    distlint: Program, tmp_path: Path, behind: str, backend: str, *, wanted: bool
) -> None:
    (tmp_path / "train.py").write_text(MEETS_NEXT.format(behind=behind, backend=backend))
    changed = lines(distlint("fix", *NATIVE, "--unsafe-fixes", "--select", "DL105").out)
    assert ("+    dist.all_gather_object(answers, failed)" in changed) is wanted


def test_a_breakpoint_is_taken_out(distlint: Program, tmp_path: Path) -> None:
    body = MADE + "    print(path)\n    breakpoint()\n    dist.barrier()\n    print(path)\n"
    assert fixed(distlint, tmp_path, body, *NATIVE, "--preview") == ["-    breakpoint()"]
    assert lines(distlint("fix", *NATIVE, "--preview").out) == []  # who debugs misses it
    written = fixed(distlint, tmp_path, body, *RUNTIME, "--preview")
    assert "+    distlint_breakpoint()" in written


def test_rank_0_of_a_trainer_of_lightning(distlint: Program, tmp_path: Path) -> None:
    head = "import torch\nimport pytorch_lightning as pl\n\n\ndef main(path):\n"
    body = (
        "    trainer = pl.Trainer(devices=2, strategy='ddp')\n    trainer.fit(torch.nn.Linear(2, 2))\n"
        "    torch.save(torch.rand(3), path)\n"
    )
    assert fixed(distlint, tmp_path, body, *NATIVE, head=head) == [
        "-    torch.save(torch.rand(3), path)",
        "+    if trainer.is_global_zero:",
        "+        torch.save(torch.rand(3), path)",
    ]


def test_without_a_native_form_the_fix_is_shown_with_what_to_do(
    distlint: Program, tmp_path: Path
) -> None:
    (tmp_path / "run.sh").write_text("torchrun --nproc_per_node 2 train.py\n")
    body = "    print(os.environ['LOCAL_RANK'])\n    torch.save(torch.rand(3), path)\n    dist.barrier(group=path)\n"
    assert fixed(distlint, tmp_path, body, *NATIVE) == []
    said = distlint("check", "--config", str(_native_settings(tmp_path))).out
    assert "needs distlint where the code runs" in " ".join(said.split())
    assert "[fix]" not in said


def _native_settings(root: Path) -> Path:
    path = root / "native.toml"
    path.write_text('fix-style = "native"\n')
    return path


@pytest.mark.parametrize("style", [NATIVE, RUNTIME])
def test_no_fix_in_front_of_the_process_group(
    distlint: Program, tmp_path: Path, style: tuple[str, ...]
) -> None:
    """DeepSpeedExamples training/gan/gan_deepspeed_train.py:42: the helper runs, then the group is made."""
    head = (
        "import torch\nimport torch.distributed as dist\n\n\ndef write(path):\n"
        "    torch.save(torch.rand(3), path)\n\n\ndef main(path):\n"
    )
    body = "    write(path)\n    dist.init_process_group('gloo')\n    dist.barrier()\n"
    assert fixed(distlint, tmp_path, body, *style, head=head) == []
    turned = "    dist.init_process_group('gloo')\n    write(path)\n    dist.barrier()\n"
    assert fixed(distlint, tmp_path, turned, *style, head=head) != []


def test_auto_asks_whether_the_runtime_is_there(tmp_path: Path) -> None:
    """The tests run beside torch; a process that cannot find it stands for a hook's environment."""
    (tmp_path / "train.py").write_text(
        HEAD + SAVES + '\n\nif __name__ == "__main__":\n    main("")\n'
    )
    program = (
        "import importlib.util, sys\n"
        "found = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda n, *a: None if n == 'torch' else found(n, *a)\n"
        "from distlint.cli import main\n"
        "main(['fix'], prog_name='distlint')\n"
    )

    def said() -> str:
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": ""},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout

    assert "+    if rank == 0:" in said()
    (tmp_path / "requirements-dev.txt").write_text("distlint\n")
    assert "+    if rank == 0:" in said()
    (tmp_path / "requirements.txt").write_text("torch\ndistlint>=0.1  # fixes import it\n")
    assert "+    save(torch.rand(3), path)" in said()
    (tmp_path / "requirements.txt").unlink()
    (tmp_path / "distlint.toml").write_text('runtime-module = "own.distributed"\n')
    assert "+    if rank == 0:" in said()
    (tmp_path / "own/distributed").mkdir(parents=True)
    (tmp_path / "own/distributed/__init__.py").write_text("")
    assert "+from own.distributed import save" in said()


@pytest.mark.parametrize(
    ("file", "text", "runtime"),
    [
        ("environment.yml", "dependencies:\n  - python=3.8.15\n  - pytorch=1.13\n", False),
        ("environment.yml", "dependencies:\n  - python=3.11\n", True),
        (".python-version", "3.9\n", False),
        (".python-version", "3.12.1\n", True),
        ("README.md", "conda create -n net python=3.8 -y\n", False),
        ("README.md", "conda create -n net python=3.10 -y\n", True),
        ("requirements.txt", "torch==1.7.1+cu101\n", False),
        ("requirements.txt", "torch==1.11.0\n", True),
    ],
)
def test_of_a_python_that_is_too_old_fixes_import_no_runtime(
    distlint: Program, tmp_path: Path, file: str, text: str, runtime: bool
) -> None:
    pytest.importorskip("torch")
    (tmp_path / file).write_text(text)
    assert ("+    save(torch.rand(3), path)" in fixed(distlint, tmp_path, SAVES)) is runtime


def test_vendor_copies_the_runtime_that_fixes_import(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/__init__.py").write_text("")
    script = tmp_path / "train.py"
    script.write_text(HEAD + SAVES + '\n\nif __name__ == "__main__":\n    main("")\n')
    assert distlint("fix", "--vendor", "pkg/shared").code == 2
    assert distlint("fix", "--apply", "--vendor", "pkg/shared", *NATIVE).code == 2
    assert not (tmp_path / "pkg/shared").exists()
    result = distlint("fix", "--apply", "--vendor", "pkg/shared")
    assert "from pkg.shared import save\n" in script.read_text()
    assert (tmp_path / "pkg/shared/saving.py").is_file()
    assert 'runtime-module = "pkg.shared"' in result.err
    distlint("fix", "--apply", "--vendor", "pkg/other")
    assert not (tmp_path / "pkg/other").exists()


def test_a_copy_of_the_runtime_says_nothing_of_the_project(
    distlint: Program, tmp_path: Path
) -> None:
    """The copy speaks of FSDP, and would make `get_state_dict()` on rank 0 a defect of this project."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/__init__.py").write_text("")
    (tmp_path / "run.sh").write_text("accelerate launch --num_processes 2 train.py\n")
    (tmp_path / "train.py").write_text(
        "import torch\n"
        "from accelerate import Accelerator\n\n\n"
        "def save(accelerator, model):\n"
        "    if accelerator.is_main_process:\n"
        "        torch.save(accelerator.get_state_dict(model), 'model.pt')\n\n\n"
        "def main():\n"
        "    accelerator = Accelerator()\n"
        "    model = accelerator.prepare(torch.nn.Linear(2, 2))\n"
        "    answer = input('go on?')\n"
        "    save(accelerator, model)\n"
        "    print(model.training, answer, model.in_features)\n\n\n"
        'if __name__ == "__main__":\n    main()\n'
    )
    result = distlint("fix", "--apply", "--preview", "--unsafe-fixes", "--vendor", "pkg/shared")
    assert "not offered" not in result.err
    assert "run_on_main(input, 'go on?', broadcast=True)" in (tmp_path / "train.py").read_text()
    settings = tmp_path / "distlint.toml"
    settings.write_text('runtime-module = "pkg.shared"\n')
    assert distlint("check").code == 0


def test_a_wrong_style_is_refused(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "distlint.toml").write_text('fix-style = "nativ"\n')
    result = distlint("check")
    assert result.code == 2
    assert "did you mean `native`?" in result.out + result.err
