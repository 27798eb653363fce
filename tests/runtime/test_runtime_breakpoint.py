"""breakpoint(): one rank stops on a real (pseudo-)terminal, the other waits for it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import rank_processes

pytest.importorskip("torch")

PROMPT = b"(Pdb) "


class _Typist(threading.Thread):
    """Types the next command at each prompt of the debugger, and keeps what it read."""

    def __init__(self, terminal: int, commands: list[str]) -> None:
        super().__init__(daemon=True)
        self._terminal = terminal
        self._commands = commands
        self.transcript = b""

    def run(self) -> None:
        answered = 0
        while True:
            try:
                data = os.read(self._terminal, 4096)
            except OSError:
                # The last process that held the other end has closed it.
                return
            self.transcript += data
            while self.transcript.count(PROMPT) > answered and answered < len(self._commands):
                os.write(self._terminal, self._commands[answered].encode() + b"\n")
                answered += 1


def _session(commands: list[str]) -> tuple[list[dict[str, Any]], str]:
    ours, theirs = pty.openpty()
    typist = _Typist(ours, commands)
    typist.start()
    outcomes = rank_processes.run("fault_ranks:stop_at_breakpoint", 2, 60.0, terminal=theirs)
    os.close(theirs)
    typist.join(10)
    text = typist.transcript.decode(errors="replace")
    for outcome in outcomes:
        assert outcome.code == 0, f"{outcome.error}\n{outcome.output}\n{text}"
    return [outcome.result for outcome in outcomes], text


def test_stop_look_step_and_go_on_then_quit() -> None:
    """It stops in the caller's frame, can step, and both `continue` and `q` let the other go."""
    (main, other), text = _session(["p 'the secret is', secret", "n", "p secret + '?'", "c", "q"])
    assert "look here" in text
    assert "('the secret is', 'of the caller')" in text
    assert "of the caller!?" in text
    assert main["first"]["kind"] == other["first"]["kind"] == "ok"
    assert main["second"]["kind"] == "BdbQuit"
    assert other["second"]["kind"] == "MainProcessError"
    assert "the user quit the debugger" in other["second"]["text"]


def test_end_of_input_is_a_quit() -> None:
    """torch.distributed.breakpoint leaves the others waiting here."""
    (main, other), _ = _session(["\x04", "\x04"])
    assert main["first"]["kind"] == "BdbQuit"
    assert other["first"]["kind"] == "MainProcessError"


def test_one_process_stops_in_the_callers_frame(tmp_path: Path) -> None:
    """Without other ranks it is the builtin, which would stop inside the runtime."""
    script = tmp_path / "script.py"
    script.write_text(
        "from distlint import runtime\n"
        "def work():\n"
        "    secret = 41\n"
        "    runtime.breakpoint()\n"
        "    print('after', secret)\n"
        "work()\n"
    )
    for variables, expected in (({}, "42"), ({"PYTHONBREAKPOINT": "0"}, "after 41")):
        done = subprocess.run(
            [sys.executable, str(script)],
            input="p secret + 1\nc\n",
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert expected in done.stdout
        assert ("(Pdb)" in done.stdout) == (not variables)
