"""Native fixes ask the process group where it is there in every run, one process that nobody launched included."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Program

HEAD = """\
import shutil

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


"""

WORKER = """\
def work(rank, world_size, folder):
    is_main = rank == 0
    is_ddp = world_size > 1
    if is_ddp:
        dist.init_process_group("gloo", rank=rank, world_size=world_size)
    shutil.rmtree(folder)
    if is_main:
        print(folder)
    print(torch.load(f"{folder}/weights.pt"))


def main(several, world_size):
    if not several:
        work(0, 1, "out")
        return
    mp.spawn(work, args=(world_size, "out"), nprocs=world_size)


main(True, torch.cuda.device_count())
"""


def fixed(distlint: Program, root: Path, code: str, head: str = HEAD) -> list[str]:
    """What the native fixes of a script take away and add."""
    (root / "train.py").write_text(head + code)
    diff = distlint("fix", "--unsafe-fixes", "--fix-style", "native", "--select", "DL301,DL303").out
    return [
        line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]


def test_the_group_of_a_worker_that_also_runs_alone(distlint: Program, tmp_path: Path) -> None:
    """lightweight-gan efbec45 lightweight_gan/cli.py:73."""
    assert fixed(distlint, tmp_path, WORKER) == [
        "-    shutil.rmtree(folder)",
        "+    if is_main:",
        "+        shutil.rmtree(folder)",
        "+    if is_ddp:",
        "+        dist.barrier()",
    ]


MEETS = "    print(torch.load('out/weights.pt'))\n    dist.barrier()\n"


def removing(above: str, below: str = "    print(torch.load('out/weights.pt'))\n") -> str:
    """A script that makes the group in some way, and then removes a folder on every rank."""
    body = f'{above}    shutil.rmtree("out")\n{below}'
    return (
        f'def main(args):\n{body}\n\nif __name__ == "__main__":\n    main(torch.load("args.pt"))\n'
    )


GUARDED = [
    '-    shutil.rmtree("out")',
    "+    if dist.get_rank() == 0:",
    '+        shutil.rmtree("out")',
    "+    dist.barrier()",
]


@pytest.mark.parametrize(
    "above",
    [
        "    dist.init_process_group('gloo')\n",
        "    if not dist.is_initialized():\n        dist.init_process_group('gloo')\n",
        "    if dist.is_available() and not dist.is_initialized():\n"
        "        dist.init_process_group('gloo')\n    assert dist.is_initialized()\n",
        "    if args.cuda:\n        dist.init_process_group('nccl')\n"
        "    else:\n        dist.init_process_group('gloo')\n",
        "    if not args.distributed:\n        raise ValueError('one process')\n"
        "    dist.init_process_group('gloo')\n",
        "    if args.debug:\n        return\n    dist.init_process_group('gloo')\n",
        "    print(dist.get_rank())\n",
    ],
)
def test_a_group_that_is_there_in_every_run(distlint: Program, tmp_path: Path, above: str) -> None:
    assert fixed(distlint, tmp_path, removing(above, MEETS)) == GUARDED


@pytest.mark.parametrize(
    "above",
    [
        "    rank = dist.get_rank() if dist.is_initialized() else 0\n",
        "    size = dist.is_initialized() and dist.get_world_size()\n    print(size)\n",
        "    try:\n        dist.init_process_group('gloo')\n"
        "    except ValueError:\n        print('one process')\n",
        "    set_up(args)\n",
        "    set_up_late(args)\n",
    ],
)
def test_no_question_where_one_process_has_no_group(
    distlint: Program, tmp_path: Path, above: str
) -> None:
    helpers = (
        "def set_up(args):\n    if args.local_rank != -1:\n"
        "        dist.init_process_group('gloo')\n\n\n"
        "def set_up_late(args):\n    if args.local_rank == -1:\n        print('one')\n"
        "        return\n    dist.init_process_group('gloo')\n\n\n"
    )
    changed = fixed(distlint, tmp_path, helpers + removing(above))
    assert not any("get_rank" in line or "barrier" in line for line in changed)


@pytest.mark.parametrize("test", ["args.local_rank != -1", "args.world_size > 1", "args.ddp"])
def test_the_test_under_which_the_group_was_made(
    distlint: Program, tmp_path: Path, test: str
) -> None:
    opposite = {"args.local_rank != -1": "args.local_rank == -1"}
    opposite["args.world_size > 1"] = "args.world_size <= 1"
    above = f"    if {test}:\n        dist.init_process_group('gloo')\n"
    assert fixed(distlint, tmp_path, removing(above)) == [
        '-    shutil.rmtree("out")',
        f"+    if {opposite.get(test, f'not {test}')} or dist.get_rank() == 0:",
        '+        shutil.rmtree("out")',
        f"+    if {test}:",
        "+        dist.barrier()",
    ]
    other = above + f"    {test.split()[0]} = args.other\n"
    assert not any("dist" in line for line in fixed(distlint, tmp_path, removing(other)))


def test_the_other_arm_of_a_test(distlint: Program, tmp_path: Path) -> None:
    """mmcv's scripts: `if args.launcher == "none": distributed = False`."""
    above = "    if args.launcher == 'none':\n        print('one process')\n    else:\n"
    above += "        dist.init_process_group('gloo')\n"
    changed = fixed(distlint, tmp_path, removing(above))
    assert "+    if args.launcher == 'none' or dist.get_rank() == 0:" in changed
    assert "+    if args.launcher != 'none':" in changed
    kept = above.replace("print('one process')", "several = False") + "        several = True\n"
    changed = fixed(distlint, tmp_path, removing(kept))
    assert "+    if not several or dist.get_rank() == 0:" in changed
    assert "+    if several:" in changed


def test_inside_its_test_the_group_is_there(distlint: Program, tmp_path: Path) -> None:
    code = removing("    if args.ddp:\n        dist.init_process_group('gloo')\n    if args.ddp:\n")
    code = code.replace('    shutil.rmtree("out")', '        shutil.rmtree("out")')
    assert fixed(distlint, tmp_path, code) == [line[0] + "    " + line[1:] for line in GUARDED]


@pytest.mark.parametrize(
    ("head", "above"),
    [
        # lightweight-gan efbec45 lightweight_gan/lightweight_gan.py:1126
        (HEAD.replace("import torch.distributed as dist\n", ""), "    start()\n"),
        (HEAD, "    start()\n    dist = torch.ones(3)\n    print(dist)\n"),
    ],
)
def test_no_name_that_means_nothing_there(
    distlint: Program, tmp_path: Path, head: str, above: str
) -> None:
    start = (
        "def start():\n    import torch.distributed as dist\n\n"
        "    dist.init_process_group('gloo')\n    print(dist.get_rank())\n\n\n"
    )
    changed = fixed(distlint, tmp_path, start + removing(above), head)
    assert not any("+" in line and " dist." in line for line in changed)


def test_statements_side_by_side_go_under_one_guard(distlint: Program, tmp_path: Path) -> None:
    more = '    shutil.rmtree("two")\n\n    shutil.rmtree("three")\n    # the log\n'
    more += '    shutil.rmtree("four")\n    print(torch.load("out/weights.pt"))\n'
    made = "    dist.init_process_group('gloo')\n"
    assert fixed(distlint, tmp_path, removing(made, more)) == [
        '-    shutil.rmtree("out")',
        '-    shutil.rmtree("two")',
        '-    shutil.rmtree("three")',
        "+    if dist.get_rank() == 0:",
        '+        shutil.rmtree("out")',
        '+        shutil.rmtree("two")',
        '+        shutil.rmtree("three")',
        "+    dist.barrier()",
        '-    shutil.rmtree("four")',
        "+    if dist.get_rank() == 0:",
        '+        shutil.rmtree("four")',
        "+    dist.barrier()",
    ]


ALONE = """\
import argparse

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local-rank", "--local_rank", type=int, default={default})
args = parser.parse_args()
{made}
if args.local_rank == 0:
    dist.barrier()
print(args)
"""


@pytest.mark.parametrize(
    ("default", "made", "moves"),
    [
        ("0", "dist.init_process_group('gloo')", True),
        ("-1", "dist.init_process_group('gloo')", True),
        ("-1", "if args.local_rank != -1:\n    dist.init_process_group('gloo')", False),
    ],
)
def test_a_collective_that_a_lone_process_was_kept_from(
    distlint: Program, tmp_path: Path, default: str, made: str, moves: bool
) -> None:
    """P-tuning-v2 b1520c9 PT-Retrieval/colbert/colbert/training/training.py:78: the rank of one process is -1."""
    (tmp_path / "train.py").write_text(ALONE.format(default=default, made=made))
    said = distlint("fix", "--unsafe-fixes", "--select", "DL101").out
    assert ("-    dist.barrier()" in said) is moves
