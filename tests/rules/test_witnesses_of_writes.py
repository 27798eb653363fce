"""What shows that a write by all ranks does harm, and what is no more than information."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import severities_in

HEAD = """
import argparse, json, os, pickle, shutil
import h5py
import numpy as np
import torch
import torch.distributed as dist
import yaml
from lightning.pytorch import LightningDataModule
from omegaconf import OmegaConf
from torch.utils.data import DataLoader, DistributedSampler
from transformers import AutoImageProcessor, AutoTokenizer


def main(args, cfg, model, tokenizer, data, **kwargs):
    dist.init_process_group("nccl")
    out = os.path.join(args.out, "settings.json")
"""

NOTHING_SHOWS_HARM = {
    "the configuration": "with open(out, 'w') as f:\n        json.dump(cfg, f)",
    "lines of it": "with open(out, 'w') as f:\n        for k, v in cfg.items():\n            f.write(f'{k}: {v}')",
    "the arguments": "with open(out, 'w') as f:\n        json.dump(vars(args), f, indent=2)",
    "without a name": "yaml.dump(dict(cfg), open(out, 'w'))",
    "a dict of both": "kept = {'cfg': dict(cfg)}\n    kept['lr'] = args.lr\n    json.dump(kept, open(out, 'w'))",
    "by its library": "OmegaConf.save(cfg, out)",
    "by its class": "model.config.save_pretrained(args.out)",
    "a copy": "shutil.copy(args.config, out)",
    "a copy into a folder that is handed on": "folder = args.folder\n    log = open_log(os.path.join(folder, 'log.txt'))\n    shutil.copy(args.config, folder)\n    start(model, folder)",
    "the script": "shutil.copyfile(__file__, os.path.join(args.out, 'main.py'))",
    "a tokenizer": "tokenizer.save_pretrained(args.out)",
    "a tokenizer that others hold": "model.tokenizer.save_pretrained(args.out)",
    "what a callback is given": "kwargs['tokenizer'].save_pretrained(args.out)",
    "a processor that was loaded": "image_processor = AutoImageProcessor.from_pretrained(args.base)\n    image_processor.save_pretrained(args.out)",
    "a tokenizer beside the folders of others": "from pathlib import Path\n    last = list(Path(args.out).glob('checkpoint-*'))\n    tokenizer.save_pretrained(args.out)",
    "nothing": "torch.save({}, out)",
    "what it draws afterwards": "order = [1, 2]\n    with open(out, 'w') as f:\n        f.write(str(order))\n    order = np.random.permutation(order)\n    print(order)",
    "what rank 0 writes behind a model's answers": "drawn = torch.zeros(1, 8)\n    with open(out, 'w') as f:\n        for _ in range(64):\n            drawn = torch.multinomial(model(drawn), 1)\n        if dist.get_rank() == 0:\n            f.write(str(drawn.tolist()))",
    "settings as a checkpoint": "torch.save({'cfg': cfg, 'version': 2}, out)",
    "a card for people": "card = describe(model, data)\n    with open(f'{args.out}/README.md', 'w') as f:\n        f.write(card)",
    "under a name that other files have, too": "with open(out, 'w') as f:\n        json.dump(cfg, f)\n    with open(args.data) as f:\n        lines = list(f)",
    "by keywords": "with open(out, 'w') as f:\n        OmegaConf.save(config=cfg, f=f)",
    "that it is done": "import time\n    with open(os.path.join(args.out, 'done.txt'), 'w') as f:\n        f.write('at ' + time.ctime())",
    "beside a file of the same name": "with open(out, 'w') as f:\n        json.dump(cfg, f)\n    other = json.load(open('local/settings.json'))",
    "all options among the settings": "cfg.update(vars(args))\n    OmegaConf.save(cfg, out)",
    "a kind of device among the settings": "from mmseg.utils import get_device\n    cfg.device = args.device or get_device()\n    OmegaConf.save(cfg, out)",
    "a device without a number": "cfg.device = 'cuda'\n    OmegaConf.save(cfg, out)",
    "pickled options": "options = argparse.ArgumentParser().parse_args()\n    options.rank = dist.get_rank()\n    torch.save(options, os.path.join(args.out, 'options.bin'))",
    "options in a pickle": "options, _ = argparse.ArgumentParser().parse_known_args()\n    options.gpu = dist.get_rank()\n    pickle.dump(options, open(os.path.join(args.out, 'options.pkl'), 'wb'))",
    "sums of all ranks": "total = torch.zeros(8)\n    for batch in DataLoader(data, sampler=DistributedSampler(data)):\n        total += model(batch)\n    dist.all_reduce(total)\n    torch.save({'total': total}, out)",
    "a configuration for the number of ranks": "size = {'train_batch_size': args.batch * dist.get_world_size()}\n    with open(out, 'w') as f:\n        f.write(json.dumps(size, indent=2))",
    "read on the other arm": "if args.train:\n        with open(out, 'w') as f:\n            json.dump(cfg, f)\n    else:\n        cfg = json.load(open(os.path.join(args.base, 'settings.json')))",
    "for DeepSpeed, which is never called": "import deepspeed\n    initialize = deepspeed.initialize\n    args.deepspeed_config = out\n    with open(args.deepspeed_config, 'w') as f:\n        json.dump(cfg, f)\n    print(initialize is None)",
    "what the path is made of": "url, tag = fetch(args)\n    with open(f'{args.out}/{url}-{tag}.json', 'w') as f:\n        json.dump({'url': url, 'tag': tag}, f)",
    "scores": "scores = model(data)\n    with open(out, 'w') as f:\n        json.dump(scores, f)",
    "scores beside it": "kept = {'cfg': dict(cfg)}\n    kept['loss'] = model(data)\n    json.dump(kept, open(out, 'w'))",
    "options in words": "options = argparse.ArgumentParser().parse_args()\n    options.rank = dist.get_rank()\n    with open(out, 'w') as f:\n        json.dump(vars(options), f)",
    "its number among the settings": "cfg['gpu'] = args.gpu\n    OmegaConf.save(cfg, out)",
    "the clock": "import time\n    with open(out, 'w') as f:\n        f.write(str(time.time()))",
    "the names in a set": "with open(out, 'w') as f:\n        f.write(str({'a', 'b'}))",
    "arrays": "with open(out, 'w') as f:\n        json.dump(np.load(args.features), f)",
    "handed on": "with open(out, 'w') as f:\n        json.dump(cfg, f)\n        add_results(f)",
    "a tokenizer of its texts": "tokenizer.train_from_iterator(data)\n    tokenizer.save_pretrained(args.out)",
    "a new tokenizer of its texts": "tokenizer = tokenizer.train_new_from_iterator(data, 800)\n    tokenizer.save_pretrained(args.out)",
    "scores in lists of it": "kept = {'loss': []}\n    kept['loss'].append(model(data))\n    json.dump(kept, open(out, 'w'))",
    "scores in a list that it makes": "kept = dict(cfg)\n    kept.setdefault('loss', []).append(model(data))\n    json.dump(kept, open(out, 'w'))",
    "all options among the settings, its rank too": "args.rank = dist.get_rank()\n    cfg.update(vars(args))\n    OmegaConf.save(cfg, out)",
    "a device with a number": "cfg.device = f'cuda:{args.local_rank}'\n    OmegaConf.save(cfg, out)",
    "a device that the project chooses": "cfg.device = get_device()\n    OmegaConf.save(cfg, out)",
    "when what was done": "import time\n    with open(os.path.join(args.out, 'done.txt'), 'w') as f:\n        f.write(str(model(data)) + time.ctime())",
    "used when it is open": "with open(out, 'w') as f:\n        json.dump(cfg, f)\n        send(f)",
    "what one seed draws": "np.random.seed(args.seed)\n    order = np.random.permutation(8)\n    with open(out, 'w') as f:\n        f.write(str(order))",
    "read before it is written": "known = json.load(open(out))\n    with open(out, 'w') as f:\n        json.dump({**known, 'lr': args.lr}, f)",
    "lines of a list": "with open(out, 'w') as f:\n        for name in sorted(data):\n            f.write(name)",
    "a picture": "import matplotlib.pyplot as plt\n    plt.savefig(out)",
    "given to what writes as well": "with open(out, 'w') as f:\n        json.dump(cfg, f)\n    save_all(model, out)",
    "its rank": "args.rank = dist.get_rank()\n    with open(out, 'w') as f:\n        json.dump(vars(args), f)",
}

SHOWN = {
    "pickled options that are read": "options = argparse.ArgumentParser().parse_args()\n    options.rank = dist.get_rank()\n    torch.save(options, out)\n    options = torch.load(out)",
    "sums beside a state": "total = torch.zeros(8)\n    for batch in DataLoader(data, sampler=DistributedSampler(data)):\n        total += model(batch)\n    dist.all_reduce(total)\n    torch.save({'total': total, 'model': model.state_dict()}, out)",
    "sums of its own": "total = torch.zeros(8)\n    for batch in DataLoader(data, sampler=DistributedSampler(data)):\n        total += model(batch)\n    torch.save({'total': total}, out)",
    "tensors": "torch.save(model.state_dict(), out)",
    "a copy that is handed on": "path = args.copied\n    log = open_log(path)\n    shutil.copy(args.config, path)\n    start(model, path)",
    "a copy of weights": "shutil.copy(os.path.join(args.out, 'latest.pth'), out)",
    "read by its variable": "with open(out, 'w') as f:\n        json.dump(cfg, f)\n    engine = start(out)",
    "read as it was given": "with open(args.meta, 'w') as f:\n        json.dump(cfg, f)\n    meta = open(args.meta).read()",
    "for DeepSpeed": "args.deepspeed_config = out\n    with open(args.deepspeed_config, 'w') as f:\n        json.dump(cfg, f)",
    "for DeepSpeed, by another name": "import deepspeed\n    initialize = deepspeed.initialize\n    args.deepspeed_config = out\n    with open(args.deepspeed_config, 'w') as f:\n        json.dump(cfg, f)\n    engine = initialize(args, model)",
    "read behind the arm that writes": "if args.train:\n        with open(out, 'w') as f:\n            json.dump(cfg, f)\n    else:\n        cfg = json.load(open(args.base + '/settings.json'))\n    cfg = json.load(open(args.out + '/settings.json'))",
    "a tokenizer that is read": "tokenizer.save_pretrained(args.out)\n    other = AutoTokenizer.from_pretrained(args.out)",
    "a tokenizer that is uploaded by each": "tokenizer.save_pretrained(args.out, push_to_hub=True)",
    "a tokenizer in the files of a pattern": "from pathlib import Path\n    tokenizer.save_pretrained(args.out)\n    for name in Path(args.out).glob('*.json'):\n        send(name)",
    "a model": "tokenizer_model.save_pretrained(args.out)",
    "a state among settings": "torch.save({'cfg': cfg, 'model': model.state_dict()}, out)",
    "a card of each rank": "with open(f'{args.out}/README.md', 'w') as f:\n        f.write(f'By {args.rank}')",
    "read by its variable behind another write": "with open(out, 'w') as f:\n        json.dump(cfg, f)\n    save_all(model, out)\n    engine = start(out)",
    "fetched": "import requests\n    with open(out, 'wb') as f:\n        f.write(requests.get(args.url).content)",
    "unpacked": "import zipfile\n    zipfile.ZipFile(args.data).extractall(args.out)",
    "a link": "os.symlink(args.data, out)",
    "a state of the trainer": "from transformers import TrainerState\n    state = TrainerState()\n    state.save_to_json(out)",
    "how long it took": "from transformers import Trainer\n    trainer = Trainer(model)\n    scores = trainer.evaluate()\n    json.dump(scores, open(out, 'w'))",
    "its part of the data": "losses = [model(batch) for batch in DataLoader(data, sampler=DistributedSampler(data))]\n    json.dump(losses, open(out, 'w'))",
    "what it has drawn": "order = np.arange(8)\n    np.random.shuffle(order)\n    with open(out, 'w') as f:\n        f.write(str(order))",
    "answers one by one": "with open(out, 'w') as f:\n        for question in data:\n            f.write(model.generate(question))",
    "a log": "import logging\n    logging.basicConfig(handlers=[logging.FileHandler(out, mode='w')])",
    "a stream of a log": "import logging\n    with open(out, 'w') as f:\n        logging.basicConfig(stream=f)\n        train(model)",
    "read and written again": "with open(out, 'r+') as f:\n        known = json.load(f)\n        f.seek(0)\n        json.dump({**known, 'lr': args.lr}, f)",
    "arrays of numbers": "np.savez(out, scores=model(data))",
    "a list of what it has found": "found = []\n    for each in data:\n        found.append(model(each))\n    torch.save(found, out)",
    "put together by a sign": "name = args.name\n    with open(os.path.join(args.out, name + '.json'), 'w') as f:\n        json.dump(cfg, f)\n    known = open(os.path.join(args.out, f'{name}.json')).read()",
    "put together by format()": "with open(os.path.join(args.out, 'at_{}.txt'.format(str(args.step))), 'w') as f:\n        f.write('ok')\n    score(os.path.join(args.out, 'at_{}.txt'.format(args.step)))",
    "read by name": "with open(out, 'w') as f:\n        json.dump(cfg, f)\n    other = json.load(open(args.out + '/settings.json'))",
    "made new": "with open(out, 'x') as f:\n        json.dump(cfg, f)",
}


@pytest.mark.parametrize("written", NOTHING_SHOWS_HARM)
def test_a_write_without_a_witness_is_information(
    written: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"train.py": f"{HEAD}    {NOTHING_SHOWS_HARM[written]}\n    dist.barrier()\n"}
    assert severities_in("DL301", tmp_path, files, capsys) == ["info"]


@pytest.mark.parametrize("written", SHOWN)
def test_a_witness_makes_a_warning_of_it(
    written: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"train.py": f"{HEAD}    {SHOWN[written]}\n    dist.barrier()\n"}
    found = severities_in("DL301", tmp_path, files, capsys)
    assert found in (["warning"], ["error"])


def test_another_file_of_the_run_reads_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = f"import report\n{HEAD}    {NOTHING_SHOWS_HARM['the configuration']}\n    report.send(args.out)\n"
    other = "import json\nimport torch.distributed\n\ndef send(folder):\n    return json.load(open(folder + '/settings.json'))\n"
    files = {"train.py": main, "report.py": other}
    assert severities_in("DL301", tmp_path, files, capsys) == ["warning"]


def test_another_script_reads_it_in_a_run_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = f"{HEAD}    {NOTHING_SHOWS_HARM['the configuration']}\n"
    other = "import json\nimport torch.distributed\n\nprint(json.load(open('out/settings.json')))\n"
    files = {"train.py": main, "extract.py": other}
    assert severities_in("DL301", tmp_path, files, capsys) == ["info"]


HELPER = """
import json
import torch.distributed as dist

def main(args, model, data):
    dist.init_process_group("nccl")
    {call}
    dist.barrier()

def keep(lines, path):
    with open(path, "w") as f:
        json.dump(lines, f)
"""


@pytest.mark.parametrize(
    ("call", "severity"),
    [
        ("keep(vars(args), args.out)", "info"),
        ("keep(vars(args), args.out), keep(model(data), args.other)", "info"),
        ("path = args.out + '.json'; keep(vars(args), path)", "info"),
        ("path = args.out + '.json'; keep(vars(args), path); model.load(path)", "warning"),
    ],
)
def test_a_helper_writes_what_all_callers_give_it(
    call: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"train.py": HELPER.format(call=call)}
    assert severities_in("DL301", tmp_path, files, capsys) == [severity]


CONFIGURED = """
import json
import deepspeed
import torch.distributed as dist

def main(args, model):
    {first}(args)
    {second}(args)
    return deepspeed.initialize(args, model)

def begin(args):
    dist.init_process_group("nccl")

def configure(args):
    args.deepspeed_config = "deepspeed.json"
    with open(args.deepspeed_config, "w") as f:
        json.dump({{"train_batch_size": args.batch}}, f)
"""


@pytest.mark.parametrize(
    ("first", "second", "severity"),
    [("begin", "configure", "warning"), ("configure", "begin", "info")],
)
def test_all_ranks_meet_before_deepspeed_reads_its_configuration(
    first: str, second: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Uni3D 64e03c3 main.py:84."""
    files = {"train.py": CONFIGURED.format(first=first, second=second)}
    assert severities_in("DL301", tmp_path, files, capsys) == [severity]


COPIED = """
import os, shutil
import torch.distributed as dist

def main(args, model):
    dist.init_process_group("nccl")
    kept = os.path.join(args.out, "kept")
    if not os.path.exists(kept):
        shutil.copy({source}, kept)
    dist.barrier()
"""


@pytest.mark.parametrize(
    ("source", "severity"), [("args.config", "info"), ("args.checkpoint", "warning")]
)
def test_a_copy_of_the_configuration_where_there_is_none(
    source: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"train.py": COPIED.format(source=source)}
    assert severities_in("DL305", tmp_path, files, capsys) == [severity]


RETURNED = """
import json
import os
import torch.distributed as dist

def main(args, cfg):
    dist.init_process_group("nccl")
    {call}
    dist.barrier()

def keep(cfg, folder):
    path = os.path.join(folder, "all.json")
    with open(path, "w") as f:
        json.dump(cfg, f)
    return path
"""


@pytest.mark.parametrize(
    ("call", "severity"),
    [("keep(cfg, args.out)", "info"), ("start(keep(cfg, args.out))", "warning")],
)
def test_a_path_that_is_returned(
    call: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"train.py": RETURNED.format(call=call)}
    assert severities_in("DL301", tmp_path, files, capsys) == [severity]


LOCKED = """
import fcntl, json
import torch.distributed as dist


def main(args, scores):
    dist.init_process_group("nccl")
    {above}
    with open(args.out, "w") as f:
        {first}
        json.dump(scores, f)
    known = json.load(open(args.out))
"""


@pytest.mark.parametrize(
    ("above", "first", "found"),
    [
        ("pass", "fcntl.flock(f, fcntl.LOCK_EX)", []),
        ("fcntl.lockf(args.lock, fcntl.LOCK_EX)", "pass", []),
        ("pass", "fcntl.flock(f, fcntl.LOCK_SH)", ["warning"]),
        ("pass", "fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)", ["warning"]),
        ("if args.lock: fcntl.flock(args.lock, fcntl.LOCK_EX)", "pass", ["warning"]),
    ],
)
def test_the_lock_of_a_file(
    above: str, first: str, found: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SimpleTuner bc8e6ab simpletuner/helpers/training/state_tracker.py:159."""
    files = {"train.py": LOCKED.format(above=above, first=first)}
    assert severities_in("DL301", tmp_path, files, capsys) == found


THREAD = """
import threading

import torch
from project import ranks


class Saver:
    def save(self, model, step):
        state = model.state_dict()
        {test}
            threading.Thread(target=self.write, args=(state, f"{{step}}.pt", ranks.get_rank())).start()

    def write(self, state, path, rank=0):
        torch.save(state, path)
        if rank == 0:
            print("saved", path)
"""


@pytest.mark.parametrize(
    ("test", "found"),
    [("if ranks.get_rank() == 0:", []), ("if step % 10 == 0:", ["info"])],
)
def test_what_a_thread_of_rank_0_runs(
    test: str, found: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """TurboDiffusion aaecff5 turbodiffusion/imaginaire/utils/checkpointer.py:88."""
    files = {
        "saving.py": THREAD.format(test=test),
        "train.py": "import torch.distributed\nfrom saving import Saver\n\nSaver().save(make(), 10)\n",
        "run.sh": "torchrun --nproc_per_node 2 train.py\n",
    }
    assert severities_in("DL301", tmp_path, files, capsys) == found


DATA = """
import numpy as np
import torch.distributed as dist
from lightning.pytorch import LightningDataModule
from pathlib import Path


class Texts(LightningDataModule):
    def prepare_data(self):
        {prepares}

    def setup(self, stage=None):
        self.ids = self.process()
        dist.barrier()

    def process(self):
        folder = Path("cache")
        {asks}
        ids = tokenize()
        self.keep(ids, folder)
        return ids

    def keep(self, ids, folder):
        np.save(folder / "ids.npy", ids)
"""


@pytest.mark.parametrize(
    ("prepares", "asks", "found"),
    [
        ("self.process()", "if folder.is_dir(): return np.load(folder / 'ids.npy')", []),
        ("fetch()", "if folder.is_dir(): return np.load(folder / 'ids.npy')", ["warning"]),
    ],
)
def test_what_prepare_data_has_made(
    prepares: str, asks: str, found: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """HazyResearch/based 32c1bd4 train/datamodules/language_modeling_hf.py:237."""
    files = {
        "train.py": DATA.format(prepares=prepares, asks=asks),
        "run.sh": "torchrun --nproc_per_node 2 train.py\n",
    }
    assert severities_in("DL301", tmp_path, files, capsys) == found


NEXT = """
import os
import sys

import pandas as pd
import torch.distributed as dist


def merge(folder, level):
    table = pd.read_csv("{{}}/all.csv".format(folder))
    table.to_csv("{{}}/{{}}_{written}.csv".format(folder, level))


def rank(folder, level):
    table = pd.read_csv("{{}}/{{}}_merged_table.csv".format(folder, level))
    print(table.describe())


def main(folder):
    dist.init_process_group("gloo")
    merge(folder=folder, level=2)
    {between}
    rank(folder=folder, level={level})


main(os.path.join(sys.argv[1], "tables"))
"""


@pytest.mark.parametrize(
    ("written", "between", "level", "found"),
    [
        ("merged_table", "pass", 2, ["warning"]),
        ("merged_table", "dist.barrier()", 2, ["info"]),
        ("merged_table", "pass", 3, ["info"]),
        ("other_table", "pass", 2, ["info"]),
    ],
)
def test_a_table_that_the_next_function_reads(
    written: str,
    between: str,
    level: int,
    found: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Vislocas tools/cancerTest.py:318."""
    files = {"train.py": NEXT.format(written=written, between=between, level=level)}
    assert severities_in("DL301", tmp_path, files, capsys) == found
