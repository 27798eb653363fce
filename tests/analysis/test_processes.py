"""What shows that code runs in one process: literal sizes, the docstring's launch command, a spawn of one."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

import pytest

from distlint.analysis import Source, build_model
from tests.rules.checked import severities_in

HEAD = """
import torch, torch.distributed as dist
import torch.multiprocessing as mp
from nanotron.parallel import ParallelContext
"""


def entered(text: str, doc: str = "") -> set[str]:
    text = f'"""{doc}"""\n{HEAD}\n{dedent(text)}'
    model = build_model([Source("tests/test_m.py", "tests.test_m", text, ast.parse(text))])
    return {function.qualname for function, _ in model.joint_entries}


SCRIPT = """
    def share(model):
        dist.all_gather_object([], model)

    def convert(model, path):
        share(model)
        torch.save(model, path)

    if __name__ == "__main__":
        convert(read(), "out.pt")
    """


@pytest.mark.parametrize(
    ("command", "several"),
    [
        ("torchrun --nproc_per_node=1 convert.py", False),
        ("python -m torch.distributed.run --nproc-per-node 1 convert.py", False),
        ("torchrun --nproc_per_node=8 convert.py", True),
        ("torchrun --nproc_per_node=1 --nnodes=4 convert.py", True),
        ("torchrun --nproc_per_node=1 convert.py or torchrun convert.py\n    torchrun a.py", True),
        ("torchrun convert.py", True),
    ],
)
def test_the_launch_command_of_the_docstring(command: str, several: bool) -> None:
    assert ("convert" in entered(SCRIPT, f"Run it:\n    {command}\n")) is several


def test_a_script_that_shares_its_data_out_is_made_for_several() -> None:
    doc = "Run it:\n    torchrun --nproc_per_node=1 convert.py\n"
    shares = "def parts(data):\n    return torch.utils.data.DistributedSampler(data)\n"
    assert "convert" in entered(shares + dedent(SCRIPT), doc)


@pytest.mark.parametrize(
    ("context", "several"),
    [
        ("ParallelContext(data_parallel_size=1, tensor_parallel_size=1)", False),
        ("ParallelContext(1, 1, 1)", False),
        ("ParallelContext(1, 1, 2)", True),
        ("ParallelContext(data_parallel_size=1, tensor_parallel_size=2)", True),
        ("ParallelContext(data_parallel_size=1, tensor_parallel_size=tp)", True),
        ("initialize_model_parallel(tensor_parallel_size=1, pipeline_parallel_size=1)", True),
        ("dist.init_process_group('gloo', rank=0, world_size=1)", False),
        ("dist.init_process_group('gloo', rank=0, world_size=2)", True),
    ],
)
def test_a_context_of_literal_sizes(context: str, several: bool) -> None:
    text = f"""
        def convert(model, path, tp):
            context = {context}
            dist.all_gather_object([], model)
            torch.save(model, path)
        """
    assert ("convert" in entered(text)) is several


def test_a_context_of_one_in_one_branch_says_nothing() -> None:
    text = """
        def convert(model, path, small):
            if small:
                dist.init_process_group("gloo", rank=0, world_size=1)
            else:
                dist.init_process_group("gloo")
            dist.all_gather_object([], model)
        """
    assert "convert" in entered(text)


@pytest.mark.parametrize(
    ("start", "several"),
    [
        ("mp.spawn(work, args=(1,), nprocs=1)", False),
        ("n = 1\n            mp.spawn(work, args=(n,), nprocs=n)", False),
        ("mp.spawn(work, args=(2,), nprocs=2)", True),
        ("mp.spawn(work, args=(2,), nprocs=torch.cuda.device_count())", True),
        ("mp.spawn(work, nprocs=1)\n            mp.spawn(work, nprocs=2)", True),
        ("launch(tp=1, dp=1, pp=1)(work)(path=1)", False),
        ("launch(tp=2, dp=1, pp=1)(work)(path=1)", True),
    ],
)
def test_what_is_handed_to_a_spawn_of_one(start: str, several: bool) -> None:
    text = f"""
        def step(path):
            torch.save(1, path)

        def work(rank, path):
            dist.init_process_group("gloo")
            step(path)
            dist.barrier()

        def test_it():
            {start}
        """
    found = entered(text)
    assert ("work" in found) is several
    assert ("step" in found) is several


def test_what_a_test_hands_to_several_processes_beside_a_spawn_of_one() -> None:
    text = """
        def one(path):
            share(path)

        def several(path):
            share(path)

        def share(path):
            dist.barrier()

        def test_one():
            launch(tp=1, dp=1)(one)(path=1)

        def test_several():
            launch(tp=2, dp=1)(several)(path=1)
        """
    found = entered(text)
    assert "one" not in found
    assert {"several", "share"} <= found


def test_a_function_that_others_call_too() -> None:
    text = """
        def step(path):
            dist.barrier()
            torch.save(1, path)

        def work(rank, path):
            step(path)

        def start():
            mp.spawn(work, nprocs=1)

        def train(path):
            step(path)
        """
    found = entered(text)
    assert "work" not in found
    assert {"step", "train"} <= found


def test_a_guard_that_one_process_passes_shows_no_ranks() -> None:
    text = """
        def upload(path):
            if not dist.is_initialized() or dist.get_rank() == 0:
                print(path)
            torch.save(1, path)

        def guarded(path):
            if dist.get_rank() == 0:
                print(path)
            torch.save(1, path)
        """
    found = entered(text)
    assert "upload" not in found
    assert "guarded" in found


def test_pytest_calls_a_function_in_one_process() -> None:
    program = """
        import torch.distributed as dist

        def main(path):
            dist.barrier()
        """
    test = """
        from program import main

        def test_main(path):
            main(path)
        """
    sources = [
        Source(f"{name}.py", name, text, ast.parse(text))
        for name, text in (("program", dedent(program)), ("test_program", dedent(test)))
    ]
    found = {function.qualname for function, _ in build_model(sources).joint_entries}
    assert found == {"main"}


def test_a_script_that_imports_what_asks_for_ranks() -> None:
    package = """
        import torch.distributed as dist

        def is_main():
            return dist.get_rank() == 0

        def meet():
            dist.barrier()
        """
    by_hand = """
        from package import is_main

        def index(model):
            return model

        if __name__ == "__main__":
            index(1)
        """
    launched = by_hand.replace("is_main", "meet").replace("index(1)", "meet()")
    texts = {"package": package, "by_hand": by_hand, "launched": launched}
    sources = [
        Source(f"{name}.py", name, text, ast.parse(text))
        for name, text in ((name, dedent(text)) for name, text in texts.items())
    ]
    model = build_model(sources)
    found = {module.name for module in model.modules if model.is_distributed(module)}
    assert found == {"package", "launched"}


@pytest.mark.parametrize(
    ("first", "several"),
    [
        ("assert args.num_gpus == 1, 'one GPU only'", False),
        ("assert args.num_gpus == 2", True),
        ("assert args.batch == 1", True),
        ("assert not args.distributed, 'for one process'", False),
        ("assert not args.divided", True),
        ("assert args.num_gpus >= 1", True),
        ("assert dist.get_world_size() == 1", False),
        ("assert int(os.environ['WORLD_SIZE']) == 1", False),
        ("if world_size > 1: raise ValueError('one process only')", False),
        ("if world_size > 1: print('several')", True),
        ("assert args.local_rank == -1, 'one process only'", False),
        ("if args.local_rank != -1: raise ValueError('one process only')", False),
        ("if args.rank >= 0: raise SystemExit", False),
        ("assert args.local_rank != -1, 'start it with a launcher'", True),
        ("if args.local_rank == -1: raise ValueError('start it with a launcher')", True),
        ("assert args.local_rank >= 0", True),
        ("assert args.tp.rank == -1", True),
        ("assert args.local_rank == -1 or args.backend", True),
    ],
)
def test_a_program_that_ends_where_there_are_several(first: str, several: bool) -> None:
    text = f"""
        def convert(args, port):
            os.environ["WORLD_SIZE"] = str(args.num_gpus)
            dist.init_process_group("gloo")
            torch.save(args, "out.pt")

        def main():
            args = parser.parse_args()
            world_size = dist.get_world_size()
            {first}
            convert(args, 29500)

        if __name__ == "__main__":
            main()
        """
    assert ("convert" in entered("import os\n" + dedent(text))) is several


SEARCH = """\
import argparse

import torch
import torch.distributed as dist


def note(results):
    torch.save(results, "results.pt")


if __name__ == "__main__":
    options = argparse.ArgumentParser().parse_args()
    if options.local_rank != -1:
        dist.init_process_group("gloo")
    if options.search:
        CHECK
        for results in range(8):
            note(results)
    ELSE
    if dist.is_initialized():
        dist.barrier()
"""


@pytest.mark.parametrize(
    ("check", "other", "kept"),
    [
        ("assert options.local_rank == -1, 'on one process'", "", []),
        ("if options.local_rank != -1: raise SystemExit('on one process')", "", []),
        ("assert dist.get_world_size() == 1", "", []),
        ("assert options.local_rank > -1, 'with a launcher'", "", ["warning"]),
        ("assert options.local_rank == -1", "note(9)", ["warning"]),
    ],
)
def test_a_function_that_is_called_below_a_check_alone(
    check: str, other: str, kept: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # yolor 3ca250a train.py:614 calls utils/general.py's `print_mutation` below `assert opt.local_rank == -1`
    text = SEARCH.replace("CHECK", check).replace("ELSE", other)
    assert severities_in("DL301", tmp_path, {"run.py": text}, capsys) == kept


BRANCHES = """\
import argparse

import torch
import torch.distributed as dist


def keep(options, model):
    if options.keep:
        FIRST
        torch.save(model.state_dict(), options.path)
    else:
        SECOND
        torch.save(model.state_dict(), options.other)
    dist.barrier()


if __name__ == "__main__":
    dist.init_process_group("gloo")
    keep(argparse.ArgumentParser().parse_args(), torch.nn.Linear(2, 2))
"""


@pytest.mark.parametrize(
    ("first", "kept"),
    [
        ("assert dist.get_world_size() == 1", []),
        ("assert options.world_size == 1 and options.slices == 1", []),
        ("if options.slices > 4 or dist.get_world_size() != 1: raise ValueError(options)", []),
        ("if dist.get_world_size() > 1: raise SystemExit", []),
        ("if dist.get_world_size() > 1: print(options)", ["error"]),
        (
            "if options.slices > 4 and dist.get_world_size() > 1: raise ValueError(options)",
            ["error"],
        ),
        ("assert dist.get_world_size(options.group) == 1", ["error"]),
        ("assert options.tp_group.world_size == 1", ["error"]),
        ("assert options.slices == 1", ["error"]),
    ],
)
def test_a_branch_that_one_process_alone_passes(
    first: str, kept: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # terapipe 1a17aa2 terapipe.py:370: what is asserted in one arm says nothing of the other
    text = BRANCHES.replace("FIRST", first).replace("SECOND", "model.eval()")
    assert severities_in("DL301", tmp_path, {"run.py": text}, capsys) == [*kept, "error"]
    text = BRANCHES.replace("FIRST", "model.eval()").replace("SECOND", first)
    assert severities_in("DL301", tmp_path, {"run.py": text}, capsys) == ["error", *kept]


@pytest.mark.parametrize(
    ("first", "several"),
    [
        ("if args.world_size > 1: raise NotImplementedError", False),
        ("assert dist.get_world_size() == 1", False),
        ("if args.world_size > 8: raise NotImplementedError", True),
        ("if args.world_size > 1: self.several = True", True),
    ],
)
def test_a_class_that_is_made_in_one_process_alone(first: str, several: bool) -> None:
    text = f"""
        class Trainer:
            def __init__(self, args):
                self.args = args
                {first}

            def save(self):
                dist.barrier()
                torch.save(self.args, "out.pt")
        """
    assert ("Trainer.save" in entered(text)) is several


def test_a_number_of_gpus_that_makes_no_processes_says_nothing() -> None:
    """A launcher may start many processes that use one GPU each."""
    text = """
        def convert(args):
            dist.init_process_group("gloo")
            torch.save(args, "out.pt")

        def main():
            args = parser.parse_args()
            assert args.num_gpus == 1
            convert(args)
        """
    assert "convert" in entered(text)


ONE_DEVICE = """
    import lightning as L

    def save(fabric, path):
        if fabric.global_rank == 0:
            fabric.barrier()

    def main(path):
        fabric = L.Fabric({devices})
        save(fabric, path)

    {more}
    """


@pytest.mark.parametrize(
    ("devices", "more", "several"),
    [
        ("devices=1", "", False),
        ("accelerator='cuda', devices=[0], num_nodes=1", "", False),
        ("devices=1, num_nodes=2", "", True),
        ("devices=2", "", True),
        ("devices=count", "", True),
        ("", "", True),
        ("devices=1", "other = L.Fabric(devices=4)", True),
        ("devices=1", "save(L, 'here')", True),
    ],
)
def test_what_lightning_runs_on_one_device(devices: str, more: str, several: bool) -> None:
    text = dedent(ONE_DEVICE).format(devices=devices, more=more)
    model = build_model([Source("m.py", "m", text, ast.parse(text))])
    assert bool(list(model.divergences())) is several


def test_runs_of_one_process_say_nothing_of_a_function_that_several_call_too() -> None:
    """lit-llama generate.py:88: the script of one device passes `eos_id`, FSDP's does not."""
    text = """
        import lightning as L

        class Writer:
            def write(self, fabric, stop):
                if stop and fabric.global_rank == 0:
                    fabric.barrier()

        def generate(fabric, stop=None):
            Writer().write(fabric, stop)
    """
    one = """
        import lightning as L
        from m import generate

        def main():
            generate(L.Fabric(devices=1), True)
            fabric = L.Fabric(devices=1)
            generate(fabric, stop=True)
    """
    several = """
        import lightning as L
        from m import generate

        def train():
            generate(L.Fabric(devices=4){given})
    """
    for given, diverges in (("", False), (", stop=True", True)):
        texts = {"m": text, "one": one, "several": several.format(given=given)}
        model = build_model(
            [
                Source(f"{name}.py", name, code, ast.parse(code))
                for name, code in ((name, dedent(code)) for name, code in texts.items())
            ]
        )
        assert bool(list(model.divergences())) is diverges


def settings(first: str, more: str = "") -> str:
    return f"""
        import argparse

        def main():
            parser = argparse.ArgumentParser()
            parser.add_argument("--gpu", type=int, default=0)
            parser.add_argument("--port", type=int)
            args = parser.parse_args()
            {more}
            {first}
            run(args)

        def run(args):
            if args.world_size > 1:
                dist.barrier()
            torch.save(args, args.path)

        main()
    """


@pytest.mark.parametrize(
    ("first", "more", "several"),
    [
        ("args.world_size = 1", "", False),
        ("if args.gpu is not None: args.world_size = 1", "", False),
        ("if args.port is not None: args.world_size = 1", "", True),
        ("if args.resume: args.world_size = 1", "", True),
        ("args.world_size = 2", "", True),
        ("args.world_size = 1", "args.world_size = int(os.environ['SIZE'])", True),
        ("args.world_size = 1", "dist.init_process_group('nccl')", True),
        ("args.world_size = 1", "args.size = os.environ['WORLD_SIZE']", True),
        ("args.world_size = 1", "args.gpu = None", False),
        ("if args.gpu is not None: args.world_size = 1", "args.gpu = None", True),
    ],
)
def test_a_script_that_sets_the_number_of_processes_to_one(
    first: str, more: str, several: bool
) -> None:
    """muzic 2b87396 getmusic/track_generation.py:600, and position_generation.py:697."""
    assert ("run" in entered(settings(first, more))) is several


@pytest.mark.parametrize(
    ("model", "joins", "otherwise", "several"),
    [
        ("nn.DataParallel(net.cuda())", "", "work(0, options)", False),
        ("nn.DataParallel(net.cuda(), device_ids=[gpu])", "", "work(0, options)", True),
        ("net.cuda(gpu)", "", "work(0, options)", True),
        ("nn.DataParallel(net.cuda())", "", "print('no GPU')", True),
        (
            "nn.DataParallel(net.cuda())",
            "dist.init_process_group('nccl')",
            "work(0, options)",
            True,
        ),
    ],
)
def test_a_left_over_spawn_of_a_worker_with_all_gpus(
    model: str, joins: str, otherwise: str, several: bool
) -> None:
    text = f"""
        import torch.nn as nn

        def work(gpu, options):
            {joins or "pass"}
            net = build(options)
            net = {model}
            for epoch in range(options.epochs):
                train(net)
                torch.save(net.state_dict(), options.path)

        def main(options):
            if options.multiprocessing_distributed:
                mp.spawn(work, nprocs=options.gpus, args=(options,))
            else:
                {otherwise}

        if __name__ == "__main__":
            main(read())
        """
    assert ("work" in entered(text)) is several


RAY_TASK = """
    import ray

    def share(model):
        dist.all_gather_object([], model)

    def work(model):
        {body}

    def main(models):
        {starts}
    """


@pytest.mark.parametrize(
    ("starts", "body", "several"),
    [
        ("ray.get(ray.remote(num_gpus=2)(work).remote(models))", "share(model)", True),
        (
            "task = ray.remote(num_gpus=2)(work); ray.get(task.remote(models))",
            "share(model)",
            False,
        ),
        ("task = ray.remote(work); ray.get(task.remote(models))", "share(model)", False),
        (
            "task = ray.remote(work); ray.get([task.remote(m) for m in models])",
            "share(model)",
            True,
        ),
        (
            "task = ray.remote(work); ray.get([task.remote(1), task.remote(2)])",
            "share(model)",
            True,
        ),
        ("task = ray.remote(work); group(task, size=4)", "share(model)", True),
        ("task = ray.remote(work); task.remote(models); work(models)", "share(model)", True),
        (
            "task = ray.remote(work); ray.get(task.remote(models))",
            "ray.get([ray.remote(share).remote(m) for m in model])",
            True,
        ),
    ],
)
def test_one_task_of_ray_is_one_process(starts: str, body: str, several: bool) -> None:
    assert ("share" in entered(RAY_TASK.format(starts=starts, body=body))) is several
