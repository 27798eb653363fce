"""`distlint server`, as an editor uses it: what is shown while somebody types, and what its menus do."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from textwrap import dedent

import pytest

pytest.importorskip("pygls")

from lsprotocol import types

from tests.server.editor import Editor, editor

GUARDED = dedent(
    """\
    import torch.distributed as dist


    def main():
        dist.init_process_group()
        if dist.get_rank() == 0:
            print("né 🚀"); dist.barrier()


    main()
    """
)
QUICK, ALL = types.CodeActionKind.QuickFix.value, types.CodeActionKind.SourceFixAll.value


def _run(use: Callable[[Editor], Awaitable[None]], *folders: Path, resolves: bool = True) -> None:
    async def main() -> None:
        async with editor(*folders, resolves=resolves) as client:
            await use(client)

    asyncio.run(main())


def test_findings_while_typing_and_saving(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(GUARDED, encoding="utf-8")

    async def use(client: Editor) -> None:
        await client.codes(file, ["DL101"])  # no file is open yet
        client.open(file)
        (found,) = client.diagnostics[file]
        # Behind a character of two UTF-16 units.
        assert found.range.start == types.Position(6, 24)
        assert found.severity is types.DiagnosticSeverity.Error
        assert found.source == "distlint"
        told = [each.message for each in found.related_information or []]
        assert any(text.startswith("rank 0: ") for text in told)
        assert any(text.startswith("other ranks: ") for text in told)
        client.type(file, 'print("né 🚀"); dist.barrier()', "pass")
        await client.codes(file, [])
        client.type(file, "pass", "dist.barrier()")
        await client.codes(file, ["DL101"])
        client.type(file, "dist.barrier()", "dist.barrier(")
        await client.codes(file, ["DL900"])
        client.type(file, "dist.barrier(", "pass")
        client.save(file)
        await client.codes(file, [])
        client.close(file)
        assert types.WORKSPACE_DID_CHANGE_WATCHED_FILES in client.watched

    _run(use, tmp_path)


def test_what_another_file_says_counts_unsaved(tmp_path: Path) -> None:
    helper, script = tmp_path / "helper.py", tmp_path / "train.py"
    helper.write_text("import torch.distributed as dist\n\n\ndef meet():\n    dist.barrier()\n")
    script.write_text(
        "import torch.distributed as dist\nfrom helper import meet\n\n"
        "dist.init_process_group()\nif dist.get_rank() == 0:\n    meet()\n"
    )

    async def use(client: Editor) -> None:
        await client.until(lambda: bool(client.diagnostics))
        (place,) = (path for path, found in client.diagnostics.items() if found)
        client.open(helper)
        client.type(helper, "dist.barrier()", "print()")
        await client.codes(place, [])
        client.close(helper)  # what is on disk holds again
        await client.codes(place, ["DL101"])

    _run(use, tmp_path)


@pytest.mark.parametrize("resolves", [True, False])
def test_a_fix_is_carried_out_in_the_editor(resolves: bool, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(GUARDED, encoding="utf-8")

    async def use(client: Editor) -> None:
        client.open(file)
        await client.codes(file, ["DL101"])
        assert await client.actions(file, 1, QUICK) == []
        (fix,) = await client.actions(file, 7, QUICK)
        assert fix.title.startswith("DL101: ")
        assert (fix.edit is None) is resolves
        await client.choose(fix)
        await client.codes(file, [])
        assert 'print("né 🚀")\n    dist.barrier()\n' in client.texts[file].replace(";", "")
        assert file.read_text(encoding="utf-8") == GUARDED

    _run(use, tmp_path, resolves=resolves)


def test_all_safe_fixes_of_a_file_and_none_that_does_harm(tmp_path: Path) -> None:
    file, other = tmp_path / "train.py", tmp_path / "other.py"
    twice = GUARDED.replace(
        "\n\nmain()", "    if dist.get_rank() == 0:\n        dist.barrier()\n\n\nmain()"
    )
    file.write_text(twice, encoding="utf-8")
    other.write_text(GUARDED, encoding="utf-8")

    async def use(client: Editor) -> None:
        client.open(file)
        await client.codes(file, ["DL101", "DL101"])
        (fix,) = await client.actions(file, 1, ALL)
        await client.choose(fix)
        await client.codes(file, [])
        assert client.texts[file].count("dist.barrier()") == 2
        assert [str(each.code) for each in client.diagnostics[other]] == ["DL101"]

    _run(use, tmp_path)


def test_the_page_of_a_rule_where_the_pointer_rests(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(GUARDED, encoding="utf-8")

    async def use(client: Editor) -> None:
        client.open(file)
        await client.codes(file, ["DL101"])
        assert "## Why it is bad" in await client.page_at(file, 7, 30)
        assert await client.page_at(file, 1, 1) == ""

    _run(use, tmp_path)


def test_who_comes_to_each_collective(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    text = dedent(
        """\
        import time

        import torch
        import torch.distributed as dist


        def share(value):
            dist.all_reduce(value)


        def main(hours):
            dist.init_process_group()
            rank = dist.get_rank()
            loss = torch.zeros(1, device="cuda")
            share(loss)
            if rank == 0:
                share(loss)
                dist.broadcast(loss, 0)
            else:
                dist.broadcast(loss, 0)
            began = time.time()
            if time.time() - began > hours:
                dist.barrier()


        main(3)
        """
    )
    file.write_text(text, encoding="utf-8")

    async def use(client: Editor) -> None:
        client.open(file)
        told = dict(await client.lenses(file))
        assert told == {
            8: "every rank",
            12: "every rank",
            18: "rank 0 alone",
            20: "every rank but 0",
            23: "every rank on which `time.time() - began > hours` holds",
        }
        client.type(file, "rank == 0", "rank >= 0")
        told = dict(await client.lenses(file))
        assert told[18] == "every rank"
        assert 20 not in told

    _run(use, tmp_path)


def test_settings_are_read_again_and_their_faults_shown(tmp_path: Path) -> None:
    file, settings = tmp_path / "train.py", tmp_path / "distlint.toml"
    file.write_text(GUARDED, encoding="utf-8")

    async def use(client: Editor) -> None:
        await client.codes(file, ["DL101"])
        settings.write_text('ignore = ["DL101"]\n')
        client.changed_on_disk(settings)
        await client.codes(file, [])
        settings.write_text('ignored = ["DL101"]\n')
        client.changed_on_disk(settings)
        await client.codes(settings, ["DL902"])
        settings.unlink()
        client.changed_on_disk(settings)
        await client.codes(file, ["DL101"])
        await client.codes(settings, [])

    _run(use, tmp_path)


def test_several_folders_and_a_file_in_none_of_them(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two", "elsewhere")]
    files = [folder / "train.py" for folder in folders]
    for folder, file in zip(folders, files, strict=True):
        folder.mkdir()
        file.write_text(GUARDED, encoding="utf-8")
    new = folders[0] / "new.py"

    async def use(client: Editor) -> None:
        await client.codes(files[0], ["DL101"])
        await client.codes(files[1], ["DL101"])
        assert files[2] not in client.diagnostics
        client.open(files[2])
        await client.codes(files[2], ["DL101"])
        client.close(files[2])
        await client.codes(files[2], [])
        client.open(new, GUARDED)  # never saved
        await client.codes(new, ["DL101"])
        gone = types.WorkspaceFolder(folders[1].as_uri(), "two")
        client.workspace_did_change_workspace_folders(
            types.DidChangeWorkspaceFoldersParams(
                types.WorkspaceFoldersChangeEvent(added=[], removed=[gone])
            )
        )
        await client.codes(files[1], [])

    _run(use, *folders[:2])


def test_without_its_library_it_says_what_to_install(tmp_path: Path) -> None:
    blocked = tmp_path / "sitecustomize.py"
    blocked.write_text(
        "import sys\n"
        "class Blocked:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('pygls', 'lsprotocol'):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Blocked())\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "distlint", "server"],
        env={"PYTHONPATH": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "Error: `distlint server` needs pygls: install distlint with its extra `lsp`"
    ]
