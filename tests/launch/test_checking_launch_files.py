"""Scripts and configurations under the same file selection and settings as Python files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from distlint.cli import main

OLD = "python -m torch.distributed.launch --nproc_per_node=8 train.py\n"


def check(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", "--no-cache", "--select", "DL8", *arguments])


def places(result: Result) -> list[tuple[str, str, int, int]]:
    found = json.loads(result.stdout)["findings"]
    return [(row["code"], row["path"], row["line"], row["column"]) for row in found]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("import torch.distributed as dist\n")
    return tmp_path


def test_a_script_is_reported_with_its_place(project: Path) -> None:
    (project / "run.sh").write_text("set -e\n  " + OLD)
    result = check("--output-format", "json")
    assert result.exit_code == 1
    assert places(result) == [("DL805", "run.sh", 2, 3)]


def test_text_shows_the_line(project: Path) -> None:
    (project / "run.sh").write_text(OLD)
    assert "python -m torch.distributed.launch" in check().stdout


def test_a_named_script_is_checked_alone(project: Path) -> None:
    (project / "run.sh").write_text(OLD)
    (project / "other.sh").write_text(OLD)
    assert [row[1] for row in places(check("--output-format", "json", "run.sh"))] == ["run.sh"]


def test_a_folder_without_python_is_checked(project: Path) -> None:
    (project / "scripts").mkdir()
    (project / "scripts/run.sh").write_text(OLD)
    assert check("scripts").exit_code == 1


@pytest.mark.parametrize("above", [False, True])
def test_a_comment_silences_a_line(project: Path, above: bool) -> None:
    comment = "# distlint: ignore[DL805]"
    text = f"{comment}\n{OLD}" if above else f"{OLD.rstrip()}  {comment}\n"
    (project / "run.sh").write_text(text)
    result = check("--extend-select", "DL901")
    assert result.exit_code == 0, result.output


def test_an_idle_comment_is_reported(project: Path) -> None:
    (project / "run.sh").write_text("torchrun train.py  # distlint: ignore[DL805]\n")
    result = check("--extend-select", "DL901", "--output-format", "json")
    assert places(result) == [("DL901", "run.sh", 1, 20)]


def test_settings_leave_files_out(project: Path) -> None:
    (project / "old").mkdir()
    (project / "old/run.sh").write_text(OLD)
    (project / "ignored.sh").write_text(OLD)
    (project / "pyproject.toml").write_text(
        '[tool.distlint]\nexclude = ["old"]\nper-file-ignores = {"ignored.sh" = ["DL805"]}\n'
    )
    assert check().exit_code == 0


def test_a_link_and_large_data_are_not_read(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "run.sh"
    elsewhere.write_text(OLD)
    (project / "run.sh").symlink_to(elsewhere)
    (project / "ds.json").write_text(
        '{"zero_optimization": {"stage": 9}, "x": "' + "a" * 300_000 + '"}'
    )
    result = check("-v")
    assert result.exit_code == 0, result.output


def test_bytes_that_are_no_text_end_nothing(project: Path) -> None:
    (project / "run.sh").write_bytes(b"torchrun \xff\xfe train.py\n")
    (project / "a.yaml").write_bytes(b"distributed_type: \x00\n")
    assert check().exit_code == 0


def test_the_cache_knows_a_changed_configuration(project: Path) -> None:
    runner = CliRunner()
    arguments = ["check", "--cache-dir", str(project / "cache"), "--select", "DL8"]
    (project / "ds.json").write_text('{"zero_optimization": {"stage": 2}, "train_batch_size": 8}')
    assert runner.invoke(main, arguments).exit_code == 0
    assert runner.invoke(main, arguments).exit_code == 0
    (project / "ds.json").write_text('{"zero_optimization": {"stage": 9}, "train_batch_size": 8}')
    assert runner.invoke(main, arguments).exit_code == 1


def test_a_launch_is_repaired_in_its_script(project: Path) -> None:
    before = "set -e\npython3 -m torch.distributed.launch --use_env \\\n  --nproc_per_node=8 train.py  # ä\n"
    (project / "run.sh").write_text(before)
    (project / "other.sh").write_text(OLD)
    result = CliRunner().invoke(main, ["fix", "--no-cache", "--select", "DL8", "--apply"])
    assert result.exit_code == 1, result.output
    assert (project / "run.sh").read_text() == before.replace(
        "python3 -m torch.distributed.launch --use_env", "torchrun"
    )
    assert (project / "other.sh").read_text() == OLD


def test_a_launch_from_variables_is_not_repaired(project: Path) -> None:
    text = 'L="python -m torch.distributed.launch --use_env"\n$L train.py\n'
    (project / "run.sh").write_text(text)
    CliRunner().invoke(main, ["fix", "--no-cache", "--select", "DL8", "--apply"])
    assert (project / "run.sh").read_text() == text


def test_a_setting_is_written_as_it_is_and_the_way_out_beside_it(project: Path) -> None:
    (project / "one.yaml").write_text(
        "compute_environment: LOCAL_MACHINE\ndistributed_type: 'NO'\nnum_processes: 8\n"
    )
    found = json.loads(check("--output-format", "json").stdout)["findings"]
    assert [row["message"] for row in found if row["code"] == "DL801"] == [
        "`distributed_type` 'NO' with 8 processes: accelerate launch starts one process. Write "
        "`distributed_type: MULTI_GPU`, or num_processes: 1 where one is meant."
    ]


def test_a_named_script_stands_for_the_others_that_start_the_same(project: Path) -> None:
    for name in ("a.sh", "b.sh", "c.sh"):
        (project / name).write_text(OLD)
    assert places(check("--output-format", "json")) == [("DL805", "a.sh", 1, 1)]
    result = check("--output-format", "json", "b.sh")
    assert places(result) == [("DL805", "b.sh", 1, 1)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            "fsdp_config:\n  fsdp_version: 2\n",
            "`fsdp_config` with distributed_type NO: the section is not read: what it asks for does not "
            "happen. Write `distributed_type: FSDP`, or remove the section.",
        ),
        ("fsdp_config:\n  fsdp_sharding_strategy: NO_SHARD\n", None),
    ],
)
def test_a_section_that_nobody_reads(project: Path, settings: str, message: str | None) -> None:
    (project / "a.yaml").write_text(f"distributed_type: 'NO'\nnum_processes: 1\n{settings}")
    found = json.loads(check("--output-format", "json").stdout)["findings"]
    assert [row["message"] for row in found] == ([message] if message else [])


@pytest.mark.parametrize(("comment", "count"), [("NO / FSDP", 0), ("NO / MULTI_GPU", 1)])
def test_a_section_that_is_kept_for_another_choice(project: Path, comment: str, count: int) -> None:
    """RuSigLIP 8ada620 configs/accelerate_config.yml:17."""
    text = (
        f"distributed_type: 'NO' # {comment}\nnum_processes: 1\nfsdp_config:\n  fsdp_version: 2\n"
    )
    (project / "a.yaml").write_text(text)
    assert len(places(check("--output-format", "json"))) == count
