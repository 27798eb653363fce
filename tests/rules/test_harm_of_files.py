"""What shows that several ranks come to a file, and whether what they do there does any harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import findings_in, severities, severities_in

GROUP = """
import os
import torch.distributed as dist

_local, _initialized = 0, False


def start():
    global _local, _initialized
    if "RANK" not in os.environ:
        return
    dist.init_process_group("nccl")
    _local = dist.get_rank() % 8
    _initialized = True


def is_local_master():
    return _local == 0


def barrier():
    if _initialized:
        dist.barrier()
"""

MODEL = """
import group


class Model:
    def __init__(self):
        group.barrier()
"""

INFER = """
import os
import torch.distributed

import group
from model import Model


def load(path):
    model = Model()
    os.remove(path)
    return model


if __name__ == "__main__":
    {first}
    model = load("slim.pt")
    with open("out.txt", "w") as f:
        f.write(str(model))
"""

OTHER = """
from infer import load

if __name__ == "__main__":
    load("other.pt")
"""


def test_a_barrier_that_waits_for_a_group_shows_nothing_of_scripts_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # FoundationVision/Infinity 4c27bbb tools/run_infinity.py:306
    files = {"group.py": GROUP, "model.py": MODEL, "infer.py": INFER.format(first="pass")}
    files["other.py"] = OTHER
    assert findings_in("DL303", tmp_path, files, capsys) == []
    assert findings_in("DL301", tmp_path, files, capsys) == []


def test_a_barrier_that_waits_for_a_group_shows_ranks_where_one_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"group.py": GROUP, "model.py": MODEL}
    files["infer.py"] = INFER.format(first="group.init_distributed_mode()")
    files["group.py"] += "\n\ndef init_distributed_mode():\n    start()\n"
    assert findings_in("DL303", tmp_path, files, capsys) == [("infer.py", 11)]


DEBUGS = """
import torch.distributed as dist

import group


def options(args):
    dist.barrier()
    args.debug {flag}
    if args.debug:
        args.log = open(args.out + "/debug.txt", "w")
        args.log.write(args.items[0])
"""


@pytest.mark.parametrize(
    ("flag", "found"),
    [
        ("&= group.is_local_master()", []),
        ("&= dist.get_rank() == 0", []),
        ("&= args.verbose", [("debugs.py", 11)]),
    ],
)
def test_a_flag_that_is_taken_from_the_other_ranks(
    flag: str, found: list[tuple[str, int]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"group.py": GROUP, "debugs.py": DEBUGS.format(flag=flag)}
    assert findings_in("DL301", tmp_path, files, capsys) == found


SAVES = """
from accelerate import Accelerator


def main(model, out, **kwargs):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    accelerator.wait_for_everyone()
    inner = accelerator.unwrap_model(model)
    inner.save_pretrained(out, {arguments})
"""


@pytest.mark.parametrize(
    ("arguments", "asked", "found"),
    [
        ("save_function=accelerator.save", "transformers==4.16.2", 0),
        ("save_function=accelerator.save", "transformers<4.35", 0),
        ("save_function=accelerator.save, safe_serialization=True", "transformers==4.16.2", 1),
        ("save_function=write", "transformers==4.16.2", 1),
        ("save_function=accelerator.save", "transformers==4.35.0", 1),
        ("save_function=accelerator.save", "transformers", 1),
    ],
)
def test_weights_that_a_library_hands_to_the_accelerator(
    arguments: str,
    asked: str,
    found: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text(f"{asked}\n", encoding="utf-8")
    files = {"train.py": SAVES.format(arguments=arguments)}
    assert len(severities_in("DL301", tmp_path, files, capsys)) == found


def test_weights_that_the_copy_of_a_library_hands_to_the_accelerator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        "train.py": f"import transformers\n{SAVES.format(arguments='save_function=accelerator.save')}"
    }
    folder = tmp_path / "transformers"
    folder.mkdir()
    (folder / "__init__.py").write_text("import torch.distributed\n\n__version__ = '4.16.1'\n")
    assert severities_in("DL301", tmp_path, files, capsys) == []


PROCESSES = """
import csv
import os
import torch.distributed as dist
from torch.multiprocessing import Process


def label(rank, world_size, names, out):
    dist.barrier()
    last = rank + 1 if rank < world_size - 1 else len(names)
    with open(out, "w") as f:
        csv.writer(f).writerows(names[rank:last])


def main(names, folder, count):
    for rank in range(count):
        out = os.path.join(folder, {name})
        Process(target=label, args=(rank, count, names, out)).start()
"""


@pytest.mark.parametrize(
    ("name", "found"), [('f"labels_{rank}.csv"', []), ('"labels.csv"', [("label.py", 11)])]
)
def test_a_path_that_each_process_is_handed(
    name: str, found: list[tuple[str, int]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # llama-recipes faae2fd end-to-end-use-cases/Multi-Modal-RAG/scripts/label_script.py:105
    files = {"label.py": PROCESSES.format(name=name)}
    assert findings_in("DL301", tmp_path, files, capsys) == found


ADAPTER = """
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def keep(model, out):
    if {test}:
        state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
        model.save_pretrained(out, state_dict=state)
    else:
        model.save_pretrained(out)
"""


@pytest.mark.parametrize(
    ("test", "found"), [("isinstance(model, FSDP)", [("keep.py", 9)]), ("model.is_ready", [])]
)
def test_a_model_in_fsdp_is_on_several_ranks(
    test: str, found: list[tuple[str, int]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # llama-recipes faae2fd src/llama_cookbook/model_checkpointing/checkpoint_handler.py:277
    files = {"keep.py": ADAPTER.format(test=test)}
    assert findings_in("DL301", tmp_path, files, capsys) == found


ROTATES = """
import shutil
from transformers import Trainer


class Own(Trainer):
    def _inner_training_loop(self, **kwargs):
        for checkpoint in self._sorted_checkpoints(output_dir=self.args.output_dir):
            if checkpoint != self.state.best_model_checkpoint{guard}:
                shutil.rmtree(checkpoint)
"""


@pytest.mark.parametrize(
    ("guard", "found"), [("", [("own.py", 10)]), (" and self.args.should_save", [])]
)
def test_checkpoints_that_every_rank_finds_and_removes(
    guard: str, found: list[tuple[str, int]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # MeZO 552cb1b large_models/trainer.py:689
    assert findings_in("DL303", tmp_path, {"own.py": ROTATES.format(guard=guard)}, capsys) == found


COLLECTS = """
import os
import torch
import torch.distributed as dist


def collected(found, folder, {storage}, several):
    place = {storage} if several else folder
    torch.save(found, os.path.join(place, f"{{dist.get_rank()}}.pth"))
    dist.barrier()
    if dist.get_rank() == 0:
        for rank in range(dist.get_world_size()):
            found += torch.load(os.path.join({storage} if several else folder, f"{{rank}}.pth"))
    return found
"""


@pytest.mark.parametrize(("storage", "severities"), [("hdfs_dir", []), ("other_dir", ["info"])])
def test_files_of_ranks_in_storage_of_all_machines(
    storage: str, severities: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """X-VLM cb4fff1 dataset/utils.py:117."""
    files = {"train.py": COLLECTS.format(storage=storage)}
    assert severities_in("DL310", tmp_path, files, capsys) == severities


EACH_BATCH = """
import json
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def write(rows, path):
    with open(path, "w") as f:
        json.dump(rows, f)


def extract(model, data, path, epochs):
    dist.init_process_group("nccl")
    loader = DataLoader(data, sampler=DistributedSampler(data))
    everything = []
    for batch in loader:
        rows = model(batch).tolist()
        everything += rows
        {each}
    {last}
"""


@pytest.mark.parametrize(
    ("each", "last", "severity"),
    [
        ("write(rows, path)", "", "info"),
        ("write(everything, path)", "", "warning"),
        ("pass", "write(everything, path)", "warning"),
        ("pass", "for epoch in range(epochs): write(model(loader, epoch), path)", "warning"),
    ],
)
def test_what_each_turn_of_a_loop_writes_over(
    each: str, last: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """PixArt-alpha cac2fd3 tools/extract_features.py:251: one process leaves the last batch, too."""
    files = {"extract.py": EACH_BATCH.format(each=each, last=last)}
    assert severities_in("DL301", tmp_path, files, capsys) == [severity]


@pytest.mark.parametrize(("mode", "found"), [("r:xz", False), ("r|*", False), ("x:gz", True)])
def test_modes_of_archives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: str, found: bool
) -> None:
    text = f"""
import tarfile
import torch.distributed as dist


def unpack(path):
    dist.barrier()
    with tarfile.open(path, "{mode}") as archive:
        print(archive)
"""
    severities = severities_in("DL301", tmp_path, {"unpack.py": text}, capsys)
    assert bool(severities) is found


OPENED = """
import torch.distributed as dist

def texts(model, count):
    for _ in range(count):
        dist.broadcast(model.first, 0)
        yield model.last

def write(model, path, rows, more):
    dist.init_process_group("nccl")
    with open(path, "w") as file:
        {above}
        for row in {rows}:
            if dist.get_rank() == 0:
                file.write(row)
"""


@pytest.mark.parametrize(
    ("above", "rows", "expected"),
    [
        ("pass", "rows", "warning"),
        ("pass", "model.generate_all(8)", "info"),
        ("dist.barrier()", "rows", "info"),
        ("if more: dist.barrier()", "rows", "warning"),
        ("print(path)", "sorted(rows)", "warning"),
    ],
)
def test_what_all_wait_for_while_a_file_is_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], above: str, rows: str, expected: str
) -> None:
    """FlagAI 9a885f3 examples/h3t/baseline/megatron/text_generation_utils.py:377."""
    files = {"train.py": OPENED.format(above=above, rows=rows)}
    assert severities_in("DL301", tmp_path, files, capsys) == [expected]


@pytest.mark.parametrize(
    ("data", "severity"),
    [
        ('{"G": generator, "params": params}', "error"),
        ("generator.state_dict()", "error"),
        ("params", "info"),
        ("model_outputs", "info"),
    ],
)
def test_what_is_pickled_into_an_open_file(
    data: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """CodeGen e3e8855 codegen_sources/model/src/utils.py:163: the options; stylegan-t 36ab80c: networks."""
    text = f"""
import pickle
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def keep(generator, model_outputs, params):
    dist.init_process_group("nccl")
    generator = DistributedDataParallel(generator)
    with open(params.path, "wb") as f:
        pickle.dump({data}, f)
"""
    assert severities_in("DL301", tmp_path, {"keep.py": text}, capsys) == [severity]


LOGGED = """
import logging
import os

import torch.distributed as dist


def set_up(logger, folder, again):
    path = os.path.join(folder, "log.txt")
    if again:
        handler = logging.FileHandler(path, "w")
    else:
        handler = logging.FileHandler(path, "a")
    logger.addHandler(handler)
    logger.setLevel({level})
    dist.barrier()


dist.init_process_group("nccl")
set_up(logging.getLogger(), "out", True)
"""


@pytest.mark.parametrize(
    ("level", "severity"),
    [
        ("logging.INFO if dist.get_rank() == 0 else logging.WARN", "info"),
        ("logging.INFO", "warning"),
        ("logging.INFO if again else logging.WARN", "warning"),
    ],
)
def test_a_log_in_which_one_rank_alone_writes_what_is_no_warning(
    level: str, severity: str, tmp_path: Path
) -> None:
    assert severities(tmp_path, "DL301", LOGGED.format(level=level)) == [severity]


LINES = """
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def train(model, batches, out):
    dist.init_process_group("nccl")
    log = open(f"{out}/train.log", "w")
    log.write(str(model))
    model = DistributedDataParallel(model)
    for batch in batches:
        loss = model(batch).mean()
        loss.backward()
        if REACHED:
            log.write(f"{loss.item()}")
"""


@pytest.mark.parametrize(
    ("condition", "severity"), [("dist.get_rank() == 0", "info"), ("loss > 1", "warning")]
)
def test_lines_that_one_rank_alone_writes_are_not_lost_among_those_of_all(
    condition: str, severity: str, tmp_path: Path
) -> None:
    """FFSVC2022_Baseline_System 7375884 train_dist.py:67."""
    text = LINES.replace("REACHED", condition)
    assert severities(tmp_path, "DL301", text) == [severity]


UNPACKED = """
import json
from pathlib import Path

import torch.distributed as dist


def places(folder):
    return Path(folder) / "words", Path(folder) / "counts"


def run(words):
    dist.init_process_group("nccl")
    written, counts = places("out")
    with open(written, "w") as file:
        json.dump(words, file)
    with open({read}) as file:
        print(json.load(file))


run(["a"])
"""


@pytest.mark.parametrize(("read", "severity"), [("counts", "info"), ("written", "warning")])
def test_two_parts_of_one_value_are_two_files(read: str, severity: str, tmp_path: Path) -> None:
    assert severities(tmp_path, "DL301", UNPACKED.format(read=read)) == [severity]


LEFT = """
import json
import os
import shutil

import torch.distributed as dist


def put(source, target, far):
    if not far:
        shutil.copyfile(source, target)
        {ends}
    send(source, target)


dist.init_process_group("nccl")
put("words.json", "out/words.json", False)
"""


@pytest.mark.parametrize(("ends", "severity"), [("return", "info"), ("pass", "warning")])
def test_nothing_below_reads_what_is_written_on_an_arm_that_returns(
    ends: str, severity: str, tmp_path: Path
) -> None:
    assert severities(tmp_path, "DL301", LEFT.format(ends=ends)) == [severity]


READ_BEHIND = """
import json
import torch.distributed as dist


def write(settings, path):
    with open(path, "w") as file:
        json.dump(settings, file)


def start(settings, path, engine, several):
    dist.init_process_group("nccl")
    write(settings, path)
    {between}
    return engine(json.load(open(path)))
"""


@pytest.mark.parametrize(
    ("between", "severity"),
    [
        ("pass", "warning"),
        ("dist.barrier()", "info"),
        ("if several: dist.barrier()", "info"),
        ("if settings['wait']: dist.barrier()", "warning"),
        ("if dist.get_rank(several) == 0: dist.barrier(several)", "warning"),
    ],
)
def test_all_ranks_wait_before_they_read(
    between: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """EVF-SAM 9935dc5 model/unilm/beit3/run_beit3_finetuning.py:310: each rank has closed what it writes."""
    files = {"train.py": READ_BEHIND.format(between=between)}
    assert severities_in("DL301", tmp_path, files, capsys) == [severity]


SAVES_LAST = """
import torch
import torch.distributed as dist
from safetensors.torch import save_file
from torch.nn.parallel import DistributedDataParallel


def train(net, batches, path):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(net)
    for batch in batches:
        model(batch).sum().backward()
    {saves}
    {reads}
"""


@pytest.mark.parametrize(
    ("saves", "reads", "severity"),
    [
        ("net.save_pretrained(path)", "", "warning"),
        ("save_file(net.state_dict(), path)", "", "warning"),
        ("torch.save(net.state_dict(), path)", "", "error"),
        ("net.save_pretrained(path)", "net.from_pretrained(path)", "error"),
    ],
)
def test_the_same_bytes_of_all_ranks(
    saves: str, reads: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """santacoder-finetuning 13b6933 train.py:270: safetensors do not say from which GPU they come."""
    files = {"train.py": SAVES_LAST.format(saves=saves, reads=reads)}
    assert severities_in("DL301", tmp_path, files, capsys) == [severity]
