"""Whether what all ranks write is the same on all of them, and whether their run reads it back."""

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

SAME = {
    "the configuration": "with open(out, 'w') as f:\n        json.dump(cfg, f)",
    "lines of it": "with open(out, 'w') as f:\n        for k, v in cfg.items():\n            f.write(f'{k}: {v}')",
    "the arguments": "with open(out, 'w') as f:\n        json.dump(vars(args), f, indent=2)",
    "without a name": "yaml.dump(dict(cfg), open(out, 'w'))",
    "a dict of both": "kept = {'cfg': dict(cfg)}\n    kept['lr'] = args.lr\n    json.dump(kept, open(out, 'w'))",
    "by its library": "OmegaConf.save(cfg, out)",
    "by its class": "model.config.save_pretrained(args.out)",
    "a copy": "shutil.copy(args.config, out)",
    "the script": "shutil.copyfile(__file__, os.path.join(args.out, 'main.py'))",
    "a tokenizer": "tokenizer.save_pretrained(args.out)",
    "a tokenizer that others hold": "model.tokenizer.save_pretrained(args.out)",
    "what a callback is given": "kwargs['tokenizer'].save_pretrained(args.out)",
    "a processor that was loaded": "image_processor = AutoImageProcessor.from_pretrained(args.base)\n    image_processor.save_pretrained(args.out)",
    "a tokenizer beside the folders of others": "from pathlib import Path\n    last = list(Path(args.out).glob('checkpoint-*'))\n    tokenizer.save_pretrained(args.out)",
    "nothing": "torch.save({}, out)",
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
}

OTHER = {
    "scores": "scores = model(data)\n    with open(out, 'w') as f:\n        json.dump(scores, f)",
    "scores beside it": "kept = {'cfg': dict(cfg)}\n    kept['loss'] = model(data)\n    json.dump(kept, open(out, 'w'))",
    "pickled options that are read": "options = argparse.ArgumentParser().parse_args()\n    options.rank = dist.get_rank()\n    torch.save(options, out)\n    options = torch.load(out)",
    "options in words": "options = argparse.ArgumentParser().parse_args()\n    options.rank = dist.get_rank()\n    with open(out, 'w') as f:\n        json.dump(vars(options), f)",
    "sums beside a state": "total = torch.zeros(8)\n    for batch in DataLoader(data, sampler=DistributedSampler(data)):\n        total += model(batch)\n    dist.all_reduce(total)\n    torch.save({'total': total, 'model': model.state_dict()}, out)",
    "sums of its own": "total = torch.zeros(8)\n    for batch in DataLoader(data, sampler=DistributedSampler(data)):\n        total += model(batch)\n    torch.save({'total': total}, out)",
    "tensors": "torch.save(model.state_dict(), out)",
    "its rank": "args.rank = dist.get_rank()\n    with open(out, 'w') as f:\n        json.dump(vars(args), f)",
    "its number among the settings": "cfg['gpu'] = args.gpu\n    OmegaConf.save(cfg, out)",
    "the clock": "import time\n    with open(out, 'w') as f:\n        f.write(str(time.time()))",
    "the names in a set": "with open(out, 'w') as f:\n        f.write(str({'a', 'b'}))",
    "a copy of weights": "shutil.copy(os.path.join(args.out, 'latest.pth'), out)",
    "arrays": "with open(out, 'w') as f:\n        json.dump(np.load(args.features), f)",
    "handed on": "with open(out, 'w') as f:\n        json.dump(cfg, f)\n        add_results(f)",
    "read by name": "with open(out, 'w') as f:\n        json.dump(cfg, f)\n    other = json.load(open(args.out + '/settings.json'))",
    "read by its variable": "with open(out, 'w') as f:\n        json.dump(cfg, f)\n    engine = start(out)",
    "read as it was given": "with open(args.meta, 'w') as f:\n        json.dump(cfg, f)\n    meta = open(args.meta).read()",
    "for DeepSpeed": "args.deepspeed_config = out\n    with open(args.deepspeed_config, 'w') as f:\n        json.dump(cfg, f)",
    "for DeepSpeed, by another name": "import deepspeed\n    initialize = deepspeed.initialize\n    args.deepspeed_config = out\n    with open(args.deepspeed_config, 'w') as f:\n        json.dump(cfg, f)\n    engine = initialize(args, model)",
    "read behind the arm that writes": "if args.train:\n        with open(out, 'w') as f:\n            json.dump(cfg, f)\n    else:\n        cfg = json.load(open(args.base + '/settings.json'))\n    cfg = json.load(open(args.out + '/settings.json'))",
    "a tokenizer of its texts": "tokenizer.train_from_iterator(data)\n    tokenizer.save_pretrained(args.out)",
    "a new tokenizer of its texts": "tokenizer = tokenizer.train_new_from_iterator(data, 800)\n    tokenizer.save_pretrained(args.out)",
    "a tokenizer that is read": "tokenizer.save_pretrained(args.out)\n    other = AutoTokenizer.from_pretrained(args.out)",
    "a tokenizer that is uploaded by each": "tokenizer.save_pretrained(args.out, push_to_hub=True)",
    "a tokenizer in the files of a pattern": "from pathlib import Path\n    tokenizer.save_pretrained(args.out)\n    for name in Path(args.out).glob('*.json'):\n        send(name)",
    "a model": "tokenizer_model.save_pretrained(args.out)",
    "a state among settings": "torch.save({'cfg': cfg, 'model': model.state_dict()}, out)",
    "a card of each rank": "with open(f'{args.out}/README.md', 'w') as f:\n        f.write(f'By {args.rank}')",
    "scores in lists of it": "kept = {'loss': []}\n    kept['loss'].append(model(data))\n    json.dump(kept, open(out, 'w'))",
    "scores in a list that it makes": "kept = dict(cfg)\n    kept.setdefault('loss', []).append(model(data))\n    json.dump(kept, open(out, 'w'))",
    "all options among the settings, its rank too": "args.rank = dist.get_rank()\n    cfg.update(vars(args))\n    OmegaConf.save(cfg, out)",
    "a device with a number": "cfg.device = f'cuda:{args.local_rank}'\n    OmegaConf.save(cfg, out)",
    "a device that the project chooses": "cfg.device = get_device()\n    OmegaConf.save(cfg, out)",
    "when what was done": "import time\n    with open(os.path.join(args.out, 'done.txt'), 'w') as f:\n        f.write(str(model(data)) + time.ctime())",
    "used when it is open": "with open(out, 'w') as f:\n        json.dump(cfg, f)\n        send(f)",
    "made new": "with open(out, 'x') as f:\n        json.dump(cfg, f)",
}


@pytest.mark.parametrize("written", SAME)
def test_the_same_lines_are_information(
    written: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"train.py": f"{HEAD}    {SAME[written]}\n    dist.barrier()\n"}
    assert severities_in("DL301", tmp_path, files, capsys) == ["info"]


@pytest.mark.parametrize("written", OTHER)
def test_what_differs_or_is_read_is_more(
    written: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"train.py": f"{HEAD}    {OTHER[written]}\n    dist.barrier()\n"}
    found = severities_in("DL301", tmp_path, files, capsys)
    assert found in (["warning"], ["error"])


def test_another_file_of_the_run_reads_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = f"import report\n{HEAD}    {SAME['the configuration']}\n    report.send(args.out)\n"
    other = "import json\nimport torch.distributed\n\ndef send(folder):\n    return json.load(open(folder + '/settings.json'))\n"
    files = {"train.py": main, "report.py": other}
    assert severities_in("DL301", tmp_path, files, capsys) == ["warning"]


def test_another_script_reads_it_in_a_run_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = f"{HEAD}    {SAME['the configuration']}\n"
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
        ("keep(vars(args), args.out), keep(model(data), args.other)", "warning"),
        ("path = args.out + '.json'; keep(vars(args), path)", "info"),
        ("path = args.out + '.json'; keep(vars(args), path); model.load(path)", "warning"),
    ],
)
def test_a_helper_writes_what_all_callers_give_it(
    call: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"train.py": HELPER.format(call=call)}
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


COLLECTED = """
import json
import torch.distributed as dist

history = []

def train(args, model, data):
    dist.init_process_group("nccl")
    history.append({added})
    with open(args.out + "/history.json", "w") as f:
        json.dump(history, f)
    dist.barrier()
"""


@pytest.mark.parametrize(
    ("added", "severity"), [("args.lr", "info"), ("{'loss': model(data)}", "warning")]
)
def test_what_functions_put_into_a_list_of_the_file(
    added: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Oscar 266075f oscar/run_gqa.py:558: each rank's own scores.
    files = {"train.py": COLLECTED.format(added=added)}
    assert severities_in("DL301", tmp_path, files, capsys) == [severity]


KEYS = """
import h5py, pickle
import torch.distributed as dist
from lightning.pytorch import LightningDataModule

class Names:
    def __init__(self, file, keys=None, save_to=None):
        self.file = file
        if keys is None:
            self.keys = list(self.file.keys())
            if save_to is not None:
                with open(save_to, "wb") as f:
                    pickle.dump(self.keys, f)
        else:
            self.keys = keys

class Module(LightningDataModule):
    def __init__(self, path, **options):
        self.path = options.pop("path", None) or path

    def setup(self, stage):
        self.names = Names({file}, save_to="keys.pkl")
        dist.barrier()
"""


@pytest.mark.parametrize(
    ("file", "severity"), [("h5py.File(self.path, 'r')", "info"), ("self.cut(stage)", "warning")]
)
def test_the_keys_of_a_file_that_all_ranks_read(
    file: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # terratorch terratorch/datasets/sen4map.py:126
    files = {"train.py": KEYS.format(file=file)}
    assert severities_in("DL301", tmp_path, files, capsys) == [severity]


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


TYPED = """
import os

import torch.distributed as dist
from omegaconf import DictConfig, OmegaConf


def main(run: {of}):
    dist.init_process_group("nccl")
    OmegaConf.save({given}, os.path.join("out", "run.yaml"))
    dist.barrier()
"""


@pytest.mark.parametrize(
    ("of", "given", "severity"),
    [
        ("DictConfig", "config=run, f", "info"),
        ("dict", "config=run, f", "warning"),
    ],
)
def test_a_parameter_that_is_said_to_be_a_configuration(
    of: str, given: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """splade 8dcd33a splade/utils/utils.py:162, which hydra calls."""
    text = TYPED.format(of=of, given=f"{given}=os.path.join('out', 'run.yaml')").replace(
        ', os.path.join("out", "run.yaml"))', ")"
    )
    assert severities_in("DL301", tmp_path, {"train.py": text}, capsys) == [severity]


EMPTIES = """
import os

import torch.distributed as dist


def main(args, model, batches):
    dist.init_process_group("nccl")
    kept = os.path.join(args.out, "log.txt")
    with open(kept, "w") as file:
        {body}
    for batch in batches:
        loss = model(batch)
        {between}
        if dist.get_rank() == 0:
            with open(kept, "a") as file:
                file.write(str(loss))
    dist.barrier()
"""


@pytest.mark.parametrize(
    ("body", "between", "severity"),
    [
        ("pass", "dist.all_reduce(loss)", "info"),
        ("pass", "loss.backward()", "warning"),
        ("file.write(str(model))", "dist.all_reduce(loss)", "warning"),
    ],
)
def test_a_file_that_all_ranks_empty_before_they_meet(
    body: str, between: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """build-nanogpt 6104ab1 train_gpt2.py:373."""
    files = {"train.py": EMPTIES.format(body=body, between=between)}
    assert severities_in("DL301", tmp_path, files, capsys) == [severity]
