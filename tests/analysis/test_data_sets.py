"""Data sets that every rank builds because the program makes them by name: by a registry, `eval()`, `getattr()`."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from distlint.analysis import Model, Source, build_model

REGISTRY = """
    class Registry:
        def __init__(self):
            self.kept = {}

        def register_module(self, name=None):
            def keep(cls):
                self.kept[name or cls.__name__] = cls
                return cls
            return keep

        def build(self, config):
            return self.kept[config.pop("type")](**config)

    DATASETS = Registry()
    """
CLOUDS = """
    import os, pickle
    from torch.utils.data import Dataset
    from registry import DATASETS

    class Base(Dataset):
        def __init__(self, root):
            self.root = root
            self.read()

        def keep(self, clouds):
            with open(self.root, "wb") as file:
                pickle.dump(clouds, file)

    @DATASETS.register_module()
    class Clouds(Base):
        def read(self):
            if not os.path.exists(self.root):
                self.keep([1])
    """
TRAIN = """
    import torch.distributed as dist
    from torch.utils.data import DistributedSampler
    from registry import DATASETS
    import clouds

    def make(config):
        return DATASETS.build(config)

    def loaders(config):
        data = make(config)
        return DistributedSampler(data)

    def main(config):
        dist.init_process_group("nccl")
        loaders(config)
        dist.barrier()
    """


def built(**files: str) -> Model:
    sources = []
    for name, text in files.items():
        text = dedent(text)
        sources.append(Source(f"{name}.py", name, text, ast.parse(text)))
    return build_model(sources)


def entered(**files: str) -> dict[str, str]:
    """What several ranks enter by a reason that speaks of a name, and the reason."""
    return {
        function.qualname: why.text
        for (function, _), why in built(**files).joint_entries.items()
        if "by its name" in why.text
    }


def test_the_constructor_and_what_it_calls_on_itself_in_whatever_class() -> None:
    found = entered(registry=REGISTRY, clouds=CLOUDS, train=TRAIN)
    why = "every rank builds `Clouds`, which a registry makes by its name"
    assert found == dict.fromkeys(("Base.__init__", "Clouds.read", "Base.keep"), why)


@pytest.mark.parametrize(
    "make",
    [
        "return DATASETS.kept[config['type']](config['root'])",
        "cls = DATASETS.kept.get(config['type'])\n        return cls(config['root'])",
        "return build_from_config(config, DATASETS)",
        "return getattr(clouds, config['type'])(config['root'])",
        "return eval(config['data set'])(config['root'])",
        "return globals()[config['data set']](config['root'])",
        "return vars(clouds)[config['type']](config['root'])",
        "return clouds.DATA[config['type']](config['root'])",
    ],
)
def test_ways_to_make_by_name(make: str) -> None:
    train = TRAIN.replace("return DATASETS.build(config)", make)
    plain = CLOUDS.replace("@DATASETS.register_module()\n", "\n")
    files = {"registry": REGISTRY, "clouds": CLOUDS if "DATASETS" in make else plain}
    if "DATA[" in make:
        files["clouds"] += "\n    DATA = {'clouds': Clouds, 'sounds': library.Sounds}"
    if "eval" in make or "globals" in make:
        files["clouds"], train = "", "from torch.utils.data import Dataset\n" + dedent(train)
        train += dedent(plain).replace("from registry import DATASETS", "")
    assert "Base.keep" in entered(**files, train=train)


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        # one rank, or one rank first
        ("data = make(config)", "data = make(config) if dist.get_rank() == 0 else None"),
        (
            "data = make(config)",
            "if dist.get_rank() == 0:\n            make(config)\n        data = 1",
        ),
        (
            "data = make(config)",
            "if dist.get_rank() != 0:\n            return\n        data = make(config)",
        ),
        (
            "data = make(config)",
            "with first.main_process_first():\n            data = make(config)",
        ),
        (
            "data = make(config)",
            "if dist.get_rank() == 0:\n            clouds.Clouds(config)\n        data = make(config)",
        ),
        # nobody is known to come, or to make it
        ("loaders(config)\n        dist", "dist"),
        ("DATASETS.build(config)", "clouds.MODELS.build(config)"),
        ("DATASETS.build(config)", "getattr(dist, config)"),
    ],
)
def test_who_is_not_known_to_come(was: str, becomes: str) -> None:
    assert was in TRAIN
    assert not entered(registry=REGISTRY, clouds=CLOUDS, train=TRAIN.replace(was, becomes))


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("class Base(Dataset)", "class Base(Exporter)"),  # no data set
        ("def __init__(self, root)", "def prepare(self, root)"),  # not in the constructor
    ],
)
def test_what_the_makers_do_not_run(was: str, becomes: str) -> None:
    assert was in CLOUDS
    assert not entered(registry=REGISTRY, clouds=CLOUDS.replace(was, becomes), train=TRAIN)


def test_a_demo_at_the_end_of_the_file_does_not_say_what_a_configuration_passes() -> None:
    clouds = """
        import os, pickle
        from torch.utils.data import Dataset
        from registry import DATASETS

        @DATASETS.register_module()
        class Clouds(Dataset):
            def __init__(self, root, keep=False):
                super().__init__()
                if keep:
                    with open(root, "wb") as file:
                        pickle.dump([1], file)

        if __name__ == "__main__":
            Clouds("clouds")
        """
    model = built(registry=REGISTRY, clouds=clouds, train=TRAIN)
    assert [call.text for call in model.file_calls if call.joint_entry is not None] == ["root"]
