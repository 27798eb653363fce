"""What lies in real checkouts: links to nowhere, odd names, other locales, broken plugins, full disks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Program

ODD = [
    "esc\x1b[31m.py",
    "line\nend.py",
    "byte\udcff.py",
    "back\\slash.py",
    "bidi\u202e.py",
    "é模.py",
]
SHOWN = [
    "back\\\\slash.py",
    "bidi\\u202e.py",
    "byte\\xff.py",
    "esc\\x1b[31m.py",
    "line\\x0aend.py",
    "é模.py",
]


def rows(out: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(out)["findings"]
    return found


# Links


def test_a_link_to_nowhere_is_no_error(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("wrong\n")
    (tmp_path / ".#train.py").symlink_to("me@host.4711:1700000000")
    (tmp_path / "a.py").symlink_to("b.py")
    (tmp_path / "b.py").symlink_to("a.py")
    result = distlint("check", "-v")
    assert result.code == 1
    assert sorted(result.err.splitlines()) == [
        "distlint: .#train.py: a link to nowhere, left out",
        "distlint: a.py: a link to nowhere, left out",
        "distlint: b.py: a link to nowhere, left out",
    ]
    assert distlint("check", "a.py").code == 2  # named


def test_a_link_inside_the_tree_is_not_reported_twice(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "real.py").write_text("wrong\n")
    (tmp_path / "a.py").symlink_to("real.py")
    (tmp_path / "b.py").symlink_to(tmp_path / "a.py")

    def paths(*arguments: str) -> list[str]:
        done = distlint("check", *arguments, "--output-format", "json")
        return [row["path"] for row in rows(done.out)]

    assert paths() == ["real.py"]
    assert paths("a.py", "real.py") == ["real.py"]
    assert paths("a.py", "b.py") == ["a.py"]
    assert paths("b.py") == ["b.py"]
    fixed = distlint("fix", "--apply")
    assert (fixed.code, (tmp_path / "real.py").read_text()) == (0, "right\n")
    assert (tmp_path / "a.py").is_symlink()


def test_imports_through_a_link_resolve(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/sync.py").write_text(
        "import torch.distributed as dist\n\n\ndef wait_for_all():\n    dist.barrier()\n"
    )
    (tmp_path / "sync.py").symlink_to("shared/sync.py")
    (tmp_path / "train.py").write_text(
        "import torch.distributed as dist\nfrom sync import wait_for_all\n\n\n"
        "def main():\n    if dist.get_rank() == 0:\n        wait_for_all()\n"
    )
    done = distlint("check", "--output-format", "json")
    assert [(row["path"], row["code"]) for row in rows(done.out)] == [("train.py", "DL101")]


def test_two_links_to_a_file_elsewhere_are_one(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "real.py").write_text("wrong\n")
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("a.py", "b.py"):
        (tree / name).symlink_to("../real.py")
    done = distlint("check", "--output-format", "json", cwd=tree)
    assert [row["path"] for row in rows(done.out)] == ["a.py"]


def test_hard_links_are_files_of_their_own(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("wrong\n")
    os.link(tmp_path / "a.py", tmp_path / "b.py")
    done = distlint("check", "--output-format", "json")
    assert [row["path"] for row in rows(done.out)] == ["a.py", "b.py"]


@pytest.mark.parametrize("named", [".", "train.py", "pkg/train.py"])
def test_a_fix_is_not_written_through_a_link_out_of_the_project(
    distlint: Program, tmp_path: Path, named: str
) -> None:
    victim = tmp_path / "other/train.py"
    victim.parent.mkdir()
    victim.write_text("wrong\n")
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "pyproject.toml").write_text("")
    (checkout / "train.py").symlink_to(victim)
    (checkout / "pkg").symlink_to(victim.parent)
    result = distlint("fix", "--apply", named, cwd=checkout)
    assert result.code == 2
    assert "not written, it is a link out of the project" in result.err
    assert victim.read_text() == "wrong\n"
    assert distlint("fix", "--apply", "../other/train.py", cwd=checkout).code == 0
    assert victim.read_text() == "right\n"


@pytest.mark.parametrize("output_format", ["text", "json", "github"])
def test_what_a_link_out_of_the_project_leads_to_is_not_shown(
    distlint: Program, tmp_path: Path, output_format: str
) -> None:
    (tmp_path / "secret").write_text("[default]\npassword = hunter2 !\n")
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "pyproject.toml").write_text("")
    (checkout / "a.py").symlink_to("../secret")
    for _ in range(2):
        result = distlint("check", "-v", "--output-format", output_format, cwd=checkout)
        assert result.code == 0
        assert "hunter2" not in result.out
        assert "a.py: a link out of the project, to no Python file" in result.err


def test_a_baseline_is_not_written_through_a_link(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("wrong\n")
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "accepted.json").symlink_to("victim")
    result = distlint("check", "--write-baseline", "accepted.json")
    assert result.code == 2
    assert "accepted.json: the baseline is a link" in result.err
    assert (tmp_path / "victim").read_text() == "precious"
    full = distlint("check", "--write-baseline", "/dev/full")
    assert full.code == 2
    assert full.err == "error: /dev/full: the baseline cannot be written: no space left on device\n"


def test_a_gitignore_without_an_end_is_not_read(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("wrong\n")
    (tmp_path / ".gitignore").symlink_to("/dev/zero")
    (tmp_path / "sub").mkdir()
    os.mkfifo(tmp_path / "sub/.gitignore")
    (tmp_path / "sub/b.py").write_text("wrong\n")
    assert distlint("check").code == 1


@pytest.mark.parametrize(
    ("name", "text", "severity"),
    [
        ("model_{{cookiecutter.name}}.py", "class {{cookiecutter.name}}Model:\n    pass\n", "info"),
        ("model.py", "class {{ cookiecutter.name }}Model:\n    pass\n", "info"),
        ("model.py", "{% if cuda %}\nimport torch\n{% endif %}\n", "info"),
        ("model.py", "class {{name}}Model:\n    pass\n", "error"),
        ("model.py", 'text = f"{{name}}"\nclass 3Model:\n    pass\n', "error"),
    ],
)
def test_a_template_is_no_python_yet(
    distlint: Program, tmp_path: Path, name: str, text: str, severity: str
) -> None:
    (tmp_path / name).write_text(text)
    (row,) = rows(distlint("check", "--output-format", "json").out)
    assert (row["code"], row["severity"]) == ("DL900", severity)
    assert ("in a template" in row["message"]) is (severity == "info")


@pytest.mark.parametrize(
    ("first", "severity"),
    [("# Databricks notebook source", "info"), ("# A notebook, in Databricks", "error")],
)
def test_the_source_of_a_notebook_has_lines_for_the_shell(
    distlint: Program, tmp_path: Path, first: str, severity: str
) -> None:
    (tmp_path / "train.py").write_text(
        f"{first}\nimport torch\n\n# COMMAND ----------\n\n!deepspeed train.py\n"
    )
    (row,) = rows(distlint("check", "--output-format", "json").out)
    assert (row["code"], row["severity"]) == ("DL900", severity)
    assert ("in a notebook" in row["message"]) is (severity == "info")


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("# %%\n%load_ext autoreload\nimport torch\n", "info"),
        ("#%%\nimport torch\n!nvidia-smi\n", "info"),
        ("import torch\n!nvidia-smi\n", "error"),
        ("# %%\nimport torch\nx = f(,3)\n", "error"),
    ],
)
def test_a_file_of_cells_has_magics(
    distlint: Program, tmp_path: Path, text: str, severity: str
) -> None:
    (tmp_path / "look.py").write_text(text)
    (row,) = rows(distlint("check", "--output-format", "json").out)
    assert (row["code"], row["severity"]) == ("DL900", severity)
    assert ("cell by cell" in row["message"]) is (severity == "info")


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("x = x.cuda(async=True)", "warning"),
        ("print 'loss', loss", "warning"),
        ("raise ValueError, 'no data'", "warning"),
        ("x = f(,3)", "error"),
        ("def f(a=1, b): pass", "error"),
    ],
)
def test_what_was_python_once(distlint: Program, tmp_path: Path, line: str, severity: str) -> None:
    (tmp_path / "a.py").write_text(f"import torch\n{line}\n")
    (row,) = rows(distlint("check", "--output-format", "json").out)
    assert (row["code"], row["severity"]) == ("DL900", severity)


def test_what_was_python_once_and_trains_nothing(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import sys\nprint 'score', sys.argv\n")
    (row,) = rows(distlint("check", "--output-format", "json").out)
    assert (row["code"], row["severity"]) == ("DL900", "info")


def test_a_file_of_any_size_costs_no_memory(distlint: Program, tmp_path: Path) -> None:
    with (tmp_path / "a.py").open("wb") as file:
        file.truncate(1 << 40)
    result = distlint("check", "--output-format", "json")
    (row,) = rows(result.out)
    assert (result.code, row["code"]) == (1, "DL900")
    assert "the file holds 1048576 MiB" in row["message"]


# Names


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize(
    "output_format", ["text", "json", "sarif", "github", "gitlab", "junit", "statistics"]
)
def test_odd_file_names_are_escaped(
    distlint: Program, tmp_path: Path, output_format: str, cached: bool
) -> None:
    for name in ODD:
        Path(tmp_path / name).write_text("x = wrong\n")
    options = ["--output-format", output_format]
    if output_format == "statistics":
        options = ["--statistics"]
    result = distlint("check", *options)
    if cached:
        again = distlint("check", *options)
        assert again == result
    assert (result.code, result.err) == (1, "")
    assert not {char for char in result.out if not char.isprintable()} - {"\n"}
    match output_format:
        case "json":
            assert [row["path"] for row in rows(result.out)] == SHOWN
            assert {row["column"] for row in rows(result.out)} == {5}
            assert len({row["fingerprint"] for row in rows(result.out)}) == len(ODD)
        case "gitlab":
            assert [row["location"]["path"] for row in json.loads(result.out)] == SHOWN
        case "sarif":
            assert len(json.loads(result.out)["runs"][0]["results"]) == len(ODD)
        case "junit":
            root = ElementTree.fromstring(result.out)
            assert [suite.get("name") for suite in root] == SHOWN
        case "github":
            assert len(result.out.splitlines()) == len(ODD)
        case "text":
            heads = [line for line in result.out.splitlines() if ": error HOUSE001" in line]
            assert heads == [f"{name}:1:5: error HOUSE001 wrong-name [fix]" for name in SHOWN]
            assert result.out.count("x = wrong") == len(ODD)


def test_odd_file_names_are_escaped_in_problems(distlint: Program) -> None:
    result = distlint("check", "no\x1bsuch\n.py")
    assert result.err == "error: no\\x1bsuch\\x0a.py: no such file or folder\n"


def test_files_with_odd_names_are_fixed(distlint: Program, tmp_path: Path) -> None:
    for name in ODD:
        (tmp_path / name).write_text("wrong\n")
    assert distlint("fix", "--apply").code == 0
    assert [(tmp_path / name).read_text() for name in ODD] == ["right\n"] * len(ODD)


# Locales


WITHOUT_UTF8 = {
    "LC_ALL": "C",
    "PYTHONIOENCODING": "",
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
}
LOCALES = [
    pytest.param({"PYTHONIOENCODING": "ascii"}, id="ascii"),
    pytest.param({"LC_ALL": "C", "PYTHONIOENCODING": ""}, id="C"),
    pytest.param(WITHOUT_UTF8, id="C without UTF-8"),
]


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("output_format", ["text", "json", "junit"])
def test_ascii_locales(
    in_process: Program, tmp_path: Path, locale: dict[str, str], output_format: str
) -> None:
    (tmp_path / "é.py").write_text("模 = wrong\n", encoding="utf-8")
    result = in_process("check", "--output-format", output_format, env=locale)
    assert (result.code, result.err) == (1, "")
    match output_format:
        case "json":
            json.loads(result.out)
        case "junit":
            ElementTree.fromstring(result.out)


@pytest.mark.parametrize("output_format", ["sarif", "github", "gitlab"])
def test_formats_in_a_locale_without_utf8(
    in_process: Program, tmp_path: Path, output_format: str
) -> None:
    (tmp_path / "é.py").write_text("模 = wrong\n", encoding="utf-8")
    result = in_process("check", "--output-format", output_format, env=WITHOUT_UTF8)
    assert (result.code, result.err) == (1, "")
    if output_format != "github":
        json.loads(result.out)


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("command", ["rules", "explain DL101", "fix"])
def test_other_commands_in_ascii_locales(
    in_process: Program, tmp_path: Path, locale: dict[str, str], command: str
) -> None:
    (tmp_path / "é.py").write_text("模 = wrong\n", encoding="utf-8")
    assert in_process(*command.split(), env=locale).code in (0, 1)


def test_json_is_utf8_whatever_the_locale(in_process: Program, tmp_path: Path) -> None:
    (tmp_path / "é.py").write_text("wrong\n", encoding="utf-8")
    result = in_process("check", "--output-format", "json", env={"PYTHONIOENCODING": "ascii"})
    assert rows(result.out)[0]["path"] == "é.py"
    listed = in_process("rules", "--output-format", "json", env={"PYTHONIOENCODING": "ascii"})
    json.loads(listed.out)


# Endings


def plugin(root: Path, text: str) -> dict[str, str]:
    """The environment in which a package with this text brings rules."""
    (root / "bad_rules.py").write_text(text)
    metadata = root / "bad_rules-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: bad-rules\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[distlint.rules]\nbad = bad_rules\n")
    return {"PYTHONPATH": str(root)}


WORKING = """'''A rule.'''
from distlint.findings import Severity
from distlint.rule import Status
CODE, NAME, SEVERITY, STATUS, LITERALS = "BAD001", "bad", Severity.ERROR, Status.STABLE, (b"x",)
def check(model):
    {body}
"""


BROKEN = [
    ("raise RuntimeError('no\\nlicence')", "RuntimeError: no licence"),
    ("raise SystemExit('licence')", "SystemExit: licence"),
    ("def f(:", "SyntaxError: invalid syntax"),
    ("import not_there", "ModuleNotFoundError: No module named 'not_there'"),
    ("x = 1", "AttributeError: "),
    ("CODE = 'X1'", "AttributeError: "),
    (WORKING.replace("BAD001", "DL101").format(body="yield"), "DL101 is defined by "),
]


@pytest.mark.parametrize(
    ("text", "why", "command"),
    [
        *((*broken, "check") for broken in BROKEN),
        *((*BROKEN[0], command) for command in ("fix", "rules", "explain")),
    ],
)
def test_a_broken_plugin_is_one_line_and_2(
    in_process: Program,
    tmp_path_factory: pytest.TempPathFactory,
    tmp_path: Path,
    text: str,
    why: str,
    command: str,
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    env = plugin(tmp_path_factory.mktemp("site"), text)
    result = in_process(command, *(["DL101"] if command == "explain" else []), env=env)
    assert (result.code, result.out) == (2, "")
    assert len(result.err.splitlines()) == 1
    assert why in result.err
    assert "bad_rules" in result.err


def test_an_interrupted_check_ends_with_130(
    in_process: Program, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    body = "import os, signal; os.kill(os.getpid(), signal.SIGINT); yield"
    env = plugin(tmp_path_factory.mktemp("site"), WORKING.format(body=body))
    result = in_process("check", env=env)
    assert (result.code, result.out, result.err) == (130, "", "Error: interrupted\n")


def into(path: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    with Path(path).open("wb") as stream:
        return subprocess.run(
            [sys.executable, "-m", "distlint", *arguments],
            stdout=stream,
            stderr=subprocess.PIPE,
            cwd=cwd,
            timeout=120,
            check=False,
        )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    "arguments",
    [
        ["check"],
        ["check", "--output-format", "json"],
        ["fix"],
        ["fix", "--apply"],
        ["rules"],
        ["--help"],
        ["check", "--help"],
    ],
    ids=" ".join,
)
def test_a_full_disk_is_one_line_and_2(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "a.py").write_text("x = 1  # distlint: ignore[DL301]\n")
    done = into("/dev/full", *arguments, cwd=tmp_path)
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 2
    assert lines[-1] == "Error: the output cannot be written: no space left on device"
    assert len(lines) <= 2  # `fix` sums up first


@pytest.mark.parametrize("options", [[], ["--statistics"], ["--output-format", "json"]], ids=len)
def test_a_reader_that_has_seen_enough_is_no_failure_to_talk_about(
    tmp_path: Path, options: list[str]
) -> None:
    (tmp_path / "a.py").write_text("def f(:\n")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "distlint", "check", *options],
        stdout=writing,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (2, b"")


# Syntax


@pytest.mark.parametrize(
    ("since", "text"),
    [
        ((3, 12), "x = 1\ntype Name = str\n"),
        ((3, 12), "def f[T](x: T) -> T:\n    return x\n"),
        ((3, 12), "x = f'{d['a']} and {d['b']}'\n"),
        ((3, 12), "x = f'{a\n      } and {b +\n  c}'\n"),
        ((3, 13), "class A[T = int]:\n    pass\n"),
        ((3, 14), "try:\n    pass\nexcept ValueError, TypeError:\n    pass\n"),
        ((3, 14), "x = t'{y}'\n"),
        ((3, 15), "lazy import os\n"),
        ((3, 15), "x = [*y for y in z]\n"),
    ],
)
def test_syntax_of_a_newer_python_is_said_by_name(
    distlint: Program, tmp_path: Path, since: tuple[int, int], text: str
) -> None:
    if since <= sys.version_info[:2]:
        pytest.skip("this Python has it")
    (tmp_path / "a.py").write_text(text)
    result = distlint("check", "--output-format", "json")
    version = ".".join(map(str, since))
    assert (result.code, rows(result.out)) == (0, [])
    (note,) = json.loads(result.out)["notes"]
    assert f"a.py: not checked: it uses syntax of Python {version} (" in note
    assert note.endswith(f"install distlint under Python {version} or later")


@pytest.mark.parametrize(
    "text",
    [
        "print 'x'\n",
        "try:\n    pass\nexcept Exception, error:\n    pass\n",
        "def f(:\n    pass\n",
        "type = (\n",
        "x = f'{d['\n",
        "x = f'{d\n+'\n",
        "def f(:\n    pass\ntype X = int\n",
    ],
)
def test_an_error_in_every_python_is_a_syntax_error(
    distlint: Program, tmp_path: Path, text: str
) -> None:
    (tmp_path / "a.py").write_text(text)
    (row,) = rows(distlint("check", "--output-format", "json").out)
    assert "syntax error: " in row["message"]


# Nothing to do


OF_ITSELF = """\
import os

import torch
import torch.distributed as dist


def main(tools, distributed, sharded, model, first):
    tools = tools or []
    sharded = sharded and distributed
    first = second
    second = first
    if distributed and tools:
        raise ValueError("no tools on several processes")
    if sharded:
        model = torch.nn.parallel.DistributedDataParallel(model)
    print(model.config)
    torch.save(model.state_dict(), first)
    model.load_state_dict(torch.load(first))
    if dist.get_rank() == 0:
        dist.barrier()
"""


def test_a_variable_that_is_assigned_of_itself_is_looked_up_once(
    in_process: Program, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(OF_ITSELF)
    done = in_process("check", "--preview", "--select", "ALL", "--output-format", "json")
    assert (done.code, done.err) == (1, "")
    assert "DL101" in [row["code"] for row in rows(done.out)]


def test_no_python_file_is_said(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    empty = distlint("check")
    assert (empty.code, empty.err) == (2, "error: .: there is no Python file in this folder\n")
    (tmp_path / "build").mkdir()
    (tmp_path / "build/a.py").write_text("wrong\n")
    said = "No Python file was checked: there is none, or the settings leave it out.\n"
    for command in (["check"], ["fix"], ["check", "--show-files"]):
        left_out = distlint(*command)
        assert left_out.code == 0
        assert left_out.err.startswith(said)
    (tmp_path / "build/a.py").unlink()
    (tmp_path / "README.md").write_text("Pictures alone: a page that could tell of a launch.\n")
    assert distlint("check").err.startswith(said)


def test_a_working_directory_that_is_gone_is_one_line_and_2(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", 'rmdir ../gone && exec "$0" -m distlint check', sys.executable],
        cwd=gone,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: the working directory is gone: change to one that is there\n"
