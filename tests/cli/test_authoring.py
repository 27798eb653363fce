"""`distlint new-rule` and `distlint test-rules`, on a third party's rule that is not installed."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from distlint.rule import load_rules
from tests.cli.conftest import Program

RULE = Path("my_rules/late_barrier")
WORDS = "what stands here was written by the author"


@pytest.fixture
def folder(distlint: Program, tmp_path: Path) -> Path:
    """The scaffold of a rule with everything filled in, and the fix of its cases written down."""
    result = distlint("new-rule", "MINE001", "late-barrier", "--into", "my_rules")
    assert result.code == 0, result.err
    for path in (tmp_path / RULE).glob("*.py"):
        path.write_text(path.read_text().replace("FILL IN", WORDS))
    return tmp_path / RULE


def _replace(folder: Path, name: str, old: str, new: str) -> None:
    path = folder / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_new_rule_lacks_only_what_is_to_be_filled_in(distlint: Program, tmp_path: Path) -> None:
    result = distlint("new-rule", "MINE001", "late-barrier", "--into", "my_rules")
    assert result.code == 0
    assert 'my_rules = "my_rules"' in result.out
    assert sorted(path.name for path in (tmp_path / RULE).iterdir()) == [
        "__init__.py",
        "cases.fixed.py",
        "cases.py",
        "proof.py",
    ]
    result = distlint("test-rules", "my_rules", "--only", "cases")
    assert result.code == 1
    remarks = [line for line in result.out.splitlines() if line.startswith("  ")]
    assert len(remarks) == 3
    assert all("to be filled in" in remark for remark in remarks), result.out


@pytest.mark.usefixtures("folder")
def test_a_filled_in_rule_holds_with_its_proof(distlint: Program) -> None:
    pytest.importorskip("torch")
    result = distlint("test-rules", "my_rules")
    assert result.code == 0, result.out + result.err
    assert re.match(
        r"MINE001 late-barrier: held · bugs: 2 · look-alikes: 2 · fixes: 2 · proof held in [\d.]+ s\n"
        r"1 rule: all held.\n",
        result.out,
    )


def test_a_rule_is_found_from_a_file_of_it_and_from_here(distlint: Program, folder: Path) -> None:
    for arguments in ([], [str(folder / "cases.py")], [str(folder)]):
        result = distlint("test-rules", *arguments, "--only", "cases")
        assert "MINE001 late-barrier: held" in result.out


Change = Callable[[Path], object]


def _without(name: str) -> Change:
    return lambda folder: (folder / name).unlink()


def _with(name: str, old: str, new: str) -> Change:
    return lambda folder: _replace(folder, name, old, new)


SPOILED = {
    "no cases": (_without("cases.py"), "cases.py: missing;"),
    "no proof": (_without("proof.py"), "proof.py: missing;"),
    "no fixed cases": (_without("cases.fixed.py"), "cases.fixed.py: missing; `distlint test-rules"),
    "few look-alikes": (
        _with("cases.py", "def where_there_are_several(state):\n    if dist.is_initialized():", "if 1:\n    if 1:\n        state = 1"),
        "2 bugs, and 1 look-alikes",
    ),
    "mark on the wrong line": (
        _with("cases.py", "        torch.save(state, path)\n        dist.barrier()  # expect: MINE001", "        torch.save(state, path)  # expect: MINE001\n        dist.barrier()"),
        "cases.py:11: MINE001 is expected here, and is not found",
    ),
    "a false finding": (
        _with("cases.py", "    if dist.is_initialized():", "    if dist.get_rank():"),
        "is found here, and is not expected",
    ),
    "an unknown code": (_with("proof.py", "expect: MINE001", "expect: MINE009"), "no rule has this"),
    "a bad header": (_with("proof.py", "hangs.", "stops."), "docstring's first line must read"),
    "a heading": (_with("__init__.py", "## Known limits", "## Limits"), "`## Known limits` is missing"),
    "an empty section": (
        _with("__init__.py", f"{WORDS}: safe, unsafe or shown only, and why.\n", ""),
        "nothing stands under `## Fix safety`",
    ),
    "another name": (_with("__init__.py", '"late-barrier"', '"lost-barrier"'), "is called lost_barrier"),
    "a taken code": (_with("__init__.py", '"MINE001"', '"DL101"'), "DL101 is taken by distlint.rules."),
    "no STATUS": (_with("__init__.py", "STATUS = ", "STATE = "), "STATUS is missing or is no Status"),
    "a severity in words": (
        _with("__init__.py", "= Severity.WARNING", '= "warning"'),
        "SEVERITY is missing or is no Severity",
    ),
    "words that are text": (
        _with("__init__.py", "LITERALS = ()", 'LITERALS = ("barrier",)'),
        'write words as b"word"',
    ),
    "a check that finds nothing at all": (
        _with("__init__.py", "call in model.calls(", "call in model.call_at("),
        "failed: TypeError",
    ),
    "a broken import": (
        _with("__init__.py", "import Delete", "import Deletion"),
        "__init__.py: cannot be imported: ImportError",
    ),
    "a syntax error": (_with("__init__.py", "def check(", "def check"), "not Python: "),
    "cases that are not Python": (_with("cases.py", "def on_all", "def on all"), "cases.py:25: not Python"),
    "a crash": (_with("__init__.py", "call.site\n", "call.place\n"), "failed: AttributeError"),
    "another fix": (
        _with("cases.fixed.py", "    # expect", "    # was: expect"),
        "the fix gives something else",
    ),
    "a fix that repeats itself": (
        _with("__init__.py", "Delete(span_of(site.statement))", 'Insert(span_of(site.statement), "print()")'),
        "the fix of MINE001 is not offered: MINE001 is found as before",
    ),
    "a fix elsewhere": (
        _with("__init__.py", "Delete(span_of(site.statement))", "Delete(span_of(site.statement)), Delete(span_of(site.module.source.tree.body[5]))"),
        "cases.py:25: the fix changes this statement, of which no finding speaks",
    ),
    "advice that is given above": (
        _with("__init__.py", '"Drop the barrier"', '"the rank is asked here"'),
        "cases.py:12: what MINE001 says to do is said above it as well",
    ),
    "an object of the process": (
        _with("__init__.py", '"Drop the barrier"', 'f"Drop {object()}"'),
        "cases.py:12: what MINE001 says names an object of this process",
    ),
    "words of other libraries": (
        lambda folder: (folder / "cases.py").write_text("one()  # expect: MINE001\n\n\ndef two(): ...\n"),
        "none of LITERALS stands here",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SPOILED)
def test_what_is_wrong_with_a_rule_is_said(distlint: Program, folder: Path, name: str) -> None:
    spoil, says = SPOILED[name]
    spoil(folder)
    if "Insert" in (folder / "__init__.py").read_text():
        _replace(folder, "__init__.py", "import Delete", "import Insert")
    result = distlint("test-rules", "my_rules", "--only", "cases")
    assert result.code == 1, result.err
    assert says in result.out


def test_a_proof_that_does_not_go_wrong_is_said(distlint: Program, folder: Path) -> None:
    pytest.importorskip("torch")
    _replace(folder, "proof.py", "hangs.", "wrong result.")
    result = distlint("test-rules", "my_rules", "--only", "proofs")
    assert result.code == 1
    assert "the proof does not hold: as written: declared wrong result, seen hangs" in result.out


def test_reasons_stand_for_cases_and_proof(distlint: Program, folder: Path) -> None:
    for name in ("cases.py", "cases.fixed.py", "proof.py"):
        (folder / name).unlink()
    reasons = "\n\nNo cases: it reads settings.\nNot proven: it needs a machine with two GPUs.\n"
    _replace(folder, "__init__.py", '\n"""\n\nfrom __future__', f'{reasons}"""\n\nfrom __future__')
    result = distlint("test-rules", "my_rules")
    assert result.code == 0, result.out
    assert "no cases: it reads settings. · not proven: it needs a machine" in result.out


def test_rewrite_writes_what_the_fix_gives(distlint: Program, folder: Path) -> None:
    fixed = folder / "cases.fixed.py"
    text = fixed.read_text()
    fixed.write_text("nothing\n")
    result = distlint("test-rules", "my_rules", "--only", "cases", "--rewrite")
    assert result.code == 0, result.out
    assert "cases.fixed.py rewritten" in result.out
    assert fixed.read_text() == text


def test_rewrite_keeps_what_is_there_while_findings_are_wrong(
    distlint: Program, folder: Path
) -> None:
    fixed = folder / "cases.fixed.py"
    text = fixed.read_text()
    _replace(folder, "cases.py", "    if dist.is_initialized():", "    if dist.get_rank():")
    result = distlint("test-rules", "my_rules", "--only", "cases", "--rewrite")
    assert result.code == 1
    assert fixed.read_text() == text


def test_a_case_that_is_not_followed_is_named(distlint: Program, folder: Path) -> None:
    cases = folder / "cases.py"
    before = cases.read_text()
    added = "\n\ndef nothing_of_ranks(x):\n    return x.sum()\n"
    for name in ("cases.py", "cases.fixed.py"):
        (folder / name).write_text((folder / name).read_text() + added)
    result = distlint("test-rules", "my_rules", "--only", "cases")
    line = before.count("\n") + 3
    says = f"my_rules/late_barrier/cases.py:{line}: `nothing_of_ranks` is not followed:"
    assert result.code == 0
    assert f"note: {says}" in result.out
    cases.write_text(cases.read_text().replace("x.sum()", "x.sum()  # expect: MINE001"))
    result = distlint("test-rules", "my_rules", "--only", "cases")
    assert result.code == 1
    assert f"  {says}" in result.out
    assert "note:" not in result.out


def test_what_a_compiler_left_beside_the_projects_is_no_case(
    distlint: Program, folder: Path
) -> None:
    compiled = folder / "cases" / "__pycache__"
    compiled.mkdir(parents=True)
    (compiled / "train.cpython-311.pyc").write_bytes(b"\xa7\r\r\n")
    result = distlint("test-rules", "my_rules", "--only", "cases")
    assert result.code == 0, result.out + result.err


def test_a_rule_that_reads_syntax_has_no_such_notes(distlint: Program, folder: Path) -> None:
    """Its findings stand in functions that nobody follows."""
    page = folder / "__init__.py"
    text = page.read_text()
    page.write_text(
        text[: text.index("def check")] + "def check(model: Model) -> Iterator[Finding]:\n"
        "    for module in model.modules:\n"
        "        for name, function in module.functions.items():\n"
        "            if name.startswith('bad'):\n"
        "                yield Finding(CODE, NAME, SEVERITY, 'Bad.', place_of(module, function.node))\n"
    )
    (folder / "cases.fixed.py").unlink()
    (folder / "cases.py").write_text(
        "import torch.distributed\n\ndef bad():  # expect: MINE001\n    pass\n\ndef good():\n    pass\n"
    )
    result = distlint("test-rules", "my_rules", "--only", "cases")
    assert result.out.startswith(
        "MINE001 late-barrier: held · bugs: 1 · look-alikes: 1 · fixes: 0\n1"
    )


def test_one_broken_rule_does_not_hide_another(distlint: Program, folder: Path) -> None:
    distlint("new-rule", "MINE002", "other-barrier", "--into", "my_rules")
    _replace(folder, "__init__.py", "import Delete", "import Deletion")
    result = distlint("test-rules", "my_rules", "--only", "cases")
    assert result.code == 1
    assert "my_rules/late_barrier: failed" in result.out
    assert "MINE002 other-barrier: failed · bugs: 2" in result.out
    assert "2 of 2 rules failed" in result.out


REFUSED = {
    ("mine1", "late-barrier"): "'mine1' is no code",
    ("MINE001", "Barrier"): "'Barrier' is no name",
    ("DL199", "late-barrier"): "codes with DL are distlint's own",
    ("DL101", "late-barrier"): "is taken; DL",
    ("MINE001", "unguarded-save"): "'unguarded-save' already",
}


@pytest.mark.parametrize(("code", "name"), REFUSED)
def test_what_cannot_be_a_rule_is_refused(
    distlint: Program, tmp_path: Path, code: str, name: str
) -> None:
    result = distlint("new-rule", code, name, "--into", "my_rules")
    assert result.code == 2
    assert REFUSED[code, name] in result.err
    assert not (tmp_path / "my_rules").exists()


def test_nothing_is_overwritten(distlint: Program, folder: Path) -> None:
    (folder / "cases.py").write_text("mine")
    result = distlint("new-rule", "MINE001", "late-barrier", "--into", "my_rules")
    assert result.code == 2
    assert "exists already" in result.err
    assert (folder / "cases.py").read_text() == "mine"


def test_a_folder_that_is_no_package_is_refused(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for into, says in (("file", "is a file"), ("my-rules", "no name for a Python package")):
        result = distlint("new-rule", "MINE001", "late-barrier", "--into", into)
        assert result.code == 2
        assert says in result.err


def test_a_code_of_no_family_is_refused_for_distlint_itself(distlint: Program) -> None:
    result = distlint("new-rule", "MINE001", "late-barrier")
    assert result.code == 2
    assert "DL1xx collectives" in result.err


def test_a_file_that_cannot_be_read_is_2(distlint: Program, folder: Path) -> None:
    (folder / "proof.py").unlink()
    (folder / "proof.py").mkdir()
    result = distlint("test-rules", "my_rules", "--only", "cases")
    assert result.code == 2
    assert result.err == "Error: my_rules/late_barrier/proof.py: is a directory\n"


def test_without_a_rule_there_is_nothing_to_test(distlint: Program) -> None:
    result = distlint("test-rules")
    assert result.code == 2
    assert "no rule in here" in result.err.replace("\n", " ")


def test_the_next_free_code_is_listed_and_is_free(distlint: Program) -> None:
    free = re.findall(r"next free code: (\w+)", distlint("rules").out)
    assert free
    assert set(free).isdisjoint(load_rules())
