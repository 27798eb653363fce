"""distlint doctor, the whole command: each bad state is named, within ten seconds, and never hangs.

Nothing is mocked: the variables are set, the port is taken, /dev/shm is a tmpfs of one megabyte.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

_COMMAND = [sys.executable, "-c", "from distlint.cli.doctor import doctor; doctor()"]


def limit_s() -> float:
    """Ten seconds on a machine that is free; more where others use it, as the load tells."""
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    return 10.0 * max(1.0, 1.5 * busy)


def clean_environment() -> dict[str, str]:
    """This environment without what a launcher, a scheduler or a test runner may have set."""
    prefixes = (
        "TORCHELASTIC_",
        "ACCELERATE_",
        "FSDP_",
        "NCCL_",
        "GLOO_",
        "TORCH_",
        "OMPI_",
        "PMI_",
        "SLURM_",
    )
    names = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}
    names |= {"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS"}
    return {k: v for k, v in os.environ.items() if k not in names and not k.startswith(prefixes)}


@pytest.fixture(scope="module")
def no_torch(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PYTHONPATH on which a process finds no torch, as in the linter's own environment.

    Torch takes most of the time of a run; what does not ask for it is the same without it.
    """
    folder = tmp_path_factory.mktemp("no-torch")
    (folder / "sitecustomize.py").write_text(
        "import sys\n"
        "class Hide:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'torch':\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Hide())\n"
        "import importlib.util\n"
        "found = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda n, p=None: None if n == 'torch' else found(n, p)\n"
    )
    return str(folder)


def doctor(
    *arguments: str, expect: int | None = None, prefix: list[str] | None = None, **variables: str
) -> dict[str, Any]:
    """The record of one run, in a process of its own as a user starts it."""
    started = time.monotonic()
    done = subprocess.run(
        [*(prefix or []), *_COMMAND, *arguments, "--json"],
        capture_output=True,
        text=True,
        timeout=120,
        env={**clean_environment(), **variables},
    )
    seconds = time.monotonic() - started
    assert done.returncode in (0, 1), done.stderr
    assert seconds < limit_s()
    record: dict[str, Any] = json.loads(done.stdout)
    assert record["exit_code"] == done.returncode
    if expect is not None:
        assert done.returncode == expect, done.stdout
    return record


def named(record: dict[str, Any], check: str) -> list[dict[str, Any]]:
    found = [entry for entry in record["checks"] if entry["check"] == check]
    assert found, f"no check named {check}"
    return found


def the_error(record: dict[str, Any], check: str) -> dict[str, Any]:
    entry = next((e for e in named(record, check) if e["status"] == "error"), None)
    assert entry is not None, named(record, check)
    assert entry["why"] and entry["do"]
    return entry


def test_every_check_answers_and_no_name_leaks(tmp_path: Path) -> None:
    record = doctor("--checkpoint-dir", str(tmp_path), "--params", "7b")
    names = [entry["check"] for entry in record["checks"]]
    assert len(set(names)) >= 21
    assert {entry["status"] for entry in record["checks"]} <= {"ok", "warn", "error", "skipped"}
    assert all(entry["why"] and entry["do"] for entry in record["checks"] if entry["status"] in ("warn", "error"))  # fmt: skip
    assert socket.gethostname() not in json.dumps(record)
    assert list(tmp_path.iterdir()) == []
    # Where there is torch, an all-reduce over gloo works here.
    (gloo,) = named(record, "gloo-all-reduce")
    assert gloo["status"] == ("ok" if find_spec("torch") else "skipped")


def test_leftover_launcher_variables(no_torch: str) -> None:
    record = doctor(
        RANK="0",
        WORLD_SIZE="2",
        LOCAL_RANK="0",
        MASTER_ADDR="127.0.0.1",
        PYTHONPATH=no_torch,
        expect=1,
    )
    entry = the_error(record, "launcher-variables")
    assert "RANK=0" in entry["saw"] and "WORLD_SIZE=2" in entry["saw"]
    assert "waits in init_process_group" in entry["why"]
    assert entry["do"].startswith("unset ") and "MASTER_ADDR" in entry["do"]


def test_a_configuration_for_eight_gpus_on_a_machine_without_them(
    tmp_path: Path, no_torch: str
) -> None:
    pytest.importorskip("yaml")
    config = tmp_path / "eight.yaml"
    config.write_text(
        "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 8\n"
    )
    record = doctor("--config-file", str(config), PATH=str(tmp_path), expect=1, PYTHONPATH=no_torch)
    entry = the_error(record, "config-on-this-machine")
    assert "8 processes" in entry["saw"] and "none is visible" in entry["saw"]


def test_a_port_in_use(no_torch: str) -> None:
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen(1)
        port = str(taken.getsockname()[1])
        record = doctor(MASTER_PORT=port, MASTER_ADDR="127.0.0.1", expect=1, PYTHONPATH=no_torch)
    entry = the_error(record, "master-port")
    assert port in entry["saw"]
    if Path("/proc/net/tcp").exists():  # the process that has it, by name
        assert f"(process {os.getpid()})" in entry["saw"]
        assert f"(process {os.getpid()})" in entry["do"]


def test_a_port_in_use_in_the_configuration(tmp_path: Path, no_torch: str) -> None:
    pytest.importorskip("yaml")
    config = tmp_path / "a.yaml"
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen(1)
        port = taken.getsockname()[1]
        text = f"distributed_type: MULTI_GPU\nnum_processes: 2\nmain_process_port: {port}\n"
        config.write_text(text)
        alone = doctor("--config-file", str(config), PYTHONPATH=no_torch)
        two_machines = "num_machines: 2\nmachine_rank: 0\nmain_process_ip: 127.0.0.2\n"
        config.write_text(text + two_machines)
        several = doctor("--config-file", str(config), PYTHONPATH=no_torch)
    (entry,) = named(alone, "config-rendezvous")
    assert entry["status"] == "warn" and f"main_process_port {port}" in entry["saw"]
    assert f"main_process_port {port}" in the_error(several, "config-rendezvous")["saw"]


def test_a_tiny_shared_memory_mount(no_torch: str) -> None:
    """A real tmpfs of one megabyte over /dev/shm, in a mount namespace of its own."""
    script = 'mount -t tmpfs -o size=1m tmpfs /dev/shm && exec "$@"'
    prefix = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*prefix, "true"], capture_output=True).returncode
    ):
        pytest.skip("this kernel allows no mount namespaces")
    record = doctor(prefix=prefix, expect=1, PYTHONPATH=no_torch)
    assert "1.0 MiB free of 1.0 MiB" in the_error(record, "shared-memory")["saw"]


@pytest.mark.parametrize(
    ("value", "said"),
    [("0,one,2", "one"), ("0,0", "twice"), ("cuda:0", "cuda:0"), ("0;1", "0;1")],
)
def test_a_malformed_cuda_visible_devices(value: str, said: str, no_torch: str) -> None:
    record = doctor(CUDA_VISIBLE_DEVICES=value, expect=1, PYTHONPATH=no_torch)
    assert said in the_error(record, "cuda-visible-devices")["saw"]


def test_two_gpus_asked_for_where_there_are_fewer(tmp_path: Path, no_torch: str) -> None:
    record = doctor("--model-parallel", "yes", PATH=str(tmp_path), expect=1, PYTHONPATH=no_torch)
    assert "needs two GPUs" in the_error(record, "model-parallel")["saw"]


def test_gloo_fails_on_an_interface_that_does_not_exist() -> None:
    pytest.importorskip("torch")
    record = doctor(GLOO_SOCKET_IFNAME="no-such-if0", expect=1)
    assert "no-such-if0" in the_error(record, "communication-settings")["saw"]
    assert "failed" in the_error(record, "gloo-all-reduce")["saw"]


@pytest.mark.slow
def test_a_driver_that_hangs_does_not_hang_the_doctor(tmp_path: Path) -> None:
    """nvidia-smi hangs when a GPU has fallen off the bus; here, a program of that name does."""
    pytest.importorskip("torch")
    fake = tmp_path / "nvidia-smi"
    fake.write_text("#!/bin/sh\nexec /bin/sleep 1000\n")
    fake.chmod(0o755)
    record = doctor(PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}", expect=1)
    assert "did not answer" in the_error(record, "gpus")["saw"]
    assert named(record, "shared-memory")[0]["status"] in ("ok", "warn", "error")


def test_without_torch_the_other_checks_still_run(no_torch: str) -> None:
    record = doctor(RANK="1", PYTHONPATH=no_torch)
    for check in ("torch-build", "backends", "gloo-all-reduce"):
        entry = named(record, check)[0]
        assert (entry["status"], entry["saw"]) == ("skipped", "torch is not installed here")
    the_error(record, "launcher-variables")
    assert named(record, "ulimits")[0]["status"] != "skipped"


def test_a_file_named_torch_beside_the_user_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("open('ran', 'w').close()\n")
    done = subprocess.run(
        [*_COMMAND, "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env=clean_environment(),
    )
    assert done.returncode in (0, 1), done.stderr
    assert not (tmp_path / "ran").exists()


def test_no_process_is_left_behind(tmp_path: Path, no_torch: str) -> None:
    """The hanging probe is killed with its children: its program carries a name of its own."""
    if not Path("/proc").is_dir():
        pytest.skip("needs /proc")
    fake = tmp_path / "nvidia-smi"
    fake.write_text(f"#!/bin/sh\n/bin/sleep 1000.{os.getpid()} & /bin/sleep 1000.{os.getpid()}\n")
    fake.chmod(0o755)
    doctor(PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}", PYTHONPATH=no_torch)
    needle = f"1000.{os.getpid()}".encode()
    left = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if needle in process.read_bytes():
                left.append(process)
        except OSError:  # it ended meanwhile
            continue
    assert left == []


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_the_report_keeps_within_the_terminal(columns: int, no_torch: str) -> None:
    variables = {"COLUMNS": str(columns), "RANK": "0", "WORLD_SIZE": "2", "PYTHONPATH": no_torch}
    done = subprocess.run(
        _COMMAND,
        capture_output=True,
        text=True,
        timeout=120,
        env={**clean_environment(), **variables},
    )
    assert done.returncode == 1
    assert max(map(len, done.stdout.splitlines())) <= columns
    assert "\x1b" not in done.stdout
    assert "1 error" in done.stdout.splitlines()[-1]


def test_a_bad_option_is_one_line() -> None:
    done = subprocess.run(
        [*_COMMAND, "--params", "many"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
