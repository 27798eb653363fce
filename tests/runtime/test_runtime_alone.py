"""The runtime on one process without a process group, and the parts that need no other rank."""

from __future__ import annotations

import ast
import collections
import dataclasses
import os
import random
import shutil
import subprocess
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distlint import runtime

numpy = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

ROOT = Path(runtime.__file__).parent


def test_import_costs_no_torch() -> None:
    """A linter's environment has no torch, and a script that forks early wants none yet."""
    code = (
        "import sys, distlint.runtime; "
        "print(*{'torch', 'numpy', 'accelerate', 'libcst'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == ("\n", "", 0)


def test_runtime_is_an_island() -> None:
    """Only relative imports, the standard library, torch and numpy: a copy works anywhere."""
    allowed = {*sys.stdlib_module_names, "torch", "numpy"}
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            else:
                continue
            outside = {name.partition(".")[0] for name in names} - allowed
            assert not outside, f"{path.name}: {outside}"


def test_every_public_name_says_whether_it_is_collective() -> None:
    """Who calls a function has to know whether all ranks must."""
    for name in runtime.__all__:
        value = getattr(runtime, name)
        if isinstance(value, type):
            continue
        assert "ollective" in (value.__doc__ or ""), name


# --- sections, saving, agreement: plain calls ---


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_sections_are_plain_calls(tmp_path: Path) -> None:
    """No group, no warning, no wait."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with runtime.main_process_first():
            pass
        with runtime.main_process_first(local=True):
            pass
        assert runtime.run_on_main(lambda x: x + 1, 2) == 3
        assert runtime.run_on_main(lambda x: x + 1, 2, broadcast=True) == 3
        assert runtime.on_main_process(lambda: 5)() == 5
        runtime.barrier()
        assert runtime.wait_for_everyone is runtime.barrier
        assert runtime.any_rank(True) and not runtime.all_ranks(torch.tensor([0]))
        runtime.save({"a": torch.ones(2)}, tmp_path / "a.pt", on_each_node=True)
        runtime.save(3, tmp_path / "part-{rank}.pt", per_rank=True)
        assert torch.load(tmp_path / "part-0.pt") == 3
        # The same inside a section: nobody else waits.
        runtime.run_on_main(runtime.save, 4, tmp_path / "b.pt")
        runtime.run_on_main(runtime.barrier)
    assert _names(tmp_path) == ["a.pt", "b.pt", "part-0.pt"]


def test_decorator_keeps_name_and_arguments() -> None:
    """functools.wraps, and arguments go through."""

    @runtime.on_main_process
    def write(first: int, *, second: int) -> int:
        """Its page."""
        return first + second

    assert (write.__name__, write.__doc__) == ("write", "Its page.")
    assert write(1, second=2) == 3


def test_save_keeps_mode_and_follows_links(tmp_path: Path) -> None:
    """A checkpoint that others may read stays so; a link stays a link."""
    real = tmp_path / "real.bin"
    real.write_text("old")
    real.chmod(0o640)
    link = tmp_path / "latest.bin"
    link.symlink_to(real)
    runtime.save("new", link, save_fn=lambda value, path: Path(path).write_text(value))
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o640
    assert _names(tmp_path) == ["latest.bin", "real.bin"]


def test_save_for_functions_that_add_an_ending(tmp_path: Path) -> None:
    """numpy appends .npy where it is missing: the temporary file ends like the path."""
    runtime.save(numpy.ones(3), tmp_path / "a.npy", save_fn=lambda x, path: numpy.save(path, x))
    assert _names(tmp_path) == ["a.npy"]


@pytest.mark.parametrize(
    ("name", "error"),
    [("missing/a.pt", FileNotFoundError), (".", IsADirectoryError)],
)
def test_save_to_a_bad_path(tmp_path: Path, name: str, error: type[OSError]) -> None:
    """One clear line, nothing written."""
    with pytest.raises(error):
        runtime.save({}, tmp_path / name)
    assert _names(tmp_path) == []


def test_save_function_that_writes_nothing(tmp_path: Path) -> None:
    """It is told so, and the old file stays."""
    (tmp_path / "a.pt").write_text("old")
    with pytest.raises(FileNotFoundError, match="save_fn wrote no file"):
        runtime.save({}, tmp_path / "a.pt", save_fn=lambda value, path: None)
    assert (tmp_path / "a.pt").read_text() == "old"


def test_full_disk(tmp_path: Path) -> None:
    """A device that is full: /dev/full answers every write with ENOSPC."""

    def to_full_device(value: Any, path: str) -> None:
        Path(path).symlink_to("/dev/full")
        with Path(path).open("w") as file:
            file.write("x" * 100_000)

    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    (tmp_path / "a.pt").write_text("old")
    with pytest.raises(OSError, match="No space left"):
        runtime.save({}, tmp_path / "a.pt", save_fn=to_full_device)
    assert (tmp_path / "a.pt").read_text() == "old"
    assert _names(tmp_path) == ["a.pt"]


def test_torch_save_on_a_full_disk(tmp_path: Path) -> None:
    """A real tmpfs of one megabyte; torch itself says "unexpected pos" there."""
    script = f'mount -t tmpfs -o size=1m tmpfs {tmp_path} && exec "$@"'
    prefix = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*prefix, "true"], capture_output=True).returncode
    ):
        pytest.skip("this kernel allows no mount namespaces")
    program = (
        "import pathlib, torch; from distlint import runtime\n"
        f"folder = pathlib.Path({str(tmp_path)!r})\n"
        "runtime.save(torch.ones(3), folder / 'a.pt')\n"
        "try:\n    runtime.save(torch.zeros(500_000), folder / 'a.pt')\n"
        "except OSError as error:\n    print(error.errno, error)\n"
        "print(*[p.name for p in folder.iterdir()], torch.load(folder / 'a.pt').sum().item())\n"
    )
    done = subprocess.run(
        [*prefix, sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    said, left = done.stdout.splitlines()
    assert said.startswith("28 ") and "no space left on device" in said
    assert left == "a.pt 3.0"


def tied() -> Any:
    """Two layers that share a weight, one of them recomputed in the backward pass."""
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    net[1].weight = net[0].weight
    net[1] = checkpoint_wrapper(net[1])
    return net


def test_a_state_has_the_names_of_the_net() -> None:
    state = runtime.full_state_dict(torch.nn.DataParallel(torch.compile(tied())))
    assert set(state) == {"0.weight", "0.bias", "1.weight", "1.bias"}
    assert state["0.weight"] is state["1.weight"]
    assert state["0.bias"] is not state["1.bias"]


def test_a_net_is_found_through_all_its_wrappers() -> None:
    net = torch.nn.Linear(2, 2)
    for model in (
        torch.nn.DataParallel(torch.compile(net)),
        torch.compile(torch.nn.DataParallel(net)),
    ):
        assert runtime.unwrap(model) is net


def test_a_net_is_found_in_the_ddp_of_apex(monkeypatch: pytest.MonkeyPatch) -> None:
    class DistributedDataParallel(torch.nn.Module):  # type: ignore[misc, name-defined]
        """What apex 0.1 apex/parallel/distributed.py:129 keeps of what it is given."""

        def __init__(self, module: Any) -> None:
            super().__init__()
            self.module = module

    apex = types.ModuleType("apex.parallel.distributed")
    apex.DistributedDataParallel = DistributedDataParallel  # type: ignore[attr-defined]
    net = torch.nn.Linear(2, 2)
    assert runtime.unwrap(DistributedDataParallel(net)) is not net
    monkeypatch.setitem(sys.modules, apex.__name__, apex)
    assert runtime.unwrap(DistributedDataParallel(net)) is net
    assert set(runtime.full_state_dict(DistributedDataParallel(net))) == {"weight", "bias"}


@pytest.mark.parametrize("condition", [True, False])
def test_one_process_agrees_with_itself(condition: bool) -> None:
    for given_ in (condition, torch.tensor([int(condition)])):
        assert runtime.any_rank(given_) is condition
        assert runtime.all_ranks(given_) is condition


def test_full_state_dict_refuses_other_objects() -> None:
    """A state dict is not a model."""
    with pytest.raises(TypeError, match="not dict"):
        runtime.full_state_dict({})  # type: ignore[arg-type]


# --- who we are ---


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, (0, 1, 0)),
        ({"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1"}, (3, 4, 1)),
        # Left over from a launch: one process is one process.
        ({"RANK": "3", "WORLD_SIZE": "1", "LOCAL_RANK": "3"}, (0, 1, 0)),
        ({"RANK": "3"}, (0, 1, 0)),
        ({"RANK": "5", "WORLD_SIZE": "8", "SLURM_LOCALID": "2"}, (5, 8, 2)),
        ({"RANK": "5", "WORLD_SIZE": "8"}, (5, 8, 5)),
        # srun and mpirun alone, without a launcher of torch's.
        ({"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "3", "SLURM_LOCALID": "1"}, (3, 4, 1)),
        (
            {
                "OMPI_COMM_WORLD_SIZE": "4",
                "OMPI_COMM_WORLD_RANK": "2",
                "OMPI_COMM_WORLD_LOCAL_RANK": "0",
            },
            (2, 4, 0),
        ),
        ({"PMI_SIZE": "2", "PMI_RANK": "1", "MPI_LOCALRANKID": "1"}, (1, 2, 1)),
        ({"WORLD_SIZE": "4", "SLURM_PROCID": "3", "SLURM_LOCALID": "3"}, (3, 4, 3)),
        # A batch script is one process of the job, and what torchrun starts inside a step has its own ranks.
        ({"SLURM_NTASKS": "4", "SLURM_PROCID": "0", "SLURM_LOCALID": "0"}, (0, 1, 0)),
        (
            {
                "SLURM_STEP_NUM_TASKS": "2",
                "SLURM_PROCID": "1",
                "SLURM_LOCALID": "0",
                "RANK": "5",
                "WORLD_SIZE": "8",
                "LOCAL_RANK": "1",
            },
            (5, 8, 1),
        ),
    ],
)
def test_rank_info(variables: dict[str, str], expected: tuple[int, int, int]) -> None:
    """From the group, else from the launcher, else alone."""
    none = {
        name: None
        for name in os.environ
        if name.startswith(("SLURM_", "OMPI_", "PMI_", "MPI_", "MV2_", "JSM_"))
        or name in ("RANK", "WORLD_SIZE", "LOCAL_RANK")
    }
    with runtime.temporary_env(**{**none, **variables}):
        info = runtime.rank_info()
    assert (info.rank, info.world_size, info.local_rank) == expected
    assert f"rank {expected[0]}/{expected[1]}" in str(info)
    assert info.host in str(info)


def test_malformed_rank() -> None:
    """The message names the variable and its value."""
    with (
        runtime.temporary_env(WORLD_SIZE="two"),
        pytest.raises(ValueError, match="WORLD_SIZE is 'two'"),
    ):
        runtime.rank_info()


def test_print_on_main(capsys: pytest.CaptureFixture[str]) -> None:
    """Rank 0 prints."""
    runtime.print_on_main("a", "b", sep="-")
    with runtime.temporary_env(RANK="1", WORLD_SIZE="2"):
        runtime.print_on_main("never")
    assert capsys.readouterr().out == "a-b\n"


# --- temporary values ---


class Slotted:
    """An attribute of a slot, one of a property."""

    __slots__ = ("_value", "maybe")

    def __init__(self) -> None:
        self._value = 1

    @property
    def value(self) -> int:
        """Doubled on the way out, halved on the way in: only setting restores it."""
        return self._value * 2

    @value.setter
    def value(self, new: int) -> None:
        if new % 2:
            raise ValueError("odd")
        self._value = new // 2


class Plain:
    """A class attribute."""

    default = "of the class"


def test_temporary_attr_of_instances_and_classes() -> None:
    """Absent is absent again, and the class's value is not copied into the instance."""
    thing = Plain()
    with runtime.temporary_attr(thing, default="mine", fresh=1):
        assert (thing.default, thing.fresh) == ("mine", 1)  # type: ignore[attr-defined]
    assert vars(thing) == {}
    assert thing.default == "of the class"
    with runtime.temporary_attr(Plain, default="other"):
        assert thing.default == "other"
    assert Plain.default == "of the class"


def test_temporary_attr_of_properties_and_slots() -> None:
    """Properties are set back through their setter; an empty slot is empty again."""
    thing = Slotted()
    with runtime.temporary_attr(thing, value=8, maybe=3):
        assert (thing.value, thing.maybe) == (8, 3)  # type: ignore[attr-defined]
    assert thing.value == 2
    assert not hasattr(thing, "maybe")


def test_temporary_attr_that_cannot_be_entered() -> None:
    """What was set before the failure is undone."""
    thing = Slotted()
    with (
        pytest.raises(ValueError, match="odd"),
        runtime.temporary_attr(thing, maybe=1, value=3),
    ):
        raise AssertionError("the body ran")
    assert not hasattr(thing, "maybe")
    assert thing.value == 2
    with pytest.raises(AttributeError), runtime.temporary_attr(thing, other=1):
        raise AssertionError("the body ran")


def test_temporary_attr_when_the_body_fails() -> None:
    """Everything is restored, and the body's exception is the one that is seen."""

    class Stubborn(Plain):
        def __setattr__(self, name: str, value: object) -> None:
            if value == "broken":
                raise RuntimeError("cannot be restored")
            super().__setattr__(name, value)

    thing = Stubborn()
    vars(thing)["state"] = "broken"
    vars(thing)["other"] = 1
    with (
        pytest.raises(KeyError, match="body"),
        runtime.temporary_attr(thing, other=2, state="fine"),
    ):
        raise KeyError("body")
    assert thing.other == 1  # type: ignore[attr-defined]


def test_temporary_attr_of_modules() -> None:
    """Parameters, buffers, submodules, and attributes behind a compiled wrapper."""
    net = torch.nn.Linear(2, 2)
    net.register_buffer("seen", torch.zeros(1))
    weight, order = net.weight, list(net.state_dict())
    other = torch.nn.Parameter(torch.ones(2, 2))
    with runtime.temporary_attr(net, weight=other, seen=torch.ones(1), training=False):
        assert net.weight is other
        assert not net.training
    assert net.weight is weight
    assert net.training
    assert list(net.state_dict()) == order
    assert net.seen.item() == 0
    compiled = torch.compile(net, backend="eager")
    net.flag = 1
    before = dict(vars(net))
    with runtime.temporary_attr(compiled, flag=2, fresh=3):
        assert net.flag == 2
    assert vars(net) == before
    assert compiled.flag == 1


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(), max_size=6),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(), max_size=6),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(), max_size=6),
)
def test_temporary_attr_restores_anything(
    of_class: dict[str, int], of_instance: dict[str, int], values: dict[str, int]
) -> None:
    """Whatever is in the class, in the instance or nowhere, and whatever the body does to it."""
    thing = type("Thing", (), dict(of_class))()
    vars(thing).update(of_instance)
    with runtime.temporary_attr(thing, **values):
        assert {name: getattr(thing, name) for name in values} == values
        for name in list(vars(thing))[::2]:
            delattr(thing, name)
    touched = {name: value for name, value in of_instance.items() if name in values}
    assert {name: value for name, value in vars(thing).items() if name in values} == touched


def test_temporary_config_without_a_config() -> None:
    """The message names the class."""
    with (
        pytest.raises(TypeError, match="Linear has none"),
        runtime.temporary_config(torch.nn.Linear(1, 1), use_cache=False),
    ):
        raise AssertionError("the body ran")


def test_attention_of_something_else() -> None:
    """A net without transformers' config."""
    with (
        pytest.raises(TypeError, match="Linear has no config"),
        runtime.attn_implementation(torch.nn.Linear(1, 1), "eager"),
    ):
        raise AssertionError("the body ran")


def test_attention_of_a_model_that_cannot_switch() -> None:
    """XLNet computes attention in its own way (transformers 5.23.0): a warning, or an error."""
    from transformers import XLNetConfig, XLNetModel

    model = XLNetModel(XLNetConfig(vocab_size=8, d_model=8, n_layer=1, n_head=2, d_inner=8))
    before = model.config._attn_implementation
    with (
        pytest.warns(UserWarning, match="XLNetModel chooses its attention when it is built"),
        runtime.attn_implementation(model, "sdpa"),
    ):
        assert model.config._attn_implementation == before
    with (
        pytest.raises(ValueError, match="cannot switch"),
        runtime.attn_implementation(model, "sdpa", strict=True),
    ):
        raise AssertionError("the body ran")
    assert model.config._attn_implementation == before


def test_names_that_a_config_maps() -> None:
    """GPT-2 calls hidden_size n_embd; both names come back."""
    from transformers import GPT2Config

    config = GPT2Config(n_embd=12)
    before = dict(vars(config))
    with runtime.temporary_attr(config, hidden_size=24):
        assert config.n_embd == 24
    assert dict(vars(config)) == before


# --- environment ---


def test_temporary_env_restores_what_the_body_changed() -> None:
    """Exactly, also after an error and after the body's own changes."""
    before = dict(os.environ)
    with (
        pytest.raises(KeyError),
        runtime.temporary_env(DISTLINT_A="1", DISTLINT_B=None, HOME="/nowhere"),
    ):
        os.environ["DISTLINT_B"] = "set inside"
        del os.environ["DISTLINT_A"]
        raise KeyError
    assert dict(os.environ) == before


def test_temporary_env_that_cannot_be_set() -> None:
    """Nothing is changed."""
    before = dict(os.environ)
    with (
        pytest.raises((TypeError, ValueError)),
        runtime.temporary_env(DISTLINT_A="1", DISTLINT_B=object()),  # type: ignore[arg-type]
    ):
        raise AssertionError("the body ran")
    assert dict(os.environ) == before


def test_clean_distributed_env() -> None:
    """The launcher's variables go, others stay, all come back."""
    launched = {
        "RANK": "1",
        "LOCAL_RANK": "1",
        "WORLD_SIZE": "2",
        "MASTER_PORT": "29500",
        "GROUP_RANK": "0",
        "ROLE_NAME": "default",
        "TORCHELASTIC_RESTART_COUNT": "0",
        "OMPI_COMM_WORLD_RANK": "1",
        "ACCELERATE_USE_FSDP": "true",
        "FSDP_VERSION": "2",
        "RANKED": "stays",
    }
    with runtime.temporary_env(**launched, TORCHELASTIC_RUN_ID=None):
        before = dict(os.environ)
        with runtime.clean_distributed_env(keep=["MASTER_PORT"]):
            assert {*launched} & {*os.environ} == {"MASTER_PORT", "RANKED"}
        assert dict(os.environ) == before
        os.environ["TORCHELASTIC_RUN_ID"] = "7"
        with pytest.raises(RuntimeError, match="torchrun"), runtime.clean_distributed_env():
            raise AssertionError("the body ran")


# --- randomness ---


def test_seeds_out_of_range() -> None:
    """numpy takes 32 bits; the message says so."""
    for seed in (-1, 2**32):
        for call in (runtime.seed_everything, runtime.decorrelate, runtime.generator):
            with pytest.raises(ValueError, match=r"2\*\*32"):
                call(seed)


def test_ranks_of_neighbouring_seeds_share_nothing() -> None:
    """With seed + rank, rank 1 of seed 7 is rank 0 of seed 8."""
    first = set()
    for seed in range(20):
        for rank in range(20):
            with runtime.temporary_env(RANK=rank, WORLD_SIZE=20):
                first.add(torch.rand(1, generator=runtime.generator(seed)).item())
                runtime.decorrelate(seed)
                first |= {torch.rand(1).item(), random.random(), numpy.random.rand()}
    # Floats of 24 bits: a few of 1600 may fall together by chance.
    assert len(first) > 1590


def test_deterministic() -> None:
    """Only when asked for."""
    runtime.seed_everything(1)
    assert not torch.are_deterministic_algorithms_enabled()
    try:
        with runtime.temporary_env(CUBLAS_WORKSPACE_CONFIG=None):
            runtime.seed_everything(1, deterministic=True)
            assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
        assert torch.are_deterministic_algorithms_enabled()
    finally:
        torch.use_deterministic_algorithms(False)


# --- devices ---


@dataclasses.dataclass
class Batch:
    """A container of the user's."""

    tokens: Any
    name: str


Pair = collections.namedtuple("Pair", ["left", "right"])


def test_nests_keep_their_types() -> None:
    """Fake tensors: devices are checked as on two GPUs."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from transformers import BatchEncoding

    with FakeTensorMode():
        here = torch.empty(2, device="cuda:0")
        there = torch.empty(2, dtype=torch.int64, device="cuda:1")
        nest: dict[str, Any] = {
            "pair": Pair(there, 1),
            "batch": Batch(there, "name"),
            "encoding": BatchEncoding({"input_ids": there}),
            "order": collections.OrderedDict(a=[there, (there,)]),
        }
        moved = runtime.to_device_of(nest, here)
    assert type(moved["pair"]) is Pair
    assert moved["pair"].left.device == here.device
    assert moved["batch"].tokens.dtype == torch.int64
    assert moved["batch"].tokens.device == here.device
    assert type(moved["encoding"]) is BatchEncoding
    assert moved["encoding"]["input_ids"].device == here.device
    assert type(moved["order"]) is collections.OrderedDict
    assert moved["order"]["a"][1][0].device == here.device
    # The argument is as it was.
    assert nest["encoding"]["input_ids"] is there
    assert nest["batch"].tokens is there


def test_what_is_there_already_is_not_copied() -> None:
    tensor = torch.ones(2)
    nest = {"pair": Pair(tensor, 1), "list": [tensor], "batch": Batch(tensor, "name")}
    assert runtime.to_device_of(tensor, torch.zeros(1)) is tensor
    assert runtime.to_device_of(nest, torch.zeros(1)) is nest


def test_modules_to_go_by() -> None:
    """One device, or a clear refusal."""
    mixed = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1, device="meta"))
    with pytest.raises(ValueError, match=r"several devices \(cpu, meta\)"):
        runtime.to_device_of(torch.ones(1), mixed)
    with pytest.raises(ValueError, match="no tensors"):
        runtime.to_device_of(torch.ones(1), torch.nn.ReLU())
    with pytest.raises(TypeError, match="not int"):
        runtime.to_device_of(torch.ones(1), 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no tensor and no device"):
        runtime.same_device(1, "a")
