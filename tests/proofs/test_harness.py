"""The proof harness itself, on scripts whose outcome is known."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from distlint.proving import launch, rank_main
from distlint.proving.declaration import DeclarationError, Outcome, read_declaration
from distlint.proving.execution import Execution, Starter, execute
from distlint.proving.steps import as_written
from distlint.proving.warm import WarmInterpreter

pytest.importorskip("torch")

EXAMPLES = Path(__file__).parent / "examples"
INIT = """
from datetime import timedelta
import torch, torch.distributed as dist
dist.init_process_group("gloo", timeout=timedelta(seconds=90))
rank = dist.get_rank()
"""


def _write(folder: Path, header: str, body: str) -> Path:
    script = folder / "proof.py"
    script.write_text(f'"""{header}"""\n{body}', encoding="utf-8")
    return script


def _run(
    folder: Path,
    header: str,
    body: str,
    *,
    may_hang: bool = True,
    start: Starter = launch.start,
) -> Execution:
    declaration = read_declaration(_write(folder, header, body))
    notes = folder / "notes"
    return execute(declaration.path, declaration, may_hang=may_hang, folder=notes, start=start)


@pytest.mark.parametrize("name", ["hang", "wrong_result"])
def test_examples_go_wrong_as_declared_and_right_by_hand(name: str, tmp_path: Path) -> None:
    declaration = read_declaration(EXAMPLES / name / "proof.py")
    assert as_written(declaration).held
    fixed = EXAMPLES / name / "proof.fixed.py"
    result = execute(fixed, declaration, may_hang=False, folder=tmp_path)
    assert (result.outcome, [end.status for end in result.ranks]) == (Outcome.RIGHT, [0, 0])


def test_ranks_that_all_wait_are_a_hang_long_before_their_timeouts(
    tmp_path: Path, interpreter: WarmInterpreter, monkeypatch: pytest.MonkeyPatch
) -> None:
    signal_group = os.killpg

    def kill_with_time_to_see_it(group: int, number: int) -> None:
        signal_group(group, number)
        if number == signal.SIGKILL:
            time.sleep(0.5)

    monkeypatch.setattr(os, "killpg", kill_with_time_to_see_it)
    body = INIT + "if rank == 0:\n    dist.barrier()\nelse:\n    dist.recv(torch.ones(1), 0)\n"
    result = _run(tmp_path, "Goes wrong on 2 ranks: hangs.", body, start=interpreter.start)
    assert result.outcome is Outcome.HANGS
    lines = (tmp_path / "proof.py").read_text().splitlines()
    at = [lines[end.line - 1].strip() for end in result.ranks if end.line]
    assert at == ["dist.barrier()", "dist.recv(torch.ones(1), 0)"]
    assert [end.exception for end in result.ranks] == [None, None]  # no timeout has struck


def test_an_idle_rank_with_a_computing_partner_is_no_hang(
    tmp_path: Path, interpreter: WarmInterpreter
) -> None:
    compute = "import time\nend = time.process_time() + 4\nwhile time.process_time() < end: pass\n"
    guarded = "if rank == 0:\n" + "".join(f"    {line}\n" for line in compute.splitlines())
    body = INIT + guarded + "dist.barrier()\n"
    result = _run(tmp_path, "Goes wrong on 2 ranks: hangs.", body, start=interpreter.start)
    assert result.outcome is Outcome.RIGHT


def test_the_time_limit_ends_ranks_that_never_stop(tmp_path: Path) -> None:
    header = "Goes wrong on 2 ranks: hangs.\nTimeout: 4\n"
    result = _run(tmp_path, header, "while True: pass\n", may_hang=False)
    assert result.outcome is Outcome.HANGS
    assert [end.line for end in result.ranks] == [4, 4]


def test_the_cause_counts_not_what_it_did_to_the_others(
    tmp_path: Path, interpreter: WarmInterpreter
) -> None:
    body = INIT + "if rank == 1: raise KeyError('config')\ndist.barrier()\n"
    result = _run(tmp_path, "Goes wrong on 2 ranks: fails.", body, start=interpreter.start)
    assert result.outcome is Outcome.FAILS
    assert result.evidence.startswith("rank 1 failed at line 7: KeyError")


def test_a_process_that_ends_itself_without_a_word_fails(tmp_path: Path) -> None:
    result = _run(tmp_path, "Goes wrong on 1 rank: fails.", "import os\nos._exit(7)\n")
    assert (result.outcome, result.evidence) == (Outcome.FAILS, "rank 0 failed: exit 7")


def test_exit_status_of_the_script_is_kept(tmp_path: Path) -> None:
    result = _run(tmp_path, "Goes wrong on 1 rank: fails.", "import sys\nsys.exit('no')\n")
    assert (result.outcome, result.ranks[0].status) == (Outcome.FAILS, 1)


def test_under_real_torchrun(tmp_path: Path) -> None:
    body = "import os\n" + INIT + "dist.barrier()\nassert 'TORCHELASTIC_RUN_ID' not in os.environ\n"
    header = "Goes wrong on 2 ranks: wrong result.\nLaunch: torchrun\n"
    result = _run(tmp_path, header, body)
    assert result.outcome is Outcome.WRONG_RESULT, result


def test_a_script_that_starts_its_own_processes(tmp_path: Path) -> None:
    body = (
        "import os\nimport torch.multiprocessing as mp\n"
        "def main(rank): assert 'RANK' not in os.environ\n"
        "if __name__ == '__main__': mp.spawn(main, nprocs=2)\n"
    )
    header = "Goes wrong on 2 ranks: fails.\nLaunch: plain\n"
    assert _run(tmp_path, header, body).outcome is Outcome.RIGHT


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    child = "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', SLEEP])\n"
    sleep = f"SLEEP = 'import time; time.sleep(600)  # {tmp_path.name}'\n"
    body = (
        sleep + INIT + child + "if rank == 0: dist.barrier()\nelse: dist.recv(torch.ones(1), 0)\n"
    )
    assert _run(tmp_path, "Goes wrong on 2 ranks: hangs.", body).outcome is Outcome.HANGS
    assert _command_lines_with(tmp_path.name) == []


@pytest.mark.skipif(sys.platform != "linux", reason="prctl and /proc are Linux's")
def test_ranks_die_with_a_harness_that_is_killed(tmp_path: Path) -> None:
    script = _write(tmp_path, "Goes wrong on 2 ranks: hangs.", "import time\ntime.sleep(600)\n")
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from distlint.proving.declaration import read_declaration\n"
        "from distlint.proving.execution import execute\n"
        f"d = read_declaration(Path({str(script)!r}))\n"
        f"execute(d.path, d, may_hang=False, folder=Path({str(tmp_path / 'notes')!r}))\n"
    )
    harness = subprocess.Popen([sys.executable, "-c", program])
    notes = tmp_path / "notes" / "run0"
    _until(lambda: (notes / "0.started").exists() and (notes / "1.started").exists())
    pids = [int((notes / f"{rank}.started").read_text()) for rank in range(2)]
    harness.kill()
    harness.wait()
    _until(lambda: not any(_runs(pid) for pid in pids))


def test_leftover_launcher_variables_do_not_reach_the_ranks() -> None:
    base = {"RANK": "7", "TORCHELASTIC_RUN_ID": "x", "ACCELERATE_USE_FSDP": "1", "HOME": "/h"}
    env = launch.one_machine_environment(base)
    assert not env.keys() & {"RANK", "TORCHELASTIC_RUN_ID", "ACCELERATE_USE_FSDP"}
    assert env["HOME"] == "/h"
    assert launch.rank_environment(env, 1, 3, 20000)["WORLD_SIZE"] == "3"


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("Hangs.", "first line must read"),
        ("Goes wrong on 99 ranks: hangs.", "99 ranks"),
        ("Goes wrong on 2 ranks: hangs.\nRanks: 3", "first line says 2"),
        ("Goes wrong on 2 ranks: hangs.\nTimeout: soon", "Timeout: soon"),
        ("Goes wrong on 2 ranks: hangs.\nFix: magic", "safe, unsafe, by hand"),
        ("Goes wrong on 2 ranks: hangs.\nRequires: luck", "Requires: luck"),
        ("Goes wrong on 2 ranks: hangs.\nRank 0 waits.", "empty line before prose"),
    ],
)
def test_a_bad_header_says_what_is_wrong(header: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match=re.escape(says)):
        read_declaration(_write(tmp_path, header, ""))


def test_command_line(tmp_path: Path) -> None:
    wrong = _write(tmp_path, "Goes wrong on 1 rank: fails.", "")
    command = [sys.executable, "-m", "distlint.proving", str(wrong)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "declared fails, seen right: all ranks finished" in done.stdout


def _until(condition: object, seconds: float = 60.0) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return b"Z" not in Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False


def _command_lines_with(text: str) -> list[str]:
    lines = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_text(errors="replace")
        except OSError:
            continue
        if text in line and "pytest" not in line:
            lines.append(line)
    return lines


@pytest.mark.skipif(sys.platform != "linux", reason="Linux ends a process with its parent")
def test_a_rank_ends_whose_starter_ended_before_it_could_ask(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import os\nassert 'DISTLINT_STARTED_BY' not in os.environ\n")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for starter, status in ((os.getpid(), 0), (gone.pid, -signal.SIGKILL)):
        ended = subprocess.run(
            [sys.executable, rank_main.__file__, str(tmp_path), str(script)],
            env={**os.environ, rank_main.STARTED_BY: str(starter)},
        )
        assert ended.returncode == status
