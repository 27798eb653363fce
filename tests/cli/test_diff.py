"""`distlint check --diff`: what a branch adds, and that a hostile repository runs nothing."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Program

GIT = ("git", "-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        [*GIT, *arguments], cwd=root, check=True, capture_output=True, text=True, timeout=60
    )
    return done.stdout.strip()


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def commit(root: Path, files: dict[str, str]) -> str:
    write(root, files)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "change")
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One commit on main, with a file that has findings on lines 1 and 4; the branch `work`."""
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path, {"a.py": "wrong\nx = 1\ny = 2\nz = f(\n    wrong,\n    1,\n)\n"})
    git(tmp_path, "checkout", "-qb", "work")
    return tmp_path


def added(distlint: Program, *paths: str, revision: str = "main") -> list[tuple[str, int]]:
    result = distlint("check", *paths, "--diff", revision, "--output-format", "json")
    assert result.err == ""
    rows = json.loads(result.out)["findings"]
    assert result.code == bool(rows)
    return [(row["path"], row["line"]) for row in rows]


@pytest.mark.usefixtures("repository")
def test_what_the_base_has_is_not_reported(distlint: Program) -> None:
    assert distlint("check").code == 1
    for revision in ("main", "HEAD", "main~0"):
        assert added(distlint, revision=revision) == []
    done = distlint("check", "--diff", "main", "-v")
    assert "2 findings that main has, too, are left out" in done.err


def test_a_new_statement_is_reported_and_moved_ones_are_not(
    distlint: Program, repository: Path
) -> None:
    text = (repository / "a.py").read_text()
    new = "import os\n\nif x:\n    y = wrong\n    wrong\n" + text.partition("\n")[2]
    write(repository, {"a.py": new})
    assert added(distlint) == [("a.py", 4)]  # the other one only got an indentation
    commit(repository, {})
    assert added(distlint) == [("a.py", 4)]
    assert added(distlint, revision="HEAD") == []


def test_the_same_statement_once_more_is_reported_where_it_was_added(
    distlint: Program, repository: Path
) -> None:
    write(repository, {"a.py": "x = 0\nwrong\n" + (repository / "a.py").read_text()})
    assert added(distlint) in ([("a.py", 2)], [("a.py", 3)])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    1,\n", "    2,\n"),
        ("    1,\n", ""),
        ("    1,\n", "    1,\n    2,\n"),
        ("z = f", "z = g"),
    ],
)
def test_a_statement_counts_as_a_whole(
    distlint: Program, repository: Path, old: str, new: str
) -> None:
    text = (repository / "a.py").read_text()
    write(repository, {"a.py": text.replace(old, new)})
    assert added(distlint) == [("a.py", 5)]


def test_the_body_is_no_part_of_a_compound_statement(distlint: Program, repository: Path) -> None:
    before = "with wrong:\n    x = 1\n    y = 2\n"
    main = commit(repository, {"b.py": before})
    write(repository, {"b.py": before.replace("y = 2", "y = 3")})
    assert added(distlint, revision=main) == []
    write(repository, {"b.py": before.replace("wrong:", "wrong as w:")})
    assert added(distlint, revision=main) == [("b.py", 1)]


def test_a_finding_that_another_file_brings_about(distlint: Program, repository: Path) -> None:
    train = (
        "import torch.distributed as dist\nfrom sync import wait_for_all\n\n\n"
        "def main():\n    if dist.get_rank() == 0:\n        wait_for_all()\n"
    )
    helper = "import torch.distributed as dist\n\n\ndef wait_for_all():\n    {}\n"
    main = commit(repository, {"train.py": train, "sync.py": helper.format("pass")})
    write(repository, {"sync.py": helper.format("dist.barrier()")})
    assert added(distlint, revision=main) == [("train.py", 7)]
    assert added(distlint, "train.py", revision=main) == [("train.py", 7)]
    main = commit(repository, {})
    write(repository, {"sync.py": "x = 1\n" + helper.format("dist.barrier()")})
    assert added(distlint, revision=main) == []
    (repository / "sync.py").unlink()
    assert added(distlint, revision=main) == []


def test_a_file_that_did_not_exist_is_known_to_be_absent(
    distlint: Program, repository: Path
) -> None:
    train = (
        "import torch.distributed as dist\nfrom sync import wait_for_all\n\n\n"
        "def main():\n    if dist.get_rank() == 0:\n        wait_for_all()\n"
    )
    main = commit(repository, {"train.py": train})
    write(
        repository,
        {
            "sync.py": "import torch.distributed as dist\n\n\ndef wait_for_all():\n    dist.barrier()\n"
        },
    )
    assert added(distlint, revision=main) == [("train.py", 7)]


def test_new_renamed_and_untracked_files(distlint: Program, repository: Path) -> None:
    git(repository, "mv", "a.py", "b.py")
    write(repository, {"b.py": (repository / "b.py").read_text() + "q = wrong\n"})
    commit(repository, {"new.py": "wrong\n"})
    write(repository, {"untracked.py": "wrong\n", "empty.py": ""})
    expected = [("b.py", 8), ("new.py", 1), ("untracked.py", 1)]
    assert added(distlint) == expected
    assert added(distlint, "b.py", "new.py", "untracked.py") == expected


def test_the_branch_is_compared_with_where_it_left(distlint: Program, repository: Path) -> None:
    commit(repository, {"b.py": "wrong\n"})
    git(repository, "checkout", "-q", "main")
    commit(repository, {"a.py": "x = 1\n"})  # repaired on main only
    git(repository, "checkout", "-q", "work")
    assert added(distlint) == [("b.py", 1)]


def test_histories_without_a_common_commit(distlint: Program, repository: Path) -> None:
    git(repository, "checkout", "-q", "--orphan", "other")
    commit(repository, {"b.py": "wrong\n"})
    assert added(distlint) == [("b.py", 1)]


def test_from_below_and_with_odd_names(distlint: Program, repository: Path) -> None:
    main = commit(repository, {"sub dir/é\n.py": "wrong\n", "sub dir/b.py": "wrong\n"})
    write(repository, {"sub dir/é\n.py": "wrong\nx = wrong\n"})
    result = distlint(
        "check", "--diff", main, "--output-format", "json", cwd=repository / "sub dir"
    )
    assert [(row["path"], row["line"]) for row in json.loads(result.out)["findings"]] == [
        ("é\\x0a.py", 2)
    ]


def test_line_ends_of_the_checkout_are_no_change(distlint: Program, repository: Path) -> None:
    path = repository / "a.py"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert added(distlint) == []


def test_a_file_that_did_not_parse(distlint: Program, repository: Path) -> None:
    main = commit(repository, {"b.py": "wrong\ndef f(:\n", "c.py": "def f(:\n"})
    write(repository, {"b.py": "wrong\ndef f():\n    pass\n"})
    assert added(distlint, revision=main) == [("b.py", 1)]  # nobody knew


def test_settings_of_now_apply(distlint: Program, repository: Path) -> None:
    main = commit(repository, {"pkg/pyproject.toml": "[tool.distlint]\n", "pkg/b.py": "risky\n"})
    write(
        repository,
        {
            "pkg/pyproject.toml": "[tool.distlint]\nignore = ['HOUSE001']\n",
            "pkg/b.py": "risky\nx = risky\nx = wrong\n",
        },
    )
    assert added(distlint, revision=main) == [("pkg/b.py", 2)]


def test_standard_input_is_now(distlint: Program, repository: Path) -> None:
    write(repository, {"a.py": "wrong\nwrong\nwrong\n"})
    text = git(repository, "show", "main:a.py") + "\nq = wrong\n"
    result = distlint(
        "check",
        "-",
        "--stdin-filename",
        "a.py",
        "--diff",
        "main",
        "--output-format",
        "json",
        stdin=text.encode(),
    )
    assert [row["line"] for row in json.loads(result.out)["findings"]] == [8]


def test_submodules(
    distlint: Program, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    library = tmp_path_factory.mktemp("library")
    git(library, "init", "-q", "-b", "main")
    commit(library, {"c.py": "wrong\n"})
    git(
        repository,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        str(library),
        "lib",
    )
    main = commit(repository, {})
    write(repository, {"lib/c.py": "wrong\nx = wrong\n"})
    assert added(distlint, revision=main) == [("lib/c.py", 2)]


def test_in_a_hook_git_s_variables_lead_nowhere(distlint: Program, repository: Path) -> None:
    write(repository, {"a.py": "q = wrong\n" + (repository / "a.py").read_text()})
    env = {"GIT_DIR": "/nowhere", "GIT_INDEX_FILE": "/nowhere", "GIT_WORK_TREE": "/nowhere"}
    result = distlint("check", "--diff", "main", "--output-format", "json", env=env)
    assert [row["line"] for row in json.loads(result.out)["findings"]] == [1]


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--diff", "nowhere"], "has no revision `nowhere`"),
        (["--diff", "--output=x"], "`--output=x` is no revision"),
        (["--diff", "-x"], "`-x` is no revision"),
        (["--diff", ""], "`` is no revision"),
        (["--diff", "main:a.py"], "has no revision `main:a.py`"),
        (["--diff", "main", "--write-baseline", "b.json"], "leave out --diff"),
    ],
)
def test_what_cannot_be_compared_with(distlint: Program, options: list[str], said: str) -> None:
    result = distlint("check", *options)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


def test_without_a_repository(distlint: Program, tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "wrong\n"})
    result = distlint("check", "--diff", "main")
    assert (result.code, result.out) == (2, "")
    assert result.err == "Error: .: not in a git repository, which --diff needs\n"


def test_a_crash_at_the_base_is_said(distlint: Program, repository: Path) -> None:
    main = commit(repository, {"b.py": "crash_me\n"})
    write(repository, {"b.py": "x = 1\n"})
    result = distlint("check", "--diff", main)
    assert result.code == 2
    assert "rule HOUSE005 (crashing-rule) failed" in result.err


# A hostile repository


HOSTILE = """
[core]
    fsmonitor = {run}
    hooksPath = {hooks}
    pager = {run}
    sshCommand = {run}
    gitProxy = {run}
    askPass = {run}
    editor = {run}
    alternateRefsCommand = {run}
    repositoryformatversion = 1
[extensions]
    partialClone = evil
[remote "evil"]
    url = {url}
    promisor = true
    partialclonefilter = blob:none
    uploadpack = {run}
    vcs = {vcs}
[protocol]
    allow = always
[protocol "ext"]
    allow = always
[protocol "file"]
    allow = always
[credential]
    helper = {run}
[diff]
    external = {run}
[diff "evil"]
    textconv = {run}
    command = {run}
[filter "evil"]
    clean = {run}
    smudge = {run}
    process = {run}
    required = true
[alias]
    ls-tree = !{run}
    cat-file = !{run}
[pager]
    ls-tree = {run}
[gpg]
    program = {run}
[log]
    showSignature = true
"""


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "objects missing"])
@pytest.mark.parametrize(
    ("url", "vcs"),
    [("ext::{run}", ""), ("ssh://host/x", ""), ("file:///nowhere", ""), ("x", "evil")],
)
def test_nothing_that_a_repository_names_is_run(
    distlint: Program,
    repository: Path,
    tmp_path_factory: pytest.TempPathFactory,
    missing: bool,
    url: str,
    vcs: str,
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    marker, run = outside / "ran", outside / "run"
    run.write_text(f"#!/bin/sh\necho ran >> {marker}\n")
    run.chmod(0o755)
    (outside / "git-remote-evil").symlink_to(run)
    hooks = outside / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"):
        (hooks / name).symlink_to(run)
        (repository / ".git/hooks" / name).unlink(missing_ok=True)
        (repository / ".git/hooks" / name).symlink_to(run)
    write(repository, {"a.py": "x = wrong\n" + (repository / "a.py").read_text()})
    write(repository, {".gitattributes": "*.py filter=evil diff=evil\n"})
    blob = git(repository, "rev-parse", "main:a.py")
    if missing:
        (repository / ".git/objects" / blob[:2] / blob[2:]).unlink()
    (repository / ".git/info").mkdir(exist_ok=True)
    (repository / ".git/info/attributes").write_text("*.py filter=evil diff=evil\n")
    marker.unlink(missing_ok=True)  # the test's own git may have run a hook
    config = repository / ".git/config"
    config.write_text(
        config.read_text()
        + HOSTILE.format(run=run, hooks=hooks, url=url.format(run=run), vcs=vcs).replace(
            "    vcs = \n", ""
        )
    )
    env = {"PATH": f"{os.environ['PATH']}:{outside}"}
    result = distlint("check", "--diff", "main", "--output-format", "json", env=env)
    assert not marker.exists()
    if missing:
        assert (result.code, result.out) == (2, "")
        assert len(result.err.splitlines()) == 1
    else:
        assert [row["line"] for row in json.loads(result.out)["findings"]] == [1]


def test_the_git_of_a_checkout_is_not_run(distlint: Program, repository: Path) -> None:
    fake = repository / "git"
    fake.write_text(f"#!/bin/sh\ntouch {repository}/ran\n")
    fake.chmod(0o755)
    result = distlint("check", "--diff", "main", env={"PATH": "."})
    assert (result.code, (repository / "ran").exists()) == (2, False)
