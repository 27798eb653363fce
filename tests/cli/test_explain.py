"""`distlint explain` by a piece of an error's text."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from distlint.cli import main
from distlint.hardware.doctor.checks import CHECKS
from distlint.hardware.doctor.errors import ERRORS


def explain(text: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["explain", text], input=stdin)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("unrecognized arguments: --local-rank=0", "DL805"),
        ("UNRECOGNIZED  arguments: --local-rank", "DL805"),
        ("Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)", "DL101"),
        ("AttributeError: 'DistributedDataParallel' object has no attribute 'config'", "DL201"),
        ("has no attribute 'module'", "DL204"),
        ("PytorchStreamReader failed reading zip archive", "DL301"),
        ("FlashAttention only support fp16 and bf16 data type", "DL804"),
        ("Default process group has not been initialized", "DL509"),
        ("Cannot re-initialize CUDA in forked subprocess", "DL502"),
        ("Missing key(s) in state_dict", "DL307"),
        ("The config file at /home/me/a.yaml had unknown keys (['x'])", "DL802"),
        ("BdbQuit", "DL701"),
    ],
)
def test_a_piece_of_an_error_names_the_rule(text: str, code: str) -> None:
    result = explain(text)
    assert result.exit_code == 0, result.output
    assert code in result.stdout


def test_a_log_on_standard_input() -> None:
    log = "Traceback (most recent call last):\n  ...\ntrain.py: error: unrecognized arguments: --local-rank=0\n"
    result = explain("-", log)
    assert result.exit_code == 0
    assert "DL805 deprecated-launcher" in result.stdout
    assert "DL201" not in result.stdout


def test_a_check_of_the_doctor() -> None:
    result = explain("[Errno 98] Address already in use")
    assert result.exit_code == 0
    assert "distlint doctor, master-port" in result.stdout


@pytest.mark.parametrize(
    ("text", "do"),
    [
        ("parameter at index 3 has been marked as ready twice", "use_reentrant=False"),
        ("marked as ready twice", "use_reentrant=False"),
        ("Expected to have finished reduction in the prior iteration", "find_unused_parameters"),
        ("ValueError: Must flatten tensors with uniform dtype but got torch.bfloat16", "adapters"),
        ("ChildFailedError", "first traceback"),
    ],
)
def test_an_error_that_no_rule_finds_has_a_cause(text: str, do: str) -> None:
    result = explain(text)
    assert result.exit_code == 0, result.output
    assert do in result.stdout


@pytest.mark.parametrize("text", ["everything is fine here", "-"])
def test_nothing_knows_it(text: str) -> None:
    result = explain(text, "all is well\n")
    assert result.exit_code == 2
    assert "no rule and no check knows" in result.stderr


def test_a_misspelled_name_is_no_error() -> None:
    result = explain("hard-coded-modul")
    assert result.exit_code == 2
    assert "did you mean `hard-coded-module`?" in result.stderr


def test_every_row_of_the_doctor_is_a_check() -> None:
    assert ERRORS.keys() <= {check.name for check in CHECKS}
