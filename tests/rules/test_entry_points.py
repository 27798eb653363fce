"""What is found where several ranks would do harm: a warning where an entry point shows that there are any."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import severities_in

STORE = """\
import os

import torch
import torch.distributed as dist

RANK = int(os.getenv("RANK", -1))


def store_rows(rows, path):
    rows.load_state_dict(torch.load(path))
    dist.barrier()


def keep_rows(rows, path):
    torch.save(rows.state_dict(), path)


def start_ranks():
    dist.init_process_group("nccl")
"""

SHOWS = """\
from store import store_rows

if __name__ == "__main__":
    store_rows(make(), "rows.pt")
"""

TRAINS = """\
from store import start_ranks, store_rows

if __name__ == "__main__":
    start_ranks()
    store_rows(make(), "rows.pt")
"""

WORKS = """\
import argparse

from store import store_rows

options = argparse.ArgumentParser().parse_args()
store_rows(make(), options.path)
"""

LIBRARY = """\
from store import store_rows


class Rows:
    def store(self, path):
        store_rows(self.rows, path)
"""

BY_CONFIGURATION = """\
from hydra.utils import instantiate

import store


def run(settings):
    store.store_rows(instantiate(settings), "rows.pt")


if __name__ == "__main__":
    run({})
"""

NUMBERED = SHOWS.replace("from store", "import os\n\nfrom store").replace(
    "store_rows(make()", 'store_rows(os.environ["LOCAL_RANK"]'
)

WRAPPED = """\
from accelerate import Accelerator

from store import store_rows


class Run:
    def __init__(self):
        self.accelerator = Accelerator()


if __name__ == "__main__":
    store_rows(Run(), "rows.pt")
"""

DERIVED = """\
from transformers import Trainer

from store import store_rows


class Run(Trainer):
    pass


if __name__ == "__main__":
    store_rows(Run(), "rows.pt")
"""

DIVIDED = """\
from torch.utils.data import DistributedSampler

from store import store_rows

if __name__ == "__main__":
    store_rows(DistributedSampler(make(), num_replicas=2, rank=options.rank), "rows.pt")
"""

DIVIDED_IF_ANY = DIVIDED.replace(
    "DistributedSampler(make(), num_replicas=2, rank=options.rank)",
    "make() if options.rank < 0 else DistributedSampler(make())",
)

SERVED = """\
import gradio as gr

from store import store_rows

if __name__ == "__main__":
    store_rows(make(), "rows.pt")
    demo = gr.Interface(store_rows)
    demo.launch()
"""

TRAINED = """\
import gradio as gr
from accelerate import Accelerator

from store import store_rows


def train(path):
    accelerator = Accelerator()
    rows = accelerator.prepare(make())
    store_rows(rows, path)


def main(path="rows.pt"):
    with gr.Blocks() as page:
        button = gr.Button()
        button.click(fn=train, inputs=[])
    train(path)
    {test}page.launch()


if __name__ == "__main__":
    main()
"""

TESTED = """\
from store import store_rows


def test_rows(tmp_path):
    store_rows(make(), tmp_path)
"""


def _page(command: str) -> str:
    return f"# Rows\n\n```bash\n{command}\n```\n"


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({}, "warning"),
        ({"show.py": SHOWS}, "info"),
        ({"work.py": WORKS}, "info"),
        ({"serve.py": SERVED}, "info"),
        ({"serve.py": TRAINED.format(test="")}, "info"),
        ({"serve.py": TRAINED.format(test="if path:\n        ")}, "warning"),
        ({"show.py": SHOWS, "README.md": _page("python show.py")}, "info"),
        ({"show.py": SHOWS, "README.md": _page("torchrun --nproc_per_node=1 show.py")}, None),
        ({"show.py": SHOWS, "README.md": _page("torchrun --nproc_per_node=8 show.py")}, "warning"),
        ({"show.py": SHOWS, "run.sh": 'torchrun --nproc_per_node="$1" show.py\n'}, "warning"),
        ({"show.py": f'"""torchrun show.py"""\n{SHOWS}'}, "warning"),
        ({"show.py": SHOWS, "train.py": TRAINS}, "warning"),
        ({"show.py": SHOWS, "library.py": LIBRARY}, "warning"),
        ({"show.py": NUMBERED}, "warning"),
        ({"show.py": WRAPPED}, "warning"),
        ({"show.py": DERIVED}, "warning"),
        ({"show.py": SHOWS, "run.py": BY_CONFIGURATION}, "warning"),
        ({"test_store.py": TESTED}, "warning"),
        ({"show.py": SHOWS, "test_store.py": TESTED}, "info"),
        ({"show.py": DIVIDED}, "warning"),
        ({"show.py": DIVIDED_IF_ANY}, "info"),
    ],
    ids=[
        "a library",
        "a script",
        "a script without a main block",
        "a server",
        "a server that trains",
        "a script that may serve",
        "a script that a page starts",
        "launched as one process",
        "launched by a page",
        "launched by a script",
        "launched by its docstring",
        "beside one that makes the group",
        "beside a library that uses it",
        "a script that reads its rank",
        "a script that makes an Accelerator",
        "a script with a trainer",
        "beside what a configuration chooses",
        "a library that is tested",
        "a script beside tests",
        "a script that divides its data",
        "a script that would divide its data",
    ],
)
def test_who_leads_to_a_function(
    files: dict[str, str], severity: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = severities_in("DL505", tmp_path, {"store.py": STORE, **files}, capsys)
    assert found == ([] if severity is None else [severity])


def test_a_helper_of_tests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tested = TESTED.replace("store", "mock")
    helper = {"mock.py": STORE.replace("store", "mock"), "test_rows.py": tested}
    assert severities_in("DL505", tmp_path, helper, capsys) == ["info"]
    started = {**helper, "test_rows.py": tested + "\n\ndef test_ranks():\n    spawn(mock_rows)\n"}
    assert severities_in("DL505", tmp_path, started, capsys) == ["warning"]


OPTION = """\
import torch
import torch.distributed as dist
from accelerate import Accelerator


def write(rows, path):
    torch.save(rows, path)
    dist.barrier()


def main(args, config):
    if {option}:
        write(make(), args.path)
        {then}
    {start}
    print("go on")


if __name__ == "__main__":
    main(options(), {{}})
"""


@pytest.mark.parametrize(
    ("option", "then", "start", "severity"),
    [
        ("args.prepare", "return", "dist.init_process_group()", "info"),
        ("args.prepare", "pass", "dist.init_process_group()", "warning"),
        ("args.mode == 'read'", "return", "dist.init_process_group()", "info"),
        ("not args.ddp", "pass", "if args.ddp: dist.init_process_group()", "info"),
        ("args.ddp", "pass", "if args.ddp: dist.init_process_group()", "warning"),
        ("args.rank == -1", "pass", "if args.rank != -1: dist.init_process_group()", "info"),
        ("args.mode == 'a'", "pass", "if args.mode == 'b': dist.init_process_group()", "info"),
        ("args.ddp is False", "pass", "if args.ddp == True: dist.init_process_group()", "info"),
        ("args.ddp is True", "pass", "if args.ddp: dist.init_process_group()", "warning"),
        ("args.size > 1", "pass", "if args.size > 1: dist.init_process_group()", "warning"),
        ("dist.is_initialized()", "pass", "dist.init_process_group()", "warning"),
        ("not config.ready", "pass", "if config.started: dist.init_process_group()", "warning"),
    ],
)
def test_an_option_that_keeps_the_group_away(
    option: str,
    then: str,
    start: str,
    severity: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = OPTION.format(option=option, then=then, start=start)
    assert severities_in("DL301", tmp_path, {"run.py": text}, capsys) == [severity]


@pytest.mark.parametrize(
    ("asserted", "severity"), [("args.mode == 'a'", "info"), ("args.mode == 'b'", "warning")]
)
def test_an_assertion_in_front(
    asserted: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start = "if args.mode == 'b': dist.init_process_group()"
    text = OPTION.format(option="args.path", then="pass", start=start)
    text = text.replace("        write(", f"        assert {asserted}\n        write(")
    assert severities_in("DL301", tmp_path, {"run.py": text}, capsys) == [severity]


LEFT_OUT = """\
import argparse

import torch
import torch.distributed as dist


def write(rows, path):
    torch.save(rows, path)
    dist.barrier()


def present(args):
    write(make(), args.path)


parser = argparse.ArgumentParser()
parser.add_argument("--show", action="store_true")
parser.add_argument("--plain", action="store_false")
parser.add_argument("--dry-run", action="store_true")
parser.add_argument("--mode", default="train")
args = parser.parse_args()
dist.init_process_group("nccl")
if {option}:
    present(args)
"""


@pytest.mark.parametrize(
    ("option", "commands", "severity"),
    [
        ("args.show", ["torchrun --nproc_per_node=8 run.py", "python run.py --show"], "info"),
        ("args.show", ["torchrun --nproc_per_node=8 run.py"], "warning"),
        ("args.show", ["python run.py --show"], "warning"),
        (
            "args.show",
            ["torchrun --nproc_per_node=8 run.py --show", "python run.py --show"],
            "warning",
        ),
        (
            "args.plain",
            ["torchrun --nproc_per_node=8 run.py", "python run.py --plain"],
            "warning",
        ),
        (
            "args.mode == 'show'",
            ["torchrun --nproc_per_node=8 run.py", "python run.py --mode show"],
            "info",
        ),
        (
            "args.mode == 'train'",
            ["torchrun --nproc_per_node=8 run.py", "python run.py --mode train"],
            "warning",
        ),
        ("args.dry_run", ["torchrun --nproc_per_node=8 run.py"], "info"),
        ("args.dry_run", ["torchrun --nproc_per_node=8 run.py --dry-run"], "warning"),
    ],
)
def test_an_option_that_launches_of_several_leave_out(
    option: str,
    commands: list[str],
    severity: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = {
        "run.py": LEFT_OUT.format(option=option),
        "run.sh": "".join(f"{command}\n" for command in commands),
    }
    assert severities_in("DL301", tmp_path, files, capsys) == [severity]


ENCODES = """\
import os

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main(args):
    if args.local_rank != -1:
        dist.init_process_group("nccl")
    model = DistributedDataParallel(make(args), device_ids=[args.local_rank])
    rows = model(questions(args))
    if not os.path.exists(args.folder):
        os.makedirs(args.folder)
    write(rows, args.folder)
    {then}


if __name__ == "__main__":
    main(options())
"""


@pytest.mark.parametrize(
    ("then", "page", "severity"),
    [
        ("pass", _page("python run.py --local_rank -1"), "info"),
        ("pass", "", "warning"),
        ("pass", _page("torchrun --nproc_per_node=8 run.py"), "warning"),
        ("dist.barrier()", _page("python run.py"), "warning"),
        ("print(rows[rank::8])", _page("python run.py"), "warning"),
    ],
)
def test_a_group_whose_processes_divide_nothing(
    then: str,
    page: str,
    severity: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = {"run.py": ENCODES.format(then=then), "README.md": page}
    assert severities_in("DL305", tmp_path, files, capsys) == [severity]


REFUSES = """\
import torch
import torch.distributed as dist


def write(rows, path):
    torch.save(rows, path)
    dist.barrier()


def check(args):
    {refuses}


def main(args):
    check(args)
    dist.init_process_group("nccl")
    if args.show:
        write(make(), args.path)


if __name__ == "__main__":
    main(options())
"""


@pytest.mark.parametrize(
    ("refuses", "found"),
    [
        ("if args.distributed: assert not args.show", []),
        ("if args.distributed: assert args.show + args.test == 0", []),
        ("if args.world_size > 1 and args.show: raise ValueError(args)", []),
        ("assert not (args.multi_gpu and args.show)", []),
        ("if args.distributed: assert args.show", ["warning"]),
        ("if args.distributed and args.test: assert not args.show", ["warning"]),
        ("if not args.distributed: assert not args.show", ["warning"]),
        ("if args.debug: assert not args.show", ["warning"]),
        ("if args.distributed: print(not args.show)", ["warning"]),
    ],
)
def test_what_is_refused_on_several_processes(
    refuses: str, found: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = REFUSES.format(refuses=refuses)
    assert severities_in("DL301", tmp_path, {"run.py": text}, capsys) == found


SEPARATE = """\
import torch
import torch.distributed as dist


def separate_all(rows, model=None, out=None):
    {alone}
    if {test}:
        torch.save(rows, "rows.pt")
    dist.barrier()
    return model


def main():
    separate_all(make())


if __name__ == "__main__":
    main()
"""

EVALUATES = """\
import subprocess

import torch.distributed as dist

from separate import separate_all


def main(net):
    dist.init_process_group("nccl")
    subprocess.run(["ls"])
    separate_all(make(), {given})


if __name__ == "__main__":
    main(make())
"""


@pytest.mark.parametrize(
    ("test", "alone", "given", "severity"),
    [
        ("not model", "pass", "net", "info"),
        ("model is None", "pass", "model=net.module", "info"),
        ("not training", "training = model is not None", "net", "info"),
        ("training", "training = model is not None", "net", "warning"),
        ("not model", "pass", "None", "warning"),
        ("not model", "pass", "out=net", "warning"),
        ("not model", "model = rows", "net", "warning"),
    ],
)
def test_what_launched_programs_pass(
    test: str,
    alone: str,
    given: str,
    severity: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = {
        "separate.py": SEPARATE.format(test=test, alone=alone),
        "train.py": EVALUATES.format(given=given),
    }
    assert severities_in("DL301", tmp_path, files, capsys) == [severity]


FLASH = """\
from transformers import AutoModelForCausalLM

if __name__ == "__main__":
    model = AutoModelForCausalLM.from_pretrained("some/model", attn_implementation="flash_attention_2")
    model.cuda().generate()
"""


def test_what_one_process_suffers_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert severities_in("DL804", tmp_path, {"show.py": FLASH}, capsys) == ["warning"]


MEETS = """\
import argparse

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--dist-url", default="{url}")
args = parser.parse_args()


def main():
    if args.distributed:
        dist.init_process_group("gloo", init_method=args.dist_url, world_size=args.world_size{rank})
    torch.save(make(), "rows.pt")
    dist.barrier()


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("url", "rank", "found"),
    [
        ("tcp://224.66.41.62:23456", "", "info"),
        ("tcp://224.66.41.62:23456", ", rank=args.rank", "warning"),
        ("env://", "", "warning"),
    ],
)
def test_a_group_for_which_a_rank_is_missing(
    url: str, rank: str, found: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = MEETS.format(url=url, rank=rank)
    assert severities_in("DL301", tmp_path, {"run.py": text}, capsys) == [found]


NO_GROUP = STORE.partition("\n\ndef start_ranks")[0]


@pytest.mark.parametrize(
    ("store", "settings", "severity"),
    [
        (NO_GROUP, "settings.model", "info"),
        (NO_GROUP, "settings.trainer", "warning"),
        (STORE, "settings.model", "warning"),
    ],
)
def test_what_a_configuration_names(
    store: str, settings: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = BY_CONFIGURATION.replace("instantiate(settings)", f"instantiate({settings})")
    files = {"store.py": store, "run.py": run}
    assert severities_in("DL505", tmp_path, files, capsys) == [severity]


SPAWNS = """\
import os

import torch.distributed as dist
import torch.multiprocessing as mp

from store import store_rows


def work(rank, options):
    dist.init_process_group("nccl")
    {inside}


def main(options):
    {above}
    if options.distributed:
        mp.spawn(work, nprocs=4, args=(options,))
    else:
        work(0, options)
    {below}


if __name__ == "__main__":
    main(parse())
"""


@pytest.mark.parametrize(
    ("above", "inside", "below", "severity"),
    [
        ("store_rows(make(), 'rows.pt')", "pass", "pass", "info"),
        ("if options.distributed: store_rows(make(), 'rows.pt')", "pass", "pass", "info"),
        ("store_rows(make(), 'rows.pt')", "store_rows(make(), 'rows.pt')", "pass", "warning"),
        ("pass", "store_rows(make(), 'rows.pt')", "pass", "warning"),
        ("pass", "pass", "store_rows(make(), 'rows.pt')", "warning"),
        ("set_up(os.environ['RANK']), store_rows(make(), 'rows.pt')", "pass", "pass", "warning"),
    ],
)
def test_what_stands_above_a_spawn(
    above: str,
    inside: str,
    below: str,
    severity: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = SPAWNS.format(above=above, inside=inside, below=below)
    files = {"store.py": NO_GROUP, "run.py": text}
    assert severities_in("DL505", tmp_path, files, capsys) == [severity]


LAUNCHES = """\
import os
import subprocess

import torch
import torch.distributed as dist


def main(options):
    net = make()
    net.load_state_dict(torch.load(options.path))
    if "RANK" in os.environ:
        dist.barrier()
    words = ["python", "-m"]
    words.append("{module}")
    words += ["work.py"]
    subprocess.run(words, check=True)
    torch.save(net.state_dict(), options.path)


if __name__ == "__main__":
    main(parse())
"""


@pytest.mark.parametrize(
    ("module", "found"), [("torch.distributed.launch", []), ("json.tool", ["warning"])]
)
def test_a_command_that_is_put_together(
    module: str, found: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"run.py": LAUNCHES.format(module=module)}
    assert severities_in("DL505", tmp_path, files, capsys) == found


TRAINS_ROWS = """\
from accelerate import Accelerator

from {store} import store_rows


def train_rows(path):
    accelerator = Accelerator()
    store_rows(make(), path)
"""

BUTTON = """\
import gradio as gr

from {train} import train_rows


def start_training(path):
    train_rows(path)


with gr.Blocks() as page:
    start = gr.Button()
    start.click(fn=start_training, inputs=[])
"""

ROUTE = """\
from fastapi import FastAPI


def routes(app: FastAPI):
    @app.post("/train")
    def start(path):
        from train import train_rows

        train_rows(path)
"""


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({}, "warning"),
        ({"page.py": BUTTON.format(train="train")}, "info"),
        ({"page.py": BUTTON.format(train="extensions.rows_plugin.train")}, "info"),
        ({"routes.py": ROUTE}, "info"),
        ({"page.py": BUTTON.format(train="train"), "library.py": LIBRARY}, "warning"),
        ({"page.py": BUTTON.format(train="train"), "run.sh": "torchrun --nproc_per_node=8 page.py\n"}, "warning"),
        ({"page.py": BUTTON.format(train="train").replace("gradio", "drawing")}, "warning"),
        ({"page.py": BUTTON.format(train="train") + "\nif __name__ == '__main__':\n    start_training(1)\n"}, "warning"),
    ],
    ids=[
        "a library",
        "a button",
        "a button of a plug-in",
        "a route",
        "a button, and a library beside it",
        "a page that is launched",
        "a button of something else",
        "a script with a button",
    ],
)  # fmt: skip
def test_what_a_server_runs(
    files: dict[str, str], severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"store.py": NO_GROUP, "train.py": TRAINS_ROWS.format(store="store"), **files}
    assert severities_in("DL505", tmp_path, files, capsys) == [severity]


ONE_GPU = "# Rows\n\n**Note that this only supports a single GPU for now.**\n"


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({"README.md": ONE_GPU}, "info"),
        ({"rows/README.md": ONE_GPU}, "info"),
        ({"other/README.md": ONE_GPU}, "warning"),
        ({"rows/README.md": ONE_GPU.replace("only supports a", "supports more than a")}, "warning"),
        ({"rows/README.md": ONE_GPU, "run.sh": "torchrun --nproc_per_node=8 rows/show.py\n"}, "warning"),
        ({"README.md": ONE_GPU + _page("torchrun --nproc_per_node=8 train.py")}, "warning"),
        # CoFiPruning da855a8 trainer/trainer_qa.py:70: a class that no script names.
        ({"README.md": ONE_GPU, "rows/show.py": LIBRARY}, "info"),
        ({"README.md": ONE_GPU, "rows/show.py": LIBRARY, "run.sh": "torchrun --nproc_per_node=8 other.py\n"}, "warning"),
        ({"rows/show.py": LIBRARY}, "warning"),
    ],
    ids=[
        "above", "beside", "elsewhere", "of more", "launched all the same", "a page with a launch", "a library",
        "a library of launched programs", "a library of no page",
    ],
)  # fmt: skip
def test_a_page_that_is_of_one_gpu(
    files: dict[str, str], severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"rows/store.py": NO_GROUP, "rows/show.py": WRAPPED, **files}
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
    assert severities_in("DL505", tmp_path, files, capsys) == [severity]


ALIKE = """\
import torch
from accelerate import Accelerator
from train import named


def evaluate(options):
    accelerator = Accelerator()
    model = accelerator.prepare(make(options))
    model.load_state_dict(torch.load(options.path))
    for name in options.names:
        print(named(name), model(name))
    MORE


if __name__ == "__main__":
    evaluate(read())
"""
MADE = """\
from accelerate import Accelerator


def train(options):
    accelerator = Accelerator()
    model = accelerator.prepare(make(options))
    accelerator.save(model.state_dict(), options.path)


def named(name):
    return name.lower()
"""


@pytest.mark.parametrize(
    ("more", "page", "severity"),
    [
        ("pass", "python evaluate.py", "info"),
        ("pass", "", "warning"),
        ("pass", "accelerate launch --num_processes 2 evaluate.py", "warning"),
        ("accelerator.wait_for_everyone()", "python evaluate.py", "info"),
        ("loader = accelerator.prepare(DataLoader(make()))", "python evaluate.py", "warning"),
        ("accelerator.gather(model(options.name))", "python evaluate.py", "warning"),
        ("accelerator.process_index and print(options)", "python evaluate.py", "warning"),
        ("model.train()", "python evaluate.py", "warning"),
    ],
)
def test_what_would_do_the_same_on_each_process(
    more: str, page: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # PoseDiffusion b138198 pose_diffusion/test.py:61: the page starts it with `python`, beside a launch of train.py.
    pages = {"README.md": _page("accelerate launch --num_processes 8 train.py") + _page(page)}
    files = {"evaluate.py": ALIKE.replace("MORE", more), "train.py": MADE, **pages}
    assert severities_in("DL505", tmp_path, files, capsys) == [severity]


TUNES = """\
import os

import torch
from transformers import AutoModel, Trainer, TrainingArguments


class TuningTrainer(Trainer):
    def save_model(self, output_dir=None, _internal_call=False):
        torch.save(self.model.state_dict(), os.path.join(output_dir, "part.bin"))


def main(path, settings):
    model = AutoModel.from_pretrained(path, LOADED)
    TuningTrainer(model=model, args=TrainingArguments(**settings)).train()


if __name__ == "__main__":
    main("model", {})
"""


@pytest.mark.parametrize(
    ("loaded", "found"),
    [
        ('load_in_8bit=True, device_map="auto"', []),
        ("trust_remote_code=True", ["error"]),
        ('device_map={"": int(os.environ["LOCAL_RANK"])} or "auto"', ["error"]),
    ],
)
def test_a_model_on_all_devices_of_one_process(
    loaded: str, found: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # ChatGLM-Tuning 3af1bfd finetune.py:73: the program's own class of trainers
    text = TUNES.replace("LOADED", loaded)
    assert severities_in("DL301", tmp_path, {"tune.py": text}, capsys) == found


COMMANDS = """\
import torch
import torch.distributed as dist


def test(options):
    net = make()
    net.load_state_dict(torch.load(options.path))
    torch.save(net(options).state_dict(), options.out)
    dist.barrier()


def train(options):
    dist.init_process_group("nccl")
    {more}


def main(options):
    {first}
    {choice}


if __name__ == "__main__":
    main(parse())
"""


@pytest.mark.parametrize(
    ("choice", "more", "first", "severity"),
    [
        ("globals()[options.name](options)", "fit()", "pass", "info"),
        ("globals()[options.name](options)", "test(options)", "pass", "warning"),
        ("globals()[options.name](options)", "fit()", "dist.init_process_group()", "warning"),
        ("train(options), test(options)", "fit()", "pass", "warning"),
    ],
)
def test_one_of_several_commands(
    choice: str,
    more: str,
    first: str,
    severity: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = COMMANDS.format(choice=choice, more=more, first=first)
    assert severities_in("DL505", tmp_path, {"run.py": text}, capsys) == [severity]


@pytest.mark.parametrize(
    ("decorator", "severity"), [("app.command()", "info"), ("app.step", "warning")]
)
def test_commands_of_a_command_line(
    decorator: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = COMMANDS.format(choice="app()", more="fit()", first="pass")
    for name in ("test", "train"):
        text = text.replace(f"def {name}(", f"@{decorator}\ndef {name}(")
    assert severities_in("DL505", tmp_path, {"run.py": text}, capsys) == [severity]


JUDGES = """\
import torch
import torch.distributed as dist


class Judge:
    def evaluate(self, model, engine=None):
        if engine is not None:
            torch.save(model, "engine.pt")
        dist.barrier()
"""

TOOL = """\
import torch
import torch.distributed as dist

from judges import Judge


def main(args):
    dist.init_process_group("nccl")
    is_distributed = dist.get_world_size() > 1
    if args.engine:
        assert {asserted}, "not on several"
        engine = "engine.pth"
    else:
        engine = None
    Judge().evaluate(make(), engine)


def entry_point():
    main(parse())
"""


@pytest.mark.parametrize(
    ("asserted", "severity"),
    [
        ("not args.fuse and not is_distributed", "info"),
        ("not is_distributed", "info"),
        ("not args.fuse", "error"),
        ("not (args.fuse and is_distributed)", "error"),
    ],
)
def test_a_value_of_an_option_that_is_refused(
    asserted: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"judges.py": JUDGES, "tool.py": TOOL.format(asserted=asserted)}
    assert severities_in("DL301", tmp_path, files, capsys) == [severity]


def test_a_value_that_is_asked_for_before_it_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = TOOL.format(asserted="not is_distributed").replace(
        "    if args.engine:", "    engine = args.engine\n    if engine:"
    )
    files = {"judges.py": JUDGES, "tool.py": text}
    assert severities_in("DL301", tmp_path, files, capsys) == ["error"]


PARTS = """\
import torch
import torch.distributed as dist


class Parts:
    def save_rows(self, path):
        dist.all_reduce(self.rows)
        torch.save(self.rows, path)


def start():
    dist.init_process_group("nccl")
    return Parts()
"""
ASKED = """\
import torch.distributed as dist
from parts import start


def make(app, request):
    parts = start()
    print(dist.get_rank())

    @app.{decorator}
    def rows():
        path = request.get_json()["path"]

        def act():
            parts.save_rows(path)

        return parts.submit(act)

    return app
"""


@pytest.mark.parametrize(
    ("decorator", "found"),
    [
        ('route("/rows", methods=["POST"])', []),
        ('post("/rows")', []),
        ("listen", ["warning"]),
        ('step("rows")', ["warning"]),
    ],
)
def test_a_path_that_a_request_gives_is_of_one_process(
    decorator: str, found: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # AReaL 4aef98d areal/experimental/weight_update/awex/megatron_adapter.py:145
    files = {
        "parts.py": PARTS,
        "serve.py": ASKED.format(decorator=decorator),
        "run.sh": "torchrun --nproc_per_node 2 serve.py\n",
    }
    assert severities_in("DL301", tmp_path, files, capsys) == found
