"""Trainers of Lightning whose devices stand in a configuration: what a run that the project shows tells them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.launch.test_named_launches import findings

MODEL = (
    "import torch\nfrom pytorch_lightning import LightningModule\n\n\nclass Small(LightningModule):\n"
    "    def __init__(self):\n        super().__init__()\n        self.layer = torch.nn.Linear(2, 2)\n"
)
HEAD = (
    "import hydra\nimport torch\nfrom hydra.utils import instantiate\nfrom pytorch_lightning import Trainer\n\n"
    'from models import Small\n\n\n@hydra.main(version_base=None, config_path="conf", config_name="{}")\n'
    "def main(cfg):\n    model = Small()\n"
)
TAIL = (
    '    trainer.fit(model)\n    torch.save(model.state_dict(), "last.pt")\n\n\n'
    'if __name__ == "__main__":\n    main()\n'
)
BY_NAME = HEAD.format("train") + "    trainer: Trainer = instantiate(cfg.trainer)\n" + TAIL
OF_SECTION = HEAD.format("train") + "    trainer = Trainer(**cfg.fit.params, logger=False)\n" + TAIL
PUT_TOGETHER = (
    HEAD.format("train")
    + '    told = {"max_epochs": cfg.epochs, "devices": cfg.hardware.devices}\n'
    + "    trainer = Trainer(**told)\n"
    + TAIL
)
GROUPS = {
    "conf/train.yaml": "defaults:\n  - trainer: one\n  - _self_\n",
    "conf/trainer/one.yaml": "_target_: pytorch_lightning.Trainer\naccelerator: gpu\ndevices: 1\n",
    "conf/trainer/several.yaml": "defaults:\n  - one\ndevices: 4\nstrategy: ddp\n",
    "conf/experiment/large.yaml": "# @package _global_\ndefaults:\n  - override /trainer: several\n",
}
SEVERAL, ONE = "error", "info"


@pytest.mark.parametrize(
    ("code", "files", "severity"),
    [
        (BY_NAME, {"run.sh": "python train.py trainer=several\n"}, SEVERAL),
        (BY_NAME, {"run.sh": "python train.py trainer=one\n"}, ONE),
        (BY_NAME, {"run.sh": "python train.py experiment=large\n"}, SEVERAL),
        (BY_NAME, {"run.sh": "python train.py experiment=large trainer=one\n"}, ONE),
        (BY_NAME, {"run.sh": "python train.py trainer=several trainer.devices=1\n"}, ONE),
        (BY_NAME, {"run.sh": "python train.py trainer=several ++trainer.fast_dev_run=True\n"}, ONE),
        (BY_NAME, {"run.sh": "python train.py trainer.devices=[0,1]\n"}, SEVERAL),
        (BY_NAME, {"run.sh": "python train.py trainer.devices=[1]\n"}, ONE),
        (BY_NAME, {"run.sh": "python train.py trainer.devices=auto\n"}, ONE),
        (
            BY_NAME,
            {"run.sh": "CUDA_VISIBLE_DEVICES=0,1 python train.py trainer.devices=auto\n"},
            SEVERAL,
        ),
        (BY_NAME, {"run.sh": "CUDA_VISIBLE_DEVICES=0 python train.py trainer=several\n"}, ONE),
        (BY_NAME, {"run.sh": "CUDA_VISIBLE_DEVICES=0,1 python train.py\n"}, ONE),
        (BY_NAME, {"run.sh": "python train.py trainer.num_nodes=2\n"}, SEVERAL),
        (BY_NAME, {"run.sh": "python train.py data.devices=4\n"}, ONE),
        (BY_NAME, {"run.sh": "python other.py trainer=several\n", "other.py": "main()\n"}, ONE),
        (BY_NAME, {"README.md": "```\npython train.py trainer=several\n```\n"}, SEVERAL),
        (BY_NAME, {"README.md": "```\npython train.py\n```\n"}, ONE),
        (
            BY_NAME,
            {
                "README.md": "```\npython train.py\n```\n",
                "conf/train.yaml": "defaults:\n  - trainer: several\n",
            },
            SEVERAL,
        ),
        (
            BY_NAME,
            {
                "run.sh": "python train.py --config-name large\n",
                "conf/large.yaml": "defaults:\n  - train\ntrainer:\n  num_nodes: 2\n",
            },
            SEVERAL,
        ),
        (
            OF_SECTION,
            {
                "run.sh": "python train.py\n",
                "conf/train.yaml": "fit:\n  params:\n    accelerator: gpu\n    strategy: ddp\n",
            },
            SEVERAL,
        ),
        (
            OF_SECTION,
            {
                "run.sh": "python train.py\n",
                "conf/train.yaml": "gpus: 1\nfit:\n  params:\n    gpus: ${gpus}\n    strategy: ddp\n",
            },
            ONE,
        ),
        (
            OF_SECTION,
            {
                "run.sh": "python train.py\n",
                "conf/train.yaml": "gpus: 8\nfit:\n  params:\n    gpus: ${gpus}\n    strategy: ddp\n",
            },
            SEVERAL,
        ),
        (
            OF_SECTION,
            {
                "run.sh": "python train.py\n",
                "conf/train.yaml": "fit:\n  params:\n    gpus: 8\n    strategy: ddp_spawn\n",
            },
            ONE,
        ),
        (
            OF_SECTION,
            {
                "run.sh": "python train.py\n",
                "conf/train.yaml": "fit:\n  params:\n    accelerator: cpu\n    devices: 4\n",
            },
            ONE,
        ),
        (
            OF_SECTION,
            {
                "run.sh": "python train.py\n",
                "conf/train.yaml": "model:\n  params:\n    devices: 4\nfit:\n  params:\n    devices: 1\n",
            },
            ONE,
        ),
        (
            PUT_TOGETHER,
            {
                "run.sh": "python train.py hardware.devices=4\n",
                "conf/train.yaml": "epochs: 2\nhardware:\n  devices: 1\n",
            },
            SEVERAL,
        ),
        (
            PUT_TOGETHER,
            {
                "run.sh": "python train.py devices=4\n",
                "conf/train.yaml": "epochs: 2\nhardware:\n  devices: 1\n",
            },
            ONE,
        ),
    ],
)
def test_what_a_run_tells_its_trainer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, files: dict[str, str], severity: str
) -> None:
    monkeypatch.chdir(tmp_path)
    program = {"models.py": MODEL, "train.py": code, **GROUPS, **files}
    (found,) = findings("DL301", tmp_path, program)
    assert found["severity"] == severity


def test_another_program_of_the_project_is_on_one_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """smoltalk e35a405 src/asr/data/librispeech.py:72: the configurations of the other program name it, and never this one's."""
    monkeypatch.chdir(tmp_path)
    program = (
        "import hydra\nfrom hydra.utils import instantiate\nfrom pytorch_lightning import Trainer\n\n\n"
        '@hydra.main(version_base=None, config_path="{0}", config_name="train")\n'
        "def main(cfg):\n    trainer: Trainer = instantiate(cfg.trainer)\n"
        "    trainer.fit(instantiate(cfg.model))\n\n\n"
        'if __name__ == "__main__":\n    main()\n'
    )
    model = (
        "import torch\nfrom pytorch_lightning import LightningModule\n\n\nclass {0}(LightningModule):\n"
        '    def training_step(self, batch, index):\n        torch.save(self.state_dict(), "{0}.pt")\n'
    )
    files = {
        "say.py": program.format("say"),
        "sing.py": program.format("sing"),
        "talks.py": model.format("Talks"),
        "songs.py": model.format("Songs"),
        "say/train.yaml": "model:\n  _target_: talks.Talks\ntrainer:\n  devices: 1\n",
        "sing/train.yaml": "model:\n  _target_: songs.Songs\ntrainer:\n  devices: 2\n",
        "run.sh": "python say.py\npython sing.py\n",
    }
    found = {each["path"]: each["severity"] for each in findings("DL301", tmp_path, files)}
    assert found == {"songs.py": SEVERAL, "talks.py": ONE}


@pytest.mark.parametrize(
    ("told", "severity"),
    [
        ('strategy="ddp", devices="auto"', SEVERAL),
        ("strategy=DDPStrategy(find_unused_parameters=True), devices=-1", SEVERAL),
        ('strategy=how, devices=count, accelerator="gpu"', SEVERAL),
        ('strategy="ddp", devices=1', None),
        ('strategy="ddp_spawn", devices="auto"', ONE),
        ('strategy="auto", devices="auto"', ONE),
        ('strategy="ddp", devices=known', ONE),
        ('strategy="ddp"', ONE),
    ],
)
def test_a_trainer_that_takes_all_devices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str, severity: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    code = (
        "import torch\nfrom pytorch_lightning import Trainer\nfrom pytorch_lightning.strategies import DDPStrategy\n\n"
        "from models import Small\n\n\ndef main(known):\n    model = Small()\n"
        '    count = torch.cuda.device_count()\n    how = "ddp_find_unused_parameters_true" if count > 1 else "auto"\n'
        f"    trainer = Trainer({told})\n    trainer.fit(model)\n"
        '    torch.save(model.state_dict(), "last.pt")\n\n\nif __name__ == "__main__":\n    main(1)\n'
    )
    files = {"models.py": MODEL, "train.py": code, "run.sh": "python train.py\n"}
    found = [each["severity"] for each in findings("DL301", tmp_path, files)]
    assert found == ([severity] if severity is not None else [])
