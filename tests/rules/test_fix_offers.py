"""Which fix a finding offers depends on the file around it, where one cases.py cannot show both."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from distlint.cli import main
from tests.rules.checked import findings_in, offers_in

UNWRAPS = """\
{imports}


def unwrapped(chunk):
    return chunk.module if hasattr(chunk, "module") else chunk
"""


@pytest.mark.parametrize(
    ("imports", "offered"),
    [
        ("import torch", "unsafe"),
        # `unwrap` would leave their wrappers on, and the names of the weights would change.
        ("from megatron.core import mpu", "display"),
        ("import colossalai", "display"),
    ],
)
def test_unwrap_is_only_shown_beside_wrappers_of_other_libraries(
    tmp_path: Path, imports: str, offered: str
) -> None:
    file = tmp_path / "model.py"
    file.write_text(UNWRAPS.format(imports=imports))
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with redirect_stdout(out), pytest.raises(SystemExit):
        main(["check", "--no-cache", "--select", "DL205", "--output-format", "json", str(file)])
    (finding,) = json.loads(out.detach().getvalue())["findings"]
    assert finding["fix"]["applicability"] == offered


GENERATES = """\
import torch.distributed as dist


def ask(tokens):
    dist.broadcast(tokens, 0)
    return tokens
"""
ENDPOINT = """\
import json

import torch.distributed as dist

from generates import ask
{imports}


class Completions{base}:
    def post(self, request):
        tokens = ask(request) if dist.is_initialized() else request
        with open("last.json", "w") as f:
            json.dump((tokens.tolist(), gpu_id), f)
"""


def test_what_answers_requests_runs_on_one_rank(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # megatron-core 0.19.2 inference/text_generation_server/endpoints/completions.py:143: the other ranks take
    # part in the broadcast from a loop of their own.
    served = {
        "generates.py": GENERATES,
        "endpoint.py": ENDPOINT.format(
            imports="from flask_restful import Resource", base="(Resource)"
        ),
    }
    assert findings_in("DL301", tmp_path, served, capsys) == []
    plain = {**served, "endpoint.py": ENDPOINT.format(imports="", base="")}
    assert findings_in("DL301", tmp_path, plain, capsys) == [("endpoint.py", 12)]


SAVES = """\
import json
import os


class Encoder:
    def save(self, path):
        with open(os.path.join(path, "modules.json"), "w") as f:
            json.dump((self.modules, gpu_id), f)
{more}
"""
CALLBACK = """\
from transformers import TrainerCallback

from encoder import Encoder


class Keeps(TrainerCallback):
    def __init__(self, folder):
        self.folder, self.model = folder, Encoder()

    def on_evaluate(self, args, state, control, **kwargs):
        self.model.save(self.folder)
"""


def test_a_guard_goes_to_the_caller_where_others_name_their_own_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # sentence-transformers 6.2.0 sentence_transformers/base/model.py:789
    alone = {"encoder.py": SAVES.format(more=""), "callback.py": CALLBACK}
    assert offers_in("DL301", tmp_path, alone, capsys) == [("encoder.py", 7, "unsafe")]
    pushes = "\n    def push_to_hub(self, folder):\n        self.save(folder)\n"
    shared = {**alone, "encoder.py": SAVES.format(more=pushes)}
    assert offers_in("DL301", tmp_path, shared, capsys) == [("encoder.py", 7, "unsafe")]
    with pytest.raises(SystemExit):
        main(["fix", "--apply", "--unsafe-fixes", "--no-cache", "--select", "DL301", str(tmp_path)])
    assert (tmp_path / "encoder.py").read_text() == shared["encoder.py"]
    assert (
        "        if state.is_world_process_zero:\n            self.model.save(self.folder)\n"
        in (tmp_path / "callback.py").read_text()
    )


JSON_WRITER = """\
import json


def save_json(data, filename):
    with open(filename, "w") as f:
        json.dump((data, gpu_id), f)
"""
SCORES = """\
import torch.distributed as dist

from measuring import measured
from writes import save_json


def main(scores, folder):
    dist.init_process_group("gloo")
    save_json(scores, folder + "/first.json")
    dist.barrier()
{more}

main(measured(), "out")
"""
IN_SCORES = '    save_json(scores, folder + "/{}.json")\n    dist.barrier()\n'


@pytest.mark.parametrize(
    ("more", "offered", "calls"),
    [
        # InternVideo 3965eef InternVideo1/Pretrain/ViCLIP/utils/basic_utils.py:234
        (IN_SCORES.format("second"), "safe", 2),
        ("    if dist.get_rank() == 0:\n    " + IN_SCORES.format("own").split("\n")[0], "safe", 1),
        ("".join(map(IN_SCORES.format, range(5))), "display", 0),
        ("    print(save_json(scores, folder))\n", "display", 0),
    ],
)
def test_ranks_are_for_those_who_call_what_only_writes(
    more: str, offered: str, calls: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"writes.py": JSON_WRITER, "scores.py": SCORES.format(more=more)}
    assert offers_in("DL301", tmp_path, files, capsys) == [("writes.py", 5, offered)]
    with pytest.raises(SystemExit):
        main(["fix", "--apply", "--unsafe-fixes", "--no-cache", "--select", "DL301", str(tmp_path)])
    assert (tmp_path / "writes.py").read_text() == JSON_WRITER
    assert (tmp_path / "scores.py").read_text().count("run_on_main(save_json, scores, ") == calls


FEATURES = """\
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
{more}

class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.extractor = nn.Linear(2, 2)


def features(batches):
    torch.distributed.init_process_group()
    network = DistributedDataParallel(Network())
    return [network.extractor(batch) for batch in batches]


if __name__ == "__main__":
    features([])
"""


def test_a_script_that_trains_nothing_may_go_past_the_wrapper(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # fairseq 0.12.2 examples/wav2vec/vq-wav2vec_featurize.py:150
    files = {"features.py": FEATURES.format(more="")}
    assert offers_in("DL201", tmp_path, files, capsys) == [("features.py", 15, "unsafe")]
    files = {"features.py": FEATURES.format(more="from torch.optim import SGD")}
    assert offers_in("DL201", tmp_path, files, capsys) == [("features.py", 15, "display")]


KEPT = """
from accelerate import Accelerator

kept = None


def accelerator():
    global kept
    {test}:
        kept = Accelerator()
    return kept
"""
WRITES = """
import json

from one import accelerator


def prepare(settings, path):
    with open(path, "w") as out:
        json.dump((settings, gpu_id), out)
    accelerator().print("written")


def train(settings, path):
    prepare(settings, path)
    accelerator().wait_for_everyone()
"""


@pytest.mark.parametrize(
    ("test", "offer"),
    [
        ("if kept is None", "unsafe"),  # whoever asks first makes it, in front of the write, too
        ("if not kept", "unsafe"),
        ("if True", "display"),  # made below: every process takes itself for rank 0
    ],
)
def test_a_write_in_front_of_an_accelerator_that_a_global_keeps(
    test: str, offer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"one.py": KEPT.format(test=test), "two.py": WRITES}
    assert [row[2] for row in offers_in("DL301", tmp_path, files, capsys)] == [offer]


SEEDS = """\
import random

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Sampler


class Batches(Sampler):
    def __init__(self, data{more}):
        self.data = data

    def __iter__(self):
        order = list(range(len(self.data)))
        {shuffles}
        return iter(order)


def main(model, critic, data, optimizer):
    dist.init_process_group("nccl")
    torch.manual_seed(7)
    model = DistributedDataParallel(model)
    if critic is not None:
        critic = DistributedDataParallel(critic)
    for batch in DataLoader(data, sampler=Batches(data{given})):
        noise = torch.randn_like(batch)
        loss = model(batch + noise).sum()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("more", "shuffles", "offered"),
    [
        # Amphion d3de90f models/base/base_sampler.py:118: its order has to be one on all ranks.
        ("", "order = torch.randperm(len(order)).tolist()", "display"),
        ("", "random.shuffle(order)", "unsafe"),  # of a stream that nobody has seeded
        (", rank", "random.Random(rank).shuffle(order)", "unsafe"),
        ("", "order.reverse()", "unsafe"),
    ],
)
def test_ranks_are_not_seeded_apart_where_a_sampler_of_the_project_shuffles(
    more: str, shuffles: str, offered: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SEEDS.format(more=more, given=", 0" if more else "", shuffles=shuffles)
    assert [o for _, _, o in offers_in("DL401", tmp_path, {"train.py": text}, capsys)] == [offered]


def test_ranks_are_seeded_apart_behind_the_last_wrap_under_a_test(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(SEEDS.format(more="", given="", shuffles="order.reverse()"))
    with pytest.raises(SystemExit):
        main(["fix", "--apply", "--unsafe-fixes", "--no-cache", "--select", "DL401", str(file)])
    lines = file.read_text().splitlines()
    assert lines[lines.index("    decorrelate(7)") - 1] == (
        "        critic = DistributedDataParallel(critic)"
    )


READS = """\
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.kind = "plain"

    def forward(self, x):
        return self.inner(x)

    def score(self, x, kind):
        return self.inner(x).sum()


def train(batches, optimizer):
    model = DistributedDataParallel(Net())
    for batch in batches:
        {reads}
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("reads", "offered"),
    [
        # RL4LMs 97df0bd causal_policy.py:461: with half of it repaired the statement raises as before.
        ("loss = model.score(batch, model.kind)", ["display", "display"]),
        ("kind = model.kind\n        loss = model.score(batch, kind)", ["display", "display"]),
        # What does not run whenever the other does is repaired by itself.
        (
            "kind = model.kind\n        loss = model.score(batch, kind) if batch.any() else model(batch)",
            ["safe", "display"],
        ),
    ],
)
def test_a_statement_is_not_repaired_by_half(
    reads: str, offered: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"train.py": READS.format(reads=reads)}
    assert [o for _, _, o in offers_in("DL201", tmp_path, files, capsys)] == offered


RANKED = """\
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Base:
    def __init__(self):
        dist.init_process_group("nccl")
        self.distributed = dist.is_initialized()
        {kept}

    {property}


class Trainer(Base):
    def wrap(self, model):
        return DistributedDataParallel(model.cuda(), device_ids=[dist.get_rank()])
"""


@pytest.mark.parametrize(
    ("kept", "property_", "wanted"),
    [
        # contrastors 2f7bf1d src/contrastors/trainers/base.py:115
        (
            "",
            '@property\n    def index(self):\n        return int(os.environ.get("LOCAL_RANK", -1)) if self.distributed else 0',
            "self.index",
        ),
        ('self.local = int(os.environ["LOCAL_RANK"])', "", "self.local"),
        ('self.local = int(os.environ["RANK"])', "", "rank_info().local_rank"),
        (
            'self.local = int(os.environ["LOCAL_RANK"])',
            "def reset(self):\n        self.local = 0",
            "rank_info().local_rank",
        ),
    ],
)
def test_the_local_rank_of_the_class_is_taken_over(
    kept: str, property_: str, wanted: str, tmp_path: Path
) -> None:
    file = tmp_path / "train.py"
    file.write_text(RANKED.format(kept=kept, property=property_))
    with pytest.raises(SystemExit):
        main(["fix", "--apply", "--no-cache", "--select", "DL504", str(file)])
    assert f"device_ids=[{wanted}]" in file.read_text()


GLOBAL = """\
import torch.distributed as dist
from accelerate import Accelerator
from transformers import PreTrainedTokenizer

accelerator = Accelerator()
{again}

def main(tokenizer: PreTrainedTokenizer, folder{more}):
    dist.barrier()
    tokenizer.save_pretrained(folder, push_to_hub=True)
"""


@pytest.mark.parametrize(
    ("again", "more", "taken"),
    [
        # StyleTTS2 5cedc71 train_finetune_accelerate.py:35
        ("", "", True),
        ("", ", accelerator", False),
        ("accelerator = None", "", False),
    ],
)
def test_the_accelerator_of_the_file_is_taken_over(
    again: str, more: str, taken: bool, tmp_path: Path
) -> None:
    file = tmp_path / "train.py"
    file.write_text(GLOBAL.format(again=again, more=more))
    with pytest.raises(SystemExit):
        main(["fix", "--apply", "--no-cache", "--select", "DL301", str(file)])
    assert ("if accelerator.is_main_process:" in file.read_text()) is taken


OWN_GUARD = """\
import json

import torch.distributed as dist


def is_main_process():
    return {answer}


def say(text):
    if is_main_process():
        print(text)


def write(keys, path):
    with open(path, "w") as f:
        json.dump((keys, gpu_id), f)
    dist.barrier()
    say("written")
"""


@pytest.mark.parametrize(
    ("answer", "guard"),
    [
        # diffusion-pipe 8f83dbf utils/dataset.py:527
        ("not dist.is_initialized() or dist.get_rank() == 0", "if is_main_process():"),
        ("dist.get_rank() == 0", "if rank_info().rank == 0:"),  # raises without a group
    ],
)
def test_the_guard_of_the_file_is_taken_over(answer: str, guard: str, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(OWN_GUARD.format(answer=answer))
    with pytest.raises(SystemExit):
        main(["fix", "--apply", "--unsafe-fixes", "--no-cache", "--select", "DL301", str(file)])
    assert f"    {guard}\n        with open" in file.read_text()


MISC = """\
import torch.distributed as dist


def get_rank():
    return dist.get_rank() if dist.is_initialized() else 0


def is_main_process():
    return get_rank() == 0


def is_late(epoch):
    return epoch > 10
"""
WITH_MISC = """\
import json

import torch.distributed as dist

{imports}


def main(keys, path, epoch):
    with open(path, "w") as f:
        json.dump((keys, gpu_id), f)
    dist.barrier()
    if {test}:
        print("written")
"""


@pytest.mark.parametrize(
    ("imports", "test", "guard"),
    [
        # AudioMAE bd60e29 main_finetune_as.py:503
        ("import misc", "keys and misc.is_main_process()", "misc.is_main_process()"),
        ("import misc", "misc.is_main_process()", "misc.is_main_process()"),
        ("from misc import is_main_process", "is_main_process() and keys", "is_main_process()"),
        ("import misc as m", "m.is_main_process() and epoch % 5 == 0", "m.is_main_process()"),
        # Cream 4a13c40 AutoFormer/evolution.py:467 asks for the rank itself.
        ("import misc", "misc.get_rank() == 0 and misc.is_late(epoch)", "misc.is_main_process()"),
        ("import misc", "keys", "misc.is_main_process()"),
        ("import misc as keys", "epoch", "rank_info().rank == 0"),
        ("from misc import is_main_process, is_late", "is_late(epoch)", "is_main_process()"),
        ("from misc import is_late", "is_late(epoch)", "rank_info().rank == 0"),
    ],
)
def test_the_guard_of_another_file_is_taken_over(
    imports: str, test: str, guard: str, tmp_path: Path
) -> None:
    (tmp_path / "misc.py").write_text(MISC)
    file = tmp_path / "train.py"
    file.write_text(WITH_MISC.format(imports=imports, test=test))
    arguments = ["fix", "--apply", "--unsafe-fixes", "--no-cache", "--select", "DL301"]
    with pytest.raises(SystemExit):
        main([*arguments, str(tmp_path)])
    assert f"    if {guard}:\n        with open" in file.read_text()


NAMED = """\
import json

import torch.distributed as dist


def main(keys, path):
    {name} = not dist.is_initialized() or dist.get_rank() == 0
    if {name}:
        print(keys)
    with open(path, "w") as f:
        json.dump((keys, gpu_id), f)
    dist.barrier()
"""


@pytest.mark.parametrize(
    ("name", "taken"),
    [("is_first", True), ("login_rank", True), ("should_print", False), ("show_progress", False)],
)
def test_a_test_that_is_named_for_words_guards_no_write(
    name: str, taken: bool, tmp_path: Path
) -> None:
    file = tmp_path / "train.py"
    file.write_text(NAMED.format(name=name))
    with pytest.raises(SystemExit):
        main(["fix", "--apply", "--unsafe-fixes", "--no-cache", "--select", "DL301", str(file)])
    guard = name if taken else "rank_info().rank == 0"
    assert f"    if {guard}:\n        with open" in file.read_text()


ARGUMENTS = """\
import torch
from transformers import Trainer, TrainingArguments
from trl import SFTConfig


class Mine(TrainingArguments):
    pass


def main(model, rows):
    {first}
    {second}
    trainer = Trainer(model, args)
    trainer.train()


if __name__ == "__main__":
    main(None, [1])
"""


@pytest.mark.parametrize("made", ["Mine", "SFTConfig", "TrainingArguments"])
def test_arguments_of_a_trainer_make_the_group(
    made: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """sentence-transformers model_distillation.py:156: what stands above them waits for nobody."""
    lines = ('torch.save(rows.mean(), "rows.pt")', f'args = {made}("out")')
    for folder, (first, second), offered in (
        ("above", lines, "display"),
        ("below", lines[::-1], "safe"),
    ):
        (tmp_path / folder).mkdir()
        files = {"train.py": ARGUMENTS.format(first=first, second=second)}
        found = offers_in("DL301", tmp_path / folder, files, capsys)
        assert [safety for _, _, safety in found] == [offered]


BUILT = """\
import lightning.pytorch as pl
import torch


class Base(pl.LightningModule):
    pass


class Net(Base):
    def {method}(self):
        super().{method}()
        torch.save(torch.rand(1), "kept.pt")
        self.layer = torch.nn.Linear(2, 2)

    def training_step(self, batch, index):
        return self.layer(batch).sum()


def main(loader):
    trainer = pl.Trainer(devices=4, strategy="ddp")
    trainer.fit(Net(), loader)


if __name__ == "__main__":
    main([])
"""


@pytest.mark.parametrize(
    ("method", "offered"),
    # LoRA c4593f0: Lightning sets no RANK, and makes the group in `fit()`.
    [("__init__", "display"), ("on_fit_start", "safe")],
)
def test_a_constructor_runs_before_lightning_makes_the_group(
    method: str, offered: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"train.py": BUILT.format(method=method)}
    assert offers_in("DL301", tmp_path, files, capsys) == [("train.py", 12, offered)]


TUNED = """\
import fire
from transformers import Trainer, TrainingArguments


def main(model, rows, tokenizer):
    trainer = Trainer(model, TrainingArguments("out"), train_dataset=rows)
    trainer.train()
    tokenizer.save_pretrained("out", push_to_hub=True)
    {behind}


{start}
"""
STARTED = 'if __name__ == "__main__":\n    main(None, [1], None)'
WAITS = "trainer.accelerator.wait_for_everyone()"
RUNTIME = "run_on_main(tokenizer.save_pretrained"


@pytest.mark.parametrize(
    ("behind", "start", "required", "waits", "guard"),
    [
        # Chinese-Vicuna bd1658d finetune.py:283: the script ends there.
        ('print("done")', STARTED, "", False, True),
        ("pass", 'if __name__ == "__main__":\n    fire.Fire(main)', "", False, True),
        ("pass", "main(None, [1], None)\nprint('end')", "", False, True),
        ('rows = open("out/vocab.txt").read()', STARTED, "", True, True),
        ("pass", f"{STARTED}\n    evaluate()", "", True, True),
        ("pass", "for rows in ([1], [2]):\n    main(None, rows, None)", "", True, True),
        ("pass", "", "", True, True),  # nobody knows who calls it
        # Before 4.30 the trainer has no accelerator.
        ("pass", "", "transformers==4.28.1", False, False),
        ("pass", STARTED, "transformers<4.30", False, True),
        ("pass", "", "transformers>=4.31", True, True),
    ],
)
def test_who_waits_for_what_a_trainer_has_written(
    behind: str, start: str, required: str, waits: bool, guard: bool, tmp_path: Path
) -> None:
    (tmp_path / "requirements.txt").write_text(f"{required}\n")
    file = tmp_path / "tune.py"
    file.write_text(TUNED.format(behind=behind, start=start))
    arguments = ["fix", "--apply", "--unsafe-fixes", "--no-cache", "--select", "DL301"]
    with pytest.raises(SystemExit):
        main([*arguments, str(tmp_path)])
    text = file.read_text()
    assert (WAITS in text) is waits
    assert ("if trainer.is_world_process_zero():" in text) is guard
    assert (RUNTIME in text) is not guard


COMMON = """\
import torch.distributed as dist


def here():
    return dist.get_rank()
"""

COPY = """\
import torch
from accelerate import Accelerator


class Decoder:
    def __init__(self):
        self.accelerator = Accelerator()
        self.accelerator.wait_for_everyone()
        torch.save(torch.rand(1), "state.pt")
"""


@pytest.mark.parametrize(
    ("main", "offered"),
    [
        # Amphion d3de90f models/codec/codec_inference.py: everybody imports the other one.
        ("from new import Decoder", {"new.py": "safe", "old.py": "display"}),
        ("from new import Decoder\nimport old", {"new.py": "safe", "old.py": "safe"}),
        ("Decoder = print", {"new.py": "safe", "old.py": "safe"}),
    ],
)
def test_a_copy_that_nobody_imports_is_left_alone(
    main: str, offered: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    started = f"import torch.distributed as dist\nfrom common import here\n{main}\n\nif __name__ == '__main__':\n    Decoder()\n"
    copy = f"from common import here\n{COPY}"
    files = {"main.py": started, "common.py": COMMON, "new.py": copy, "old.py": copy}
    found = offers_in("DL301", tmp_path, files, capsys)
    assert {path: safety for path, _, safety in found} == offered


WANTED = """\
import torch.distributed as dist
from timm.data import create_dataset


def main(args):
    dist.init_process_group("nccl")
    images = create_dataset(args.name, root=args.root, download={download})
    dist.barrier()
    return images
"""


@pytest.mark.parametrize(
    ("download", "offered"), [("True", ["safe"]), ("args.download", ["unsafe"])]
)
def test_a_download_that_an_option_asks_for(
    download: str, offered: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"train.py": WANTED.format(download=download)}
    found = offers_in("DL301", tmp_path, files, capsys)
    assert [safety for _, _, safety in found] == offered


OF_A_TRAINER = """\
from transformers import AutoModel, Trainer, TrainingArguments


def main(folder, data):
    model = AutoModel.from_pretrained("base")
    trainer = Trainer(model=model, args=TrainingArguments(folder), train_dataset=data)
    trainer.train()
    model.save_pretrained(folder)


main("out", [])
"""


@pytest.mark.parametrize(
    ("option", "offered"), [("", "unsafe"), (" --fsdp 'full_shard auto_wrap'", "display")]
)
def test_a_model_whose_layers_a_trainer_shards_is_saved_by_the_trainer(
    tmp_path: Path, option: str, offered: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"train.py": OF_A_TRAINER, "run.sh": f"torchrun --nproc_per_node 8 train.py{option}\n"}
    assert offers_in("DL301", tmp_path, files, capsys) == [("train.py", 8, offered)]
