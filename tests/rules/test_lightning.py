"""Training that Lightning's Trainer runs: seeds, loaders and lengths, across files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import findings_in, lines_of, marked, severities_in

NOISE = """
import torch
import pytorch_lightning as pl
from torch import nn


class Denoiser(pl.LightningModule):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Linear(dim, dim)

    def training_step(self, batch, batch_idx):
        noise = torch.randn_like(batch)
        return (self.net(batch + noise) - noise).pow(2).mean()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())
"""

SEEDED = """
import os
import pytorch_lightning as pl
from module import Denoiser


def main(args, loader):
    pl.seed_everything(args.seed)
    module = Denoiser(args.dim)
    trainer = pl.Trainer(accelerator="gpu", devices=args.gpus, strategy="ddp")
    trainer.fit(module, loader)
"""

MADE_ELSEWHERE = """
import torch
from lightning.pytorch import Trainer
from factory import make_module


def main(args, loader):
    torch.manual_seed(args.seed)

    module = make_module(args)
    Trainer(**vars(args)).fit(module, train_dataloaders=loader)
"""

FACTORY = """
def make_module(args):
    from module import Denoiser
    return Denoiser(args.dim)
"""

TRAINER = 'pl.Trainer(accelerator="gpu", devices=args.gpus, strategy="ddp")'

APART = NOISE.replace(
    "    def configure",
    "    def on_train_start(self):\n        torch.manual_seed(self.seed + self.global_rank)\n\n    def configure",
)

ALONE = {
    "one device": SEEDED.replace("devices=args.gpus", "devices=1"),
    "one device of several": SEEDED.replace("devices=args.gpus", "devices=[0]"),
    "one GPU, as it was said": SEEDED.replace(TRAINER, 'pl.Trainer(gpus=1, precision="16")'),
    "processor": SEEDED.replace(TRAINER, 'pl.Trainer(accelerator="cpu", devices=2)'),
    "no word of devices": SEEDED.replace(TRAINER, "pl.Trainer(max_epochs=3)"),
    "no seed": SEEDED.replace("    pl.seed_everything(args.seed)\n", ""),
    "tested only": SEEDED.replace("trainer.fit", "trainer.validate"),
    "seed of the rank": SEEDED.replace("args.seed)", 'args.seed + int(os.environ["RANK"]))'),
}

HARMLESS = {
    "apart in a hook": APART,
    "drawn for samples": NOISE.replace("training_step", "validation_step"),
    "a generator of its own": NOISE.replace(
        "torch.randn_like(batch)", "torch.randn(batch.shape, generator=self.generator)"
    ),
    "first weights": NOISE.replace(
        "noise = torch.randn_like(batch)", "self.net.weight.data.normal_(); noise = 0"
    ),
}


def _draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], main: str, module: str = NOISE
) -> list[tuple[str, int]]:
    files = {"module.py": module, "train.py": main, "factory.py": FACTORY}
    return findings_in("DL401", tmp_path, files, capsys)


@pytest.mark.parametrize("main", [SEEDED, MADE_ELSEWHERE])
def test_fit_trains_with_what_the_seed_gave_all_ranks(
    main: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = next(n for n, text in enumerate(main.splitlines(), 1) if "args.seed)" in text)
    assert _draws(tmp_path, capsys, main) == [("train.py", line)]


@pytest.mark.parametrize("main", ALONE.values(), ids=ALONE)
def test_a_fit_that_shares_no_seed(
    main: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _draws(tmp_path, capsys, main) == []


@pytest.mark.parametrize("module", HARMLESS.values(), ids=HARMLESS)
def test_a_module_that_draws_nothing_alike(
    module: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _draws(tmp_path, capsys, SEEDED, module) == []


AUGMENTED = """
import pytorch_lightning as pl
import torch
from torchvision import transforms


class Pictures(torch.utils.data.Dataset):
    def __init__(self, files):
        self.crop = transforms.RandomResizedCrop(224)

    def __getitem__(self, index):
        return self.crop(torch.rand(3, 256, 256))


def main(args, module):
    pl.seed_everything(args.seed)  # here
    loader = torch.utils.data.DataLoader(Pictures(args.files), shuffle=True)
    trainer = pl.Trainer(devices="auto", num_nodes=args.nodes)
    trainer.fit(module, loader)
"""


@pytest.mark.parametrize("workers", [False, True])
def test_workers_are_seeded_apart_where_lightning_is_told(
    workers: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = AUGMENTED.replace("(args.seed)", "(args.seed, workers=True)") if workers else AUGMENTED
    expected = [] if workers else marked(text)
    assert lines_of("DL401", tmp_path, text, capsys) == expected


SHARES = """
import os
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader, WeightedRandomSampler


def main(args, module, data):
    seed = args.seed
    if os.environ.get("SLURM_PROCID") is not None:
        seed += int(os.environ.get("SLURM_PROCID"))
    pl.seed_everything(seed, workers=True)  # here
    loader = DataLoader(data, batch_size=8, shuffle=True)
    trainer = pl.Trainer(accelerator="gpu", devices="auto", num_nodes=args.nodes)
    trainer.fit(module, loader)
"""

IN_A_MODULE = """
import pytorch_lightning as pl
from torch.utils.data import DataLoader


class Data(pl.LightningDataModule):
    def train_dataloader(self):
        return self._loader(self.files, True)

    def val_dataloader(self):
        return self._loader(self.held_out, False)

    def _loader(self, files, shuffle):
        return DataLoader(files, batch_size=8, shuffle=shuffle)


def main(args, module, rank):
    pl.seed_everything(args.seed + int(args.environ["LOCAL_RANK"]))
    pl.Trainer(devices=8).fit(module, datamodule=Data())
"""

BY_A_HELPER = SHARES.replace(
    "loader = DataLoader(data, batch_size=8, shuffle=True)", "loader = loader_of(data, 8)"
) + (
    "\n\ndef loader_of(data, size, shuffle=True):\n"
    "    return DataLoader(data, batch_size=size, shuffle=shuffle)\n"
)

FABRIC = """
import torch
from lightning.fabric import Fabric
from torch.utils.data import DataLoader


def main(args, data):
    fabric = Fabric(devices=4)
    fabric.seed_everything(args.seed + fabric.global_rank)  # here
    loader = DataLoader(data, batch_size=8, shuffle=True)
    loader = fabric.setup_dataloaders(loader)
"""

ALIKE = {
    "one seed, of Fabric": FABRIC.replace(" + fabric.global_rank", ""),
    "in order, by Fabric": FABRIC.replace("shuffle=True", "shuffle=False"),
    "divided by hand, with Fabric": FABRIC.replace(
        "(loader)", "(loader, use_distributed_sampler=False)"
    ),
    "after the loader": FABRIC.replace(
        "    fabric.seed_everything(args.seed + fabric.global_rank)  # here\n", ""
    )
    + "    fabric.seed_everything(args.seed + fabric.global_rank)\n",
    "in order": SHARES.replace("shuffle=True", "shuffle=False"),
    "a sampler of its own": SHARES.replace(
        "shuffle=True", "sampler=WeightedRandomSampler(data, 8)"
    ),
    "divided by hand": SHARES.replace("num_nodes=", "use_distributed_sampler=False, num_nodes="),
    "divided by hand, as it was said": SHARES.replace(
        "num_nodes=", "replace_sampler_ddp=False, num_nodes="
    ),
    "not the seed that Lightning keeps": SHARES.replace(
        "pl.seed_everything(seed, workers=True)", "torch.manual_seed(seed)"
    ),
    "one seed": SHARES.replace("seed += int", "print"),
    "a helper that is told not to": BY_A_HELPER.replace("(data, 8)", "(data, 8, shuffle=False)"),
    "one device": SHARES.replace('devices="auto", num_nodes=args.nodes', "devices=1"),
    "tested only": SHARES.replace("trainer.fit", "trainer.test"),
}


@pytest.mark.parametrize("text", [SHARES, BY_A_HELPER, FABRIC])
def test_a_rank_s_seed_reaches_the_sampler_of_fit(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lines_of("DL402", tmp_path, text, capsys) == marked(text)


@pytest.mark.parametrize("text", ALIKE.values(), ids=ALIKE)
def test_shares_of_one_order(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lines_of("DL402", tmp_path, text, capsys) == []


EPOCHS = """
import math
import pytorch_lightning as pl
from module import Net
from torch.utils.data import DataLoader, DistributedSampler


def main(args, module, data, other):
    loader = DataLoader(data, batch_size=8, shuffle=True)
    steps = math.ceil(len(loader))
    epochs = math.ceil(args.max_steps / steps)
    trainer = pl.Trainer(accelerator="gpu", strategy="auto", max_epochs=epochs)
    trainer.fit(module, train_dataloaders=loader)
"""

SCHEDULE = """
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader


class Net(pl.LightningModule):
    def __init__(self, total_steps):
        super().__init__()
        self.total_steps = total_steps

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters())
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, self.total_steps)
        return [optimizer], [{"scheduler": schedule, "interval": "step"}]


def main(args, data):
    loader = DataLoader(data, batch_size=8, shuffle=True)
    module = Net(total_steps=args.epochs * len(loader))  # here
    trainer = pl.Trainer(devices=args.devices, max_epochs=args.epochs)
    trainer.fit(module, loader)
"""

OF_ONE = {
    "divided": EPOCHS.replace("len(loader)", "len(loader) / args.world_size"),
    "divided by the devices": EPOCHS.replace("len(loader)", "len(loader) / args.gpus"),
    "of another loader": EPOCHS.replace("len(loader)", "len(other)"),
    "a sampler of its own": EPOCHS.replace("shuffle=True", "sampler=DistributedSampler(data)"),
    "one device": EPOCHS.replace('strategy="auto"', "devices=1"),
    "printed": EPOCHS.replace("max_epochs=epochs", "max_epochs=args.epochs"),
    "divided in the module": SCHEDULE.replace(
        "= total_steps", "= total_steps // self.trainer.world_size"
    ),
    "asked for afterwards": EPOCHS.replace(
        "    steps = math.ceil(len(loader))\n", "    steps = args.max_steps\n"
    )
    + "    print(len(loader))\n",
}


def test_a_length_before_fit_is_of_all_ranks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lines_of("DL613", tmp_path, EPOCHS, capsys) == [10]
    assert lines_of("DL613", tmp_path, SCHEDULE, capsys) == marked(SCHEDULE)


@pytest.mark.parametrize("text", OF_ONE.values(), ids=OF_ONE)
def test_a_length_that_is_right(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lines_of("DL613", tmp_path, text, capsys) == []


def test_a_data_module_s_loader(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"train.py": IN_A_MODULE.replace('args.environ["LOCAL_RANK"]', "rank")}
    files["run.py"] = (
        "import os\nfrom train import main\n\n"
        'if __name__ == "__main__":\n    main(object(), object(), os.environ["LOCAL_RANK"])\n'
    )
    assert findings_in("DL402", tmp_path, files, capsys) == [("train.py", 18)]


HOOKS = """
import os
import torch
import lightning.pytorch as pl
from lightning.pytorch.utilities import rank_zero_only


class Net(pl.LightningModule):
    def on_validation_epoch_end(self):
        if self.trainer.is_global_zero:
            self.all_gather(self.loss)  # here

    def on_train_epoch_end(self):
        if self.global_rank == 0:
            self.trainer.save_checkpoint("last.ckpt")  # here

    def validation_step(self, batch, index):
        if self.trainer.is_global_zero:
            self.log("loss", batch.sum(), sync_dist=True)  # here

    def test_step(self, batch, index):
        self.log("loss", batch.sum(), sync_dist=True)
        if self.trainer.is_global_zero:
            self.log("images", batch.sum(), rank_zero_only=True, sync_dist=True)
            self.log("step", index)


class Look(pl.Callback):
    @rank_zero_only
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, index):
        pl_module.all_gather(outputs)  # here

    @rank_zero_only
    def on_train_end(self, trainer, pl_module):
        print(trainer.global_rank, pl_module.loss)

    def on_validation_end(self, trainer, pl_module):
        if trainer.global_rank != 0:
            return
        trainer.strategy.barrier()  # here

    def on_keyboard_interrupt(self, trainer, pl_module):
        if trainer.global_rank == 0:
            trainer.save_checkpoint("last.ckpt")  # latent-diffusion a506df5 main.py:255

    def on_fit_start(self, trainer, pl_module):
        if trainer.is_global_zero:
            os.makedirs("out", exist_ok=True)
        trainer.strategy.barrier()
"""


def test_hooks_that_every_rank_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lines_of("DL101", tmp_path, HOOKS, capsys) == marked(HOOKS)


FOLDING = """
import torch
import pytorch_lightning as pl
from torch import nn


class Folding(pl.LightningModule):
    def __init__(self, dim):
        super().__init__()
        self.trunk = torch.compile(nn.Linear(dim, dim))

    def forward(self, batch):
        return self.trunk(batch)

    def validation_step(self, batch, index):
        try:
            size = self(batch).sum()
        except RuntimeError as error:  # here
            if "out of memory" in str(error):
                return
            raise
        print(size)


def main(loader, devices):
    pl.Trainer(devices=devices, strategy=STRATEGY).validate(Folding(2), loader)
"""


@pytest.mark.parametrize(
    ("strategy", "waits"),
    [("'fsdp'", True), ("'deepspeed_stage_3'", True), ("'ddp'", False), ("'auto'", False)],
)
def test_a_batch_skipped_waits_where_the_program_shards(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], strategy: str, waits: bool
) -> None:
    text = FOLDING.replace("STRATEGY", strategy)
    assert lines_of("DL105", tmp_path, text, capsys) == (marked(text) if waits else [])


CHOOSES = """
import random

import pytorch_lightning as pl
from torch.utils.data import DataLoader, Dataset


class Texts(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index] if random.random() < 0.9 else ""


def seed_all(seed):
    pl.seed_everything(seed{more})


def main(args, module, rows):
    seed_all(args.seed)
    trainer = pl.Trainer(accelerator="gpu", devices=4, strategy="ddp")
    trainer.fit(module, DataLoader(Texts(rows), num_workers=8, shuffle=True{given}))
"""


@pytest.mark.parametrize(
    ("more", "given", "alike"),
    [
        ("", "", True),
        (", workers=True", "", False),
        (", workers=True", ", worker_init_fn=args.start", True),
    ],
)
def test_lightning_seeds_the_workers_of_each_rank(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: str, given: str, alike: bool
) -> None:
    text = CHOOSES.format(more=more, given=given)
    assert bool(lines_of("DL401", tmp_path, text, capsys)) is alike


FETCHES = """
import os
import torch
import pytorch_lightning as pl


class Reader(pl.LightningModule):
    def __init__(self, args):
        super().__init__()
        self.net = self.load(args.name)
        if not os.path.exists(args.index):
            torch.save(args.words, args.index)  # here

    def load(self, name):
        return torch.hub.load("pytorch/fairseq", name)  # here

    def training_step(self, batch, batch_idx):
        return self.net(batch)


def main(args, loader):
    trainer = pl.Trainer({devices}, strategy="ddp")
    trainer.fit(Reader(args), loader)


if __name__ == "__main__":
    main(parse(), make())
"""


@pytest.mark.parametrize(
    ("devices", "script", "found"),
    [
        ("devices=8", "", False),
        ("devices=8", "python train.py --index words.pt\n", False),
        ("devices=8, num_nodes=args.nodes", "", True),
        ("devices=8", "torchrun --nproc_per_node 8 train.py\n", True),
        ("devices=int(os.environ['WORLD_SIZE'])", "", True),
    ],
)
def test_what_the_first_process_fetches_in_front_of_fit(
    devices: str,
    script: str,
    found: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # longformer caefee6 scripts/triviaqa.py:304: `fit` starts the others, which find what the first has downloaded.
    text = FETCHES.replace("{devices}", devices)
    files = {"train.py": text, "run.sh": script}
    lines = marked(text) if found else []
    assert findings_in("DL301,DL305", tmp_path, files, capsys) == [
        ("train.py", line) for line in lines
    ]


ASKED_FIRST = """
import os
import pytorch_lightning as pl


def main(args, model, loader):
    if not os.path.exists("work"):
        os.makedirs("work")
    trainer = pl.Trainer(accelerator="gpu", devices=args.gpus, strategy="ddp")
    trainer.fit(model, loader)
    if not os.path.exists("results"):
        os.makedirs("results")


if __name__ == "__main__":
    main(*map(eval, ["args", "model", "loader"]))
"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (ASKED_FIRST, [12]),
        # All ranks begin at the top where a launcher starts them.
        (ASKED_FIRST.replace("import os\n", "import os  # torchrun\n"), [8, 12]),
        (ASKED_FIRST.replace('strategy="ddp"', 'strategy="ddp", num_nodes=args.nodes'), [8, 12]),
    ],
)
def test_what_is_made_in_front_of_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, lines: list[int]
) -> None:
    found = findings_in("DL305", tmp_path, {"train.py": text}, capsys)
    assert sorted(line for _, line in found) == lines


FETCHED_FIRST = """
import pytorch_lightning as pl
from torchvision.datasets import VOCDetection


def main(args, model):
    data = VOCDetection("data", download=True)
    trainer = pl.Trainer(accelerator="gpu", devices="auto", strategy="ddp")
    trainer.fit(model, data)
    VOCDetection("more", download=True)


if __name__ == "__main__":
    main(*map(eval, ["args", "model"]))
"""
NODES = """

def options(parser):
    parser.add_argument("--nodes", type=int, default=1)
"""


@pytest.mark.parametrize(
    ("text", "page", "lines"),
    [
        # lightly e8d317f examples/pytorch_lightning_distributed/vicregl.py:67
        (FETCHED_FIRST, "python train.py", [10]),
        (FETCHED_FIRST, "torchrun --nproc_per_node 2 train.py", [7, 10]),
        (FETCHED_FIRST.replace('strategy="ddp"', "num_nodes=2"), "python train.py", [7, 10]),
        (FETCHED_FIRST.replace('strategy="ddp"', "num_nodes=1"), "python train.py", [10]),
        (FETCHED_FIRST.replace('strategy="ddp"', "num_nodes=args.nodes") + NODES, "", [10]),
        (
            FETCHED_FIRST.replace('strategy="ddp"', "num_nodes=args.nodes")
            + NODES.replace("default=1", "default=2"),
            "",
            [7, 10],
        ),
        (
            FETCHED_FIRST.replace("import pytorch", "import os  # SLURM\nimport pytorch"),
            "",
            [8, 11],
        ),
    ],
)
def test_what_is_fetched_in_front_of_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, page: str, lines: list[int]
) -> None:
    files = {"train.py": text, "README.md": f"```bash\n{page}\n```\n"}
    found = findings_in("DL301", tmp_path, files, capsys)
    assert sorted(line for _, line in found) == lines


FETCHED_ON_TOP = """
import pytorch_lightning as pl
from torchvision.datasets import VOCDetection

data = VOCDetection("data", download=True)


def main(args, model):
    trainer = pl.Trainer(accelerator="gpu", devices="auto", strategy="ddp")
    trainer.fit(model, data)


if __name__ == "__main__":
    main(*map(eval, ["args", "model"]))
"""


@pytest.mark.parametrize(
    ("text", "page", "lines"),
    [
        # monolithic_examples 55fce10 lightning_train.py:32
        (FETCHED_ON_TOP, "python train.py", []),
        (FETCHED_ON_TOP, "torchrun --nproc_per_node 2 train.py", [5]),
        (FETCHED_ON_TOP.replace('strategy="ddp"', "num_nodes=2"), "python train.py", [5]),
    ],
)
def test_what_a_script_fetches_on_top(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, page: str, lines: list[int]
) -> None:
    files = {"train.py": text, "README.md": f"```bash\n{page}\n```\n"}
    found = findings_in("DL301", tmp_path, files, capsys)
    assert sorted(line for _, line in found) == lines


WRITES_FIRST = FETCHED_FIRST.replace(
    'data = VOCDetection("data", download=True)', 'open("settings.txt", "w").write(str(args))'
).replace("(model, data)", "(model, open('settings.txt').read())")


def test_what_each_rank_writes_anew_in_front_of_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that come later empty the file again."""
    found = findings_in("DL301", tmp_path, {"train.py": WRITES_FIRST}, capsys)
    assert sorted(line for _, line in found) == [7, 10]


_ON_WHATEVER_IS_THERE = """
import os
import torch
from pytorch_lightning import LightningModule, Trainer


class Net(LightningModule):
    def on_save_checkpoint(self, checkpoint):
        folder = self.trainer.checkpoint_callback.dirpath
        torch.save({{"model": self.model.state_dict()}}, f"{{folder}}/{{self.trainer.global_step}}.ckpt")


def main(loader):
    {asks}
    trainer = Trainer(accelerator="gpu", {given}max_epochs=2)
    trainer.fit(Net(), train_dataloaders=loader)


if __name__ == "__main__":
    main(None)
"""


@pytest.mark.parametrize(
    ("asks", "given", "expected"),
    [
        ('first = int(os.environ.get("LOCAL_RANK", 0)) == 0', "", ["error"]),
        ('first = int(os.environ.get("LOCAL_RANK", 0)) == 0', "devices=1, ", []),
        ("first = True", "", ["info"]),
    ],
)
def test_a_trainer_on_all_gpus_is_for_several_where_its_script_asks_which_process_it_is(
    asks: str, given: str, expected: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Latte f8980c5 train_pl.py:127; an example without a word of ranks runs on whatever there is."""
    files = {
        "train.py": _ON_WHATEVER_IS_THERE.format(asks=asks, given=given),
        "README.md": "Train it with\n\n    python train.py\n",
    }
    assert severities_in("DL301", tmp_path, files, capsys) == expected
