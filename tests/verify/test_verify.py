"""`distlint verify`: which groups it forms, what it records, how it shows failures."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from distlint.hardware.verify import contract_runs, proof_runs
from distlint.hardware.verify.machine import GpuRow, MachineRecord
from distlint.hardware.verify.outcome import Outcome, Status
from distlint.hardware.verify.record import SessionRecord, Verification, as_json
from distlint.hardware.verify.sessions import Session, default_ranks, plan
from distlint.hardware.verify.table import render

torch = pytest.importorskip("torch")

MACHINE = MachineRecord(
    distlint="0.1.0",
    python="3.11.7",
    system="Linux x86_64",
    cores=16,
    torch="2.13.0",
    cuda="13.0",
    nccl="2.29.3",
    driver="580.95",
    visible_gpus=1,
    gpus=(GpuRow("NVIDIA H200", 150_754_820_096, "9.0"),),
    libraries={},
)


def _verify(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "distlint", "verify", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def _titles(ranks: int, gpus: int, nccl: bool, backend: str | None = None) -> list[str]:
    return [session.title for session in plan(ranks, gpus, nccl, backend)[0]]


def test_groups_without_a_gpu() -> None:
    sessions, missing = plan(2, 0, False, None)
    assert [session.title for session in sessions] == ["gloo, 2 ranks on the CPU"]
    assert missing == ["gloo on GPUs: torch sees no GPU", "nccl: torch sees no GPU"]


def test_groups_with_one_gpu() -> None:
    assert _titles(2, 1, True) == [
        "gloo, 2 ranks on the CPU",
        "gloo, 2 ranks sharing 1 GPU",
        "nccl, 1 rank on 1 GPU",
        "nccl, 2 ranks sharing 1 GPU",
    ]
    assert {Session("gloo", 2, "cuda", 1).device_of(rank) for rank in (0, 1)} == {"cuda:0"}


def test_groups_with_eight_gpus() -> None:
    assert default_ranks(8) == 8
    assert _titles(8, 8, True, "nccl") == ["nccl, 8 ranks on 8 GPUs"]
    assert _titles(8, 8, False, "nccl") == []
    assert Session("nccl", 8, "cuda", 8).device_of(5) == "cuda:5"


@pytest.mark.skipif(torch.cuda.is_available(), reason="here the group can be formed")
def test_a_group_that_cannot_be_formed_says_why() -> None:
    outcomes, problem = contract_runs.run_contracts(
        Session("nccl", 1, "cuda", 1), ["identity.rank-info"], lambda outcome: None
    )
    assert outcomes == []
    assert problem is not None and "Error" in problem


def test_contracts_on_three_ranks_with_their_record(tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    selected = ("--select", "identity.*", "--select", "devices.real-gpu")
    done = _verify(
        "--only", "contracts", "--backend", "gloo", "--nproc", "3", *selected, "--json", str(file)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "gloo, 3 ranks on the CPU" in done.stdout
    record = json.loads(file.read_text())
    on_cpu = record["contracts"][0]
    assert (on_cpu["backend"], on_cpu["ranks"], on_cpu["device"]) == ("gloo", 3, "cpu")
    rows = {row["name"]: row for row in on_cpu["rows"]}
    assert rows["identity.rank-info"]["status"] == "held"
    assert rows["devices.real-gpu"]["reason"] == "needs a GPU"
    assert record["machine"]["torch"] == str(torch.__version__)
    assert socket.gethostname() not in file.read_text()


def test_the_record_names_no_host_and_no_folder() -> None:
    reason = f"{socket.gethostname()}: OSError: /usr/lib/torch/x.py: no"
    row = Outcome("saving.model", "", Status.FAILED, reason)
    verification = Verification(MACHINE, (), ("nccl: none",), (row,), (), 1.0)
    text = as_json(verification)
    assert "/usr/lib" not in text and "x.py: no" in text
    assert len(socket.gethostname()) <= 3 or socket.gethostname() not in text
    assert json.loads(text)["machine"]["gpus"][0]["name"] == "NVIDIA H200"


def test_the_table_shows_failures_with_what_they_said() -> None:
    session = Session("nccl", 2, "cuda", 1)
    rows = (
        Outcome("saving.model", "writes once", Status.HELD, seconds=1.5),
        Outcome("saving.nest", "", Status.FAILED, "rank 1: ValueError: no", "Traceback\nno"),
    )
    formed = SessionRecord(session, rows, None)
    refused = SessionRecord(session, (), "ncclInvalidUsage: Duplicate GPU detected")
    verification = Verification(MACHINE, (formed, refused), (), (), ("DL900",), 3.0)
    text = render(verification, lambda word, status: word, 100, verbose=False)
    assert "contracts · nccl, 2 ranks sharing 1 GPU · 1 held, 1 failed, 0 not checked" in text
    assert "rank 1: ValueError: no" in text and "| Traceback" in text
    assert "could not be checked: ncclInvalidUsage: Duplicate GPU detected" in text
    assert "rules without a proof: DL900" in text
    assert "1 x NVIDIA H200" in text and "NCCL 2.29.3" in text
    assert [row.name for row in verification.failed] == ["saving.nest"]


def _proof(folder: Path, header: str, body: str) -> Outcome:
    path = folder / "proof.py"
    path.write_text(f'"""{header}"""\n{body}')
    return proof_runs.run_proof(proof_runs.Proof("DL101", "example", path))


def test_proofs_that_do_not_hold(tmp_path: Path) -> None:
    wrong = _proof(tmp_path, "Goes wrong on 1 rank: fails.", "")
    assert (wrong.status, wrong.reason) == (
        Status.FAILED,
        "as written: declared fails, seen right: all ranks finished",
    )
    assert _proof(tmp_path, "Fails.", "").status is Status.FAILED
    unmarked = _proof(tmp_path, "Goes wrong on 1 rank: fails.", "raise ValueError\n")
    assert unmarked.reason == "found: no line is marked `# expect: DLxxx`"


@pytest.mark.skipif(torch.cuda.is_available(), reason="here the requirement is met")
def test_a_proof_that_needs_a_gpu_is_not_checked(tmp_path: Path) -> None:
    outcome = _proof(tmp_path, "Goes wrong on 1 rank: fails.\nRequires: cuda", "")
    assert (outcome.status, outcome.reason) == (Status.NOT_CHECKED, "needs a GPU; torch sees none")


def test_nccl_alone_runs_nothing_on_gloo(tmp_path: Path) -> None:
    """Every proof of the installed rules runs on gloo, which --backend nccl leaves out."""
    file = tmp_path / "record.json"
    done = _verify("--backend", "nccl", "--only", "proofs", "--json", str(file))
    assert "left out, as they run on the other backend:" in done.stdout
    record = json.loads(file.read_text())
    assert record["proofs"] == [] and "DL301" in record["proofs_left_out"]
    assert done.returncode == 2 and "nothing could be checked here" in done.stderr


def test_proofs_by_backend(tmp_path: Path) -> None:
    proofs = []
    for code, fields in (("DL101", ""), ("DL102", "Requires: cuda"), ("DL103", "Requires: nccl")):
        path = tmp_path / code
        path.write_text(f'"""Goes wrong on 2 ranks: hangs.\n{fields}\n"""\n')
        proofs.append(proof_runs.Proof(code, "example", path))
    assert proof_runs.on_backend(proofs, None) == (proofs, [])
    assert proof_runs.on_backend(proofs, "nccl") == (proofs[1:], ["DL101"])
    assert proof_runs.on_backend(proofs, "gloo") == (proofs[:1], ["DL102", "DL103"])


def _until(condition: Callable[[], object], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _processes_in(folder: Path) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (process / "cmdline").read_bytes():
                found.append(process.name)
        except OSError:  # it ended meanwhile
            continue
    return found


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_verification_that_is_stopped_leaves_nothing(tmp_path: Path, number: int) -> None:
    command = [sys.executable, "-m", "distlint", "verify", "--only", "proofs", "--select", "DL301"]
    folder = tmp_path / "temporary"
    folder.mkdir()
    environment = {**os.environ, "TMPDIR": str(folder)}
    running = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        _until(lambda: list(folder.glob("*/distlint-proof-*/run0/0.started")))
        running.send_signal(number)
        running.communicate(timeout=60)
    finally:
        running.kill()
        running.wait()
    _until(lambda: not _processes_in(folder), 30)
    if number == signal.SIGKILL:
        # It could not; the next one does, and leaves what is not its own.
        assert list(folder.iterdir())
        (folder / "distlint-verify-notes.txt").write_text("a user's file")
        again = subprocess.run(
            [*command[:4], "--only", "contracts", "--backend", "nccl"],
            env=environment,
            capture_output=True,
            timeout=120,
        )
        assert again.returncode in (0, 2)
        assert [path.name for path in folder.iterdir()] == ["distlint-verify-notes.txt"]
    else:
        assert running.returncode == (143 if number == signal.SIGTERM else 130)
        assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--json", "/no/such/folder/x.json"], "/no/such/folder: no such folder for --json"),
        (
            ["--select", "nothing.like-it"],
            "no contract and no proof has a name like nothing.like-it",
        ),
        (["--nproc", "0"], "0 is not in the range"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], says: str) -> None:
    done = _verify(*arguments)
    assert done.returncode == 2
    assert says in done.stderr and "Traceback" not in done.stderr
