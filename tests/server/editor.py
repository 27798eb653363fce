"""An editor for tests: a client of the Language Server Protocol with `distlint server` at the other end."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from lsprotocol import types
from pygls import uris
from pygls.lsp.client import LanguageClient

PATIENCE = 60.0
"""Seconds after which what was waited for does not come."""


class Editor(LanguageClient):
    """What a person has before them: the texts of open files, and what is said of them."""

    def __init__(self) -> None:
        super().__init__("an editor", "1")
        self.texts: dict[Path, str] = {}
        self.diagnostics: dict[Path, list[types.Diagnostic]] = {}
        self.said: list[str] = []
        self.watched: list[str] = []
        self._versions: dict[Path, int] = {}
        self._news = asyncio.Condition()

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
        async def published(params: types.PublishDiagnosticsParams) -> None:
            async with self._news:
                path = Path(uris.to_fs_path(params.uri) or "")
                self.diagnostics[path] = list(params.diagnostics)
                self._news.notify_all()

        @self.feature(types.WINDOW_SHOW_MESSAGE)  # type: ignore[untyped-decorator]
        def shown(params: types.ShowMessageParams) -> None:
            self.said.append(params.message)

        @self.feature(types.CLIENT_REGISTER_CAPABILITY)  # type: ignore[untyped-decorator]
        def registered(params: types.RegistrationParams) -> None:
            self.watched += [each.method for each in params.registrations]

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something is published that makes `holds` true."""
        async with self._news:
            await asyncio.wait_for(self._news.wait_for(holds), PATIENCE)

    async def codes(self, path: Path, expected: list[str]) -> None:
        """Wait until the findings of a file have these codes."""
        await self.until(
            lambda: sorted(str(each.code) for each in self.diagnostics.get(path, [])) == expected
        )

    def open(self, path: Path, text: str | None = None) -> None:
        """Open a file, with what is on disk or a text that was never saved."""
        self.texts[path] = path.read_text(encoding="utf-8") if text is None else text
        self._versions[path] = 1
        self.text_document_did_open(
            types.DidOpenTextDocumentParams(
                types.TextDocumentItem(path.as_uri(), "python", 1, self.texts[path])
            )
        )

    def type(self, path: Path, old: str, new: str) -> None:
        """Replace a piece of the text of an open file."""
        text = self.texts[path]
        at = text.index(old)
        edit = types.TextEdit(types.Range(_position(text, at), _position(text, at + len(old))), new)
        self._apply(path, [edit])

    def save(self, path: Path) -> None:
        """Write an open file."""
        path.write_text(self.texts[path], encoding="utf-8")
        self.text_document_did_save(types.DidSaveTextDocumentParams(_named(path)))

    def close(self, path: Path) -> None:
        """Close a file without saving it."""
        del self.texts[path]
        self.text_document_did_close(types.DidCloseTextDocumentParams(_named(path)))

    def changed_on_disk(self, path: Path) -> None:
        """Tell that a file was changed by another program."""
        event = types.FileEvent(path.as_uri(), types.FileChangeType.Changed)
        self.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))

    async def actions(self, path: Path, line: int, kind: str) -> list[types.CodeAction]:
        """What can be done at a line (from 1), of one kind."""
        at = types.Position(line - 1, 0)
        end = types.Position(line - 1, 500)
        found = await self.text_document_code_action_async(
            types.CodeActionParams(
                _named(path), types.Range(at, end), types.CodeActionContext([], only=[kind])
            )
        )
        return [each for each in found or [] if isinstance(each, types.CodeAction)]

    async def choose(self, action: types.CodeAction) -> None:
        """Carry out an action."""
        if action.edit is None:
            action = await self.code_action_resolve_async(action)
        for change in (action.edit.document_changes or []) if action.edit is not None else []:
            assert isinstance(change, types.TextDocumentEdit)
            path = Path(uris.to_fs_path(change.text_document.uri) or "")
            assert change.text_document.version == self._versions[path]
            self._apply(path, [each for each in change.edits if isinstance(each, types.TextEdit)])

    async def page_at(self, path: Path, line: int, column: int) -> str:
        """What is shown where the pointer rests (line and column from 1); empty for nothing."""
        found = await self.text_document_hover_async(
            types.HoverParams(_named(path), types.Position(line - 1, column - 1))
        )
        if found is None:
            return ""
        assert isinstance(found.contents, types.MarkupContent)
        return found.contents.value

    async def lenses(self, path: Path) -> list[tuple[int, str]]:
        """What stands above lines (from 1) of a file."""
        found = await self.text_document_code_lens_async(types.CodeLensParams(_named(path))) or []
        return [(each.range.start.line + 1, each.command.title) for each in found if each.command]

    def _apply(self, path: Path, edits: list[types.TextEdit]) -> None:
        text = self.texts[path]
        for edit in sorted(edits, key=lambda each: each.range.start, reverse=True):
            start, end = (_offset(text, at) for at in (edit.range.start, edit.range.end))
            text = text[:start] + edit.new_text + text[end:]
        self.texts[path] = text
        self._versions[path] += 1
        self.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(
                    version=self._versions[path], uri=path.as_uri()
                ),
                [
                    types.TextDocumentContentChangePartial(edit.range, edit.new_text)
                    for edit in sorted(edits, key=lambda each: each.range.start, reverse=True)
                ],
            )
        )


def _named(path: Path) -> types.TextDocumentIdentifier:
    return types.TextDocumentIdentifier(path.as_uri())


def _position(text: str, offset: int) -> types.Position:
    """The protocol counts UTF-16 units unless the two sides agree on others."""
    before = text[:offset]
    line = before.rpartition("\n")[2]
    return types.Position(before.count("\n"), len(line.encode("utf-16-le")) // 2)


def _offset(text: str, at: types.Position) -> int:
    lines = text.split("\n")
    above = sum(len(line) + 1 for line in lines[: at.line])
    units = lines[at.line].encode("utf-16-le")[: at.character * 2]
    return above + len(units.decode("utf-16-le"))


@asynccontextmanager
async def editor(*folders: Path, resolves: bool = True) -> AsyncIterator[Editor]:
    """An editor with some folders open; `resolves`: it asks for an edit when somebody chooses it."""
    client = Editor()
    await client.start_io(sys.executable, "-m", "distlint", "server", "--stdio")
    support = types.ClientCodeActionResolveOptions(["edit"]) if resolves else None
    capabilities = types.ClientCapabilities(
        workspace=types.WorkspaceClientCapabilities(
            did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(
                dynamic_registration=True
            )
        ),
        text_document=types.TextDocumentClientCapabilities(
            code_action=types.CodeActionClientCapabilities(resolve_support=support)
        ),
    )
    try:
        await client.initialize_async(
            types.InitializeParams(
                capabilities=capabilities,
                process_id=os.getpid(),
                workspace_folders=[
                    types.WorkspaceFolder(folder.as_uri(), folder.name) for folder in folders
                ],
            )
        )
        client.initialized(types.InitializedParams())
        yield client
        await asyncio.wait_for(client.shutdown_async(None), PATIENCE)
        client.exit(None)
    except BaseException:  # one that was told nothing would be waited for
        client._server.kill()  # type: ignore[union-attr]
        raise
    finally:
        await client.stop()  # type: ignore[no-untyped-call]
