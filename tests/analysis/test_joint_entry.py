"""What shows that several ranks enter a function together: collectives in it, and in what it always calls."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from distlint.analysis import Source, build_model
from distlint.analysis.questions.filesystem import file_calls
from distlint.knowledge.schema import Effect

HEAD = "import os, torch, torch.distributed as dist\n"


def entered(text: str) -> set[str]:
    text = HEAD + dedent(text)
    model = build_model([Source("m.py", "m", text, ast.parse(text))])
    return {function.qualname for function, _ in model.joint_entries}


def test_the_body_of_a_script_whose_main_meets_the_others() -> None:
    text = """
        def main(config):
            setup()
            dist.barrier()

        def setup():
            pass

        if __name__ == "__main__":
            config = read()
            main(config)
        """
    assert {"main", "<module>"} <= entered(text)


def test_through_several_functions() -> None:
    text = """
        def share(path):
            dist.broadcast_object_list([path])
            return path

        class Strategy:
            def save(self, path):
                path = share(path)
                if path.is_file():
                    path.unlink()
        """
    assert {"share", "Strategy.save"} <= entered(text)


@pytest.mark.parametrize(
    "caller",
    [
        """
        def save(path, several):
            if several:
                share(path)
            torch.save(1, path)
        """,
        """
        def save(path, rank):
            if rank == 0:
                share(path)
            torch.save(1, path)
        """,
        """
        def save(path):
            start(share)
            torch.save(1, path)
        """,
        """
        def save(path, several):
            if several:
                dist.barrier()
            torch.save(1, path)
        """,
        """
        def save(path):
            try:
                if dist.get_rank() == 0:
                    torch.save(1, path)
            except OSError:
                dist.barrier()
        """,
    ],
    ids=[
        "under a condition",
        "by one rank",
        "handed to a launcher",
        "by itself under a condition",
        "in a handler of one rank",
    ],
)
def test_who_may_not_meet_the_others(caller: str) -> None:
    text = """
        def share(path):
            dist.broadcast_object_list([path])
        """
    found = HEAD + dedent(text) + dedent(caller)
    model = build_model([Source("m.py", "m", found, ast.parse(found))])
    shown = {group[0].qualname for group, why in model.joint_entries.items() if why.all_ranks}
    assert "save" not in shown


def test_what_is_called_under_a_condition_behind_it() -> None:
    text = """
        def write(path):
            dist.barrier()
            return state()

        def state():
            return wait()

        def checkpoint(path):
            saved = write(path)
            if not saved:
                return
            rotate(path)

        def rotate(path):
            os.remove(path)
        """
    found = entered(text)
    assert "checkpoint" in found
    assert "rotate" not in found


def test_each_rank_may_hand_over_its_own_number() -> None:
    text = """
        def work(rank, path):
            dist.barrier()

        def main(path):
            work(dist.get_rank(), path)
        """
    assert "work" in entered(text)


def test_what_is_called_with_the_arguments_that_make_ranks_meet() -> None:
    text = """
        def save(path, sync):
            if sync:
                dist.barrier()
            write(path)

        def write(path):
            torch.save(1, path)

        def main(path):
            save(path, True)
        """
    assert {"save", "write"} <= entered(text)
    assert "write" not in entered(text.replace("True", "False"))


@pytest.mark.parametrize(
    ("script", "run"),
    [
        ("", {"training_step", "test_step"}),  # a library: who imports it has the Trainer
        ("main(Trainer())", {"training_step"}),
        ("trainer.fit(Net())", {"training_step"}),
        ("trainer.test(Net())", {"test_step"}),
        ("LightningCLI(Net)", {"training_step", "test_step"}),
        ("Net().decode(1)", set()),
    ],
)
def test_a_hook_that_no_script_of_the_program_leads_to(script: str, run: set[str]) -> None:
    """Lumina-T2X lumina_audio/models/autoencoder1d.py: demos build the module, and nobody makes a Trainer."""
    text = """
        from lightning.pytorch import LightningModule

        class Net(LightningModule):
            def training_step(self, batch, batch_idx):
                dist.get_rank()

            def test_step(self, batch, batch_idx):
                torch.save(batch, "out.pt")
        """
    if script:
        text = dedent(text) + f'\nif __name__ == "__main__":\n    {script}\n'
    assert entered(text) - {"<module>"} == {f"Net.{name}" for name in run}


@pytest.mark.parametrize(
    ("default", "caller", "several"),
    [
        ("=True", "", False),
        ("=True", "model.save(path)", False),
        ("=True", "model.save(path, is_main_process=accelerator.is_main_process)", True),
        ("=True", "Model().save(path, rank == 0)", True),
        ("", "", True),  # whoever calls it knows which rank it is
    ],
)
def test_a_flag_that_is_true_by_default_shows_no_ranks(
    default: str, caller: str, several: bool
) -> None:
    """Copies of diffusers' `save_pretrained()` are called on one rank, which passes nothing."""
    text = f"""
        class Model:
            def save(self, path, is_main_process{default}):
                if is_main_process:
                    os.makedirs(path)
                torch.save(self.state, path)

        def finish(model, path, rank):
            {caller or "pass"}
        """
    assert ("Model.save" in entered(text)) is several


def test_a_caller_from_which_all_come_says_more_than_a_test_inside() -> None:
    text = HEAD + dedent(
        """
        class Trainer:
            def train(self):
                dist.barrier()
                self.resume()

            def resume(self):
                state = torch.load(self.path)
                if dist.get_rank() == 0:
                    self.ema.load_state_dict(state)

        def sample(path):
            if dist.get_rank() == 0:
                torch.load(path)
        """
    )
    model = build_model([Source("m.py", "m", text, ast.parse(text))])
    found = {function.qualname: entry for (function, _), entry in model.joint_entries.items()}
    assert found["Trainer.resume"].all_ranks
    assert found["Trainer.resume"].call is not None
    assert not found["sample"].all_ranks


SETS_UP = """
def setup(args):
    if args.launcher:
        dist.init_process_group("nccl")

def main(args):
    setup(args)
    if args.evaluate:
        evaluate(args)

def evaluate(args):
    print(dist.get_world_size())
    torch.save(1, args.path)
"""


def test_who_calls_the_setup_is_where_all_ranks_are() -> None:
    assert {"setup", "main", "evaluate"} <= entered(SETS_UP)


def test_a_setup_for_some_says_nothing_of_its_caller() -> None:
    text = SETS_UP.replace("    setup(args)\n", "    if args.verbose:\n        setup(args)\n")
    assert not {"main", "evaluate"} & entered(text)


@pytest.mark.parametrize(("given", "found"), [("0", False), ("rank=1", False), ("args.rank", True)])
def test_who_says_to_be_one_rank_is_no_caller_of_all(given: str, found: bool) -> None:
    text = f"""
        def load(rank):
            dist.init_process_group("nccl", rank=rank)

        def main(args):
            load({given})
        """
    assert ("main" in entered(text)) is found


def test_further_up_a_setting_may_keep_all_ranks_away() -> None:
    text = (
        SETS_UP
        + """
def command(args):
    main(args)
    if args.report:
        report(args)

def report(args):
    print(dist.get_world_size())
    torch.save(1, args.path)
"""
    )
    assert {"command", "evaluate"} <= entered(text)
    assert "report" not in entered(text)


def test_a_rank_under_another_name_keeps_the_others_out() -> None:
    # pytorch/examples distributed/ddp-tutorial-series/multigpu.py:59
    text = """
class Trainer:
    def __init__(self, gpu_id):
        self.gpu_id = gpu_id

    def train(self):
        print(dist.get_world_size())
        if self.gpu_id == 0:
            self.save()

    def save(self):
        print(dist.get_world_size())
        torch.save(1, "checkpoint.pt")

def setup(args):
    dist.init_process_group("nccl", rank=args.gpu)

def main(args):
    setup(args)
    Trainer(args.gpu).train()
"""
    assert "main" in entered(text)
    assert "Trainer.save" not in entered(text)
    conditional = text.replace("    dist.init", "    if args.launcher:\n        dist.init")
    assert "main" in entered(conditional)
    assert "Trainer.save" not in entered(conditional)


def test_who_answers_a_failure_may_be_alone() -> None:
    text = """
        def keep(batch, path):
            torch.save(batch, path)

        def finish(state, path):
            torch.save(state, path)

        def train(batches, path):
            dist.barrier()
            for batch in batches:
                try:
                    step(batch)
                except RuntimeError:
                    keep(batch, path)
                    raise
            finish(batches, path)
        """
    assert {"train", "finish"} <= entered(text)
    assert "keep" not in entered(text)


SPAWNS = """
import torch.multiprocessing as mp

def worker(gpu, config):
    dist.init_process_group("nccl")
    dist.barrier()

if __name__ == "__main__":
    config = read()
    if dist.is_initialized():
        several = False
    else:
        several = torch.cuda.device_count() > 1
    torch.save(config, "config.pt")
    if several:
        {start}
    else:
        {call}
"""


@pytest.mark.parametrize(
    ("start", "call", "found"),
    [
        ("mp.spawn(worker, args=(config,), nprocs=8)", "worker(0, config)", False),
        ("mp.start_processes(fn=worker, args=(config,), nprocs=8)", "worker(0, config)", False),
        ("mp.Process(target=worker, args=(0, config)).start()", "worker(0, config)", False),
        ("mp.spawn(partial(worker, config=config), nprocs=8)", "worker(None, config)", False),
        (
            "mp.spawn(worker, args=(config,), nprocs=8)",
            "worker(int(os.environ['LOCAL_RANK']), config)",
            True,
        ),
        ("mp.spawn(worker, args=(config,), nprocs=8)", "worker(config.local_rank, config)", True),
        ("mp.spawn(prepare, args=(config,), nprocs=8)", "worker(0, config)", True),
        ("report(worker)", "worker(0, config)", True),
    ],
)
def test_the_parent_is_not_one_of_the_ranks_that_it_starts(
    start: str, call: str, found: bool
) -> None:
    assert ("<module>" in entered(SPAWNS.format(start=start, call=call))) is found


HELPER = """
def is_several():
    return dist.is_available() and dist.is_initialized()

def meet():
    if is_several():
        dist.barrier()

def tokens(path):
    {collective}
    return torch.load(path)
"""
SCRIPT = """
from m import tokens
from accelerate import Accelerator
from elsewhere import setup_distributed
import torch.distributed as dist

def main(path):
    {start}
    tokens(path)
    show(path)

def show(path):
    open(path, "w").write("shown")

if __name__ == "__main__":
    main("x")
"""


@pytest.mark.parametrize(
    ("collective", "start", "found"),
    [
        ("meet()", "print(path)", False),
        ("meet()", "dist.init_process_group()", True),
        ("meet()", "Accelerator()", True),
        ("meet()", "setup_distributed()", True),
        ("if dist.is_initialized(): dist.barrier()", "print(path)", False),
        ("if is_several(): dist.barrier()", "print(path)", False),
        ("if dist.get_world_size() > 1: dist.barrier()", "print(path)", False),
        ("dist.barrier()", "print(path)", True),
        ("if torch.cuda.is_available(): dist.barrier()", "dist.init_process_group()", True),
    ],
)
def test_a_collective_for_those_who_made_a_group_shows_none(
    collective: str, start: str, found: bool
) -> None:
    helper = HEAD + HELPER.format(collective=collective)
    script = SCRIPT.format(start=start)
    model = build_model(
        [
            Source("m.py", "m", helper, ast.parse(helper)),
            Source("show.py", "show", script, ast.parse(script)),
        ]
    )
    assert ("main" in {function.qualname for function, _ in model.joint_entries}) is found


def test_another_script_that_makes_a_group_is_followed_through_the_same_helper() -> None:
    sources = {
        "m": HEAD + HELPER.format(collective="meet()"),
        "show": SCRIPT.format(start="print(path)"),
        "train": SCRIPT.format(start="dist.init_process_group()"),
    }
    model = build_model(
        [Source(f"{name}.py", name, text, ast.parse(text)) for name, text in sources.items()]
    )
    found = {(function.module.name, function.qualname) for function, _ in model.joint_entries}
    assert {("m", "tokens"), ("train", "main"), ("train", "show")} <= found
    assert not {("show", "main"), ("show", "show")} & found


@pytest.mark.parametrize(("path", "several"), [("train.py", True), ("train.ipynb", False)])
def test_beside_a_fit_one_kernel_is_alone(path: str, several: bool) -> None:
    # HTS-Audio-Transformer 2e29471 htsat_esc_training.ipynb: one cell unpacks the data set, a later one trains.
    text = dedent("""
        import lightning.pytorch as pl, torch

        torch.save({}, "samples.pt")
        trainer = pl.Trainer(max_epochs=3)
        trainer.fit(read())
        """)
    model = build_model([Source(path, "train", text, ast.parse(text))])
    (call,) = model.calls("torch.save")
    assert (model.collective_beside(call) is not None) is several


def test_a_test_that_builds_what_meets_shows_nothing_of_its_helpers() -> None:
    """pi-zero-pytorch 42e1d7f tests/test_pi_zero.py:492: pytest runs it in one process."""
    trainer = HEAD + dedent(
        """
        class Trainer:
            def __init__(self):
                dist.barrier()

        def data(folder):
            if os.path.exists(folder):
                os.remove(folder)
        """
    )
    caller = dedent(
        """
        from m import Trainer, data

        def {name}():
            data("rank")
            Trainer()
        """
    )
    for name, module, shown in (("test_it", "test_m", False), ("train", "train", True)):
        code = caller.format(name=name)
        model = build_model(
            [
                Source("m.py", "m", trainer, ast.parse(trainer)),
                Source(f"{module}.py", module, code, ast.parse(code)),
            ]
        )
        assert ("data" in {function.qualname for function, _ in model.joint_entries}) is shown


@pytest.mark.parametrize(
    ("told", "condition", "shown"),
    [
        ("several = bool(args.several)", "several == True", False),
        ("several = args.several", "args.several", False),
        ("several = args.several and args.fast", "args.fast", False),
        ("several = args.several or args.fast", "args.fast", True),
        ("several = args.several", "args.fast", True),
        ("several = args.several; several = several or args.fast", "several", True),
    ],
)
def test_the_other_arm_of_what_makes_the_group(told: str, condition: str, shown: bool) -> None:
    """transfuser 22b3ccd team_code_transfuser/train.py:211: `trainer.save()` in the else arm of `if parallel == True:`."""
    text = f"""
        def main(args):
            {told}
            if several:
                dist.init_process_group()
            if {condition}:
                pass
            else:
                save(args)

        def save(args):
            torch.save({{}}, args.path)
        """
    assert ("save" in entered(text)) is shown


@pytest.mark.parametrize("asked", ["args.only", "args.fast"])
def test_the_other_arm_of_what_starts_the_ranks(asked: str) -> None:
    """benchmark 0e83c44 userbenchmark/dynamo/dynamobench/common.py:4947."""
    text = HEAD + dedent(f"""
        import torch.multiprocessing as mp

        def main(args):
            args.several = args.only and args.processes
            if args.several:
                mp.spawn(work, args=(args,), nprocs=8)
            else:
                run(args)

        def work(rank, args):
            dist.init_process_group(rank=rank)
            run(args)

        def run(args):
            if {asked}:
                pass
            else:
                os.remove(args.path)
        """)
    model = build_model([Source("m.py", "m", text, ast.parse(text))])
    found = [call.joint_entry for call in file_calls(model)]
    assert len(found) == 1
    assert (found[0] is not None) is (asked == "args.fast")


@pytest.mark.parametrize(
    ("marks", "run"),
    [
        ("", False),
        ("@pytest.mark.world_size(1)", False),
        ("@pytest.mark.world_size(2)", True),
        ("@pytest.mark.parametrize('n', [pytest.param(2, marks=pytest.mark.world_size(2))])", True),
    ],
)
def test_tests_are_for_one_process_unless_they_are_marked(marks: str, run: bool) -> None:
    """llm-foundry 8c8dd48 tests/a_scripts/inference/test_convert_composer_to_hf.py:1394."""
    text = HEAD + dedent("""
        import pytest
        from composer.utils import dist

        @pytest.mark.world_size(4)
        def test_gathers():
            dist.all_gather_object(1)

        {marks}
        def test_converts(folder):
            folder = dist.all_gather_object(folder)[0]
            convert(folder)

        def convert(folder):
            os.makedirs(folder)
        """).format(marks=marks)
    model = build_model([Source("test_m.py", "test_m", text, ast.parse(text))])
    assert ("convert" in {f.qualname for f, _ in model.joint_entries}) is run


@pytest.mark.parametrize(
    ("given", "several"),
    [
        ("gpus=-1", False),
        ("gpus=-1, max_epochs=3", False),
        ("gpus=-1, strategy='ddp'", True),
        ("gpus=-1, accelerator='ddp'", True),
        ("devices=-1", True),
        ("**options", True),
    ],
)
def test_what_is_behind_the_training_of_spawned_processes(given: str, several: bool) -> None:
    """Fengshenbang-LM c8fb7b8 fengshen/examples/clue_sim/main.py:125, with Lightning 1."""
    text = HEAD + dedent(f"""
        import pytorch_lightning as pl

        def main(model, loader, path, options):
            trainer = pl.Trainer({given})
            found = trainer.predict(model, loader)
            if not os.path.exists(path):
                os.makedirs(path)
        """)
    model = build_model([Source("train.py", "train", text, ast.parse(text))])
    (made,) = (call for call in file_calls(model) if call.effect is Effect.CREATE_DIR)
    assert (made.joint_entry is not None) is several
