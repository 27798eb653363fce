"""The language server: what the client tells goes to sessions, what they find comes back."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

import distlint
from distlint.checking import crash_text
from distlint.findings import Applicability
from distlint.project.notebooks import SUFFIX as NOTEBOOK
from distlint.project.settings import NAMES as SETTINGS
from distlint.reporting.report import Reported
from distlint.rule import load_rules
from distlint.server.messages import (
    Names,
    contains,
    diagnostic,
    hover,
    overlap,
    title,
)
from distlint.server.session import Ask, Refused, Session, absolute

QUIET: Final = 0.1
"""Seconds without a change after which a check begins."""

IDLE: Final = 1.0
"""Seconds without a change after which the memory of a check is freed."""

FIX_ALL: Final = f"{types.CodeActionKind.SourceFixAll.value}.distlint"

_Answer = TypeVar("_Answer")


class Server(LanguageServer):
    """A language server over stdio. Checks run one at a time, in a thread of their own."""

    def __init__(self, ask: Ask) -> None:
        super().__init__("distlint", distlint.__version__)
        self._ask = ask
        self._folders: list[str] = []
        self._sessions: dict[str, Session] = {}
        self._opened: dict[str, str] = {}
        self._pending: dict[str, asyncio.Task[None]] = {}
        self._looked: dict[str, asyncio.Event] = {}
        self._shown: dict[str, set[str]] = {}
        self._told: dict[str, tuple[str, ...]] = {}
        self._pages = {rule.code: rule.page for rule in load_rules().values()}
        self._thread = ThreadPoolExecutor(1, "distlint")

    # -- what the client tells

    def begin(self, folders: list[str]) -> None:
        """Take over the client's folders, and check what is in them."""
        self._folders = folders
        for folder in folders:
            self._check_soon(self._session(folder))

    def folders_changed(self, added: list[str], removed: list[str]) -> None:
        """Some of the client's folders are new, or closed."""
        self._folders = [each for each in self._folders if each not in removed] + added
        for folder in removed:
            session = self._sessions.pop(folder, None)
            if session is not None:
                self._stop(session)
                self._publish(session, {})
        for folder in added:
            self._check_soon(self._session(folder))

    def text_changed(self, uri: str, text: str | None) -> None:
        """A file has this text in the client; None: what is on disk."""
        path = _path(uri)
        if path is None or path.endswith(NOTEBOOK):
            return
        if text is not None:
            self._opened[path] = uri
        elif path in self._opened:
            del self._opened[path]
        session = self._session_of(path)
        if _name(path) in SETTINGS:  # what holds is what is on disk
            session.look_again()
        else:
            session.edit(path, text)
        self._check_soon(session)
        if text is None and path in session.paths:
            self._stop(session)
            self._sessions.pop(path, None)
            self._publish(session, {})

    def disk_changed(self, changed: list[str]) -> None:
        """Files were written, made or deleted, by whoever."""
        for path in filter(None, map(_path, changed)):
            if path not in self._opened or _name(path) in SETTINGS:
                session = self._session_of(path)
                session.look_again()
                self._check_soon(session)

    # -- sessions

    def _session_of(self, path: str) -> Session:
        """The session that a file belongs to: of the innermost folder, else of its own."""
        around = [each for each in self._folders if path.startswith(os.path.join(each, ""))]
        return self._session(max(around, key=len, default=path))

    def _session(self, path: str) -> Session:
        if path not in self._sessions:
            self._sessions[path] = Session((path,), self._ask)
        return self._sessions[path]

    def _check_soon(self, session: Session) -> None:
        self._stop(session)
        self._looked.setdefault(session.paths[0], asyncio.Event()).clear()
        self._pending[session.paths[0]] = asyncio.ensure_future(self._check(session))

    def _stop(self, session: Session) -> None:
        task = self._pending.pop(session.paths[0], None)
        if task is not None:
            task.cancel()
        if session.paths[0] in self._looked:  # nobody is to wait for a check that does not come
            self._looked[session.paths[0]].set()

    async def _check(self, session: Session) -> None:
        await asyncio.sleep(QUIET)
        # One that has begun goes to its end: the next begins from what it found.
        work = asyncio.ensure_future(self._in_thread(session.check))
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            work.add_done_callback(_forget)
            raise
        except Exception as error:
            self._tell(session, (f"the check failed: {crash_text(error)}",))
            self._looked[session.paths[0]].set()
            return
        self._looked[session.paths[0]].set()
        self._publish(session, self._diagnostics(session))
        problems = tuple(f"{each.path}: {each.reason}" for each in session.report.problems)
        self._tell(session, problems)
        await asyncio.sleep(IDLE)
        await self._in_thread(session.tidy)

    async def _in_thread(self, work: Callable[..., _Answer], *arguments: Any) -> _Answer:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)

    async def settled(self, uri: str) -> tuple[Session, str] | None:
        """The session of a file and the file's path, when all that was typed has been looked at."""
        path = _path(uri)
        if path is None:
            return None
        session = self._session_of(path)
        while (looked := self._looked.get(session.paths[0])) is not None and not looked.is_set():
            await looked.wait()
        return session, path

    # -- what the client is told

    def _names(self) -> Names:
        return Names(self.workspace.position_codec, self._opened)

    def _diagnostics(self, session: Session) -> dict[str, list[types.Diagnostic]]:
        names = self._names()
        found: dict[str, list[types.Diagnostic]] = {}
        for row in session.report.findings:
            path = absolute(row.finding.place)
            if not path.endswith(NOTEBOOK):  # the lines of cells are not those of the file
                found.setdefault(path, []).append(diagnostic(row, session.report.texts, names))
        return found

    def _publish(self, session: Session, found: dict[str, list[types.Diagnostic]]) -> None:
        before = self._shown.get(session.paths[0], set())
        self._shown[session.paths[0]] = set(found)
        for path in sorted({*before, *found}):
            document = self.workspace.text_documents.get(self._opened.get(path, ""))
            self.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(
                    uri=self._names().uri(path),
                    diagnostics=found.get(path, []),
                    version=document.version if document is not None else None,
                )
            )

    def _tell(self, session: Session, problems: tuple[str, ...]) -> None:
        """Say what could not be done, once."""
        if problems != self._told.get(session.paths[0], ()):
            for text in problems:
                self.window_log_message(
                    types.LogMessageParams(types.MessageType.Warning, f"distlint: {text}")
                )
        self._told[session.paths[0]] = problems

    # -- what the client asks

    async def hover_at(self, params: types.HoverParams) -> types.Hover | None:
        """The pages of the rules whose findings are at a position."""
        at = await self.settled(params.text_document.uri)
        if at is None:
            return None
        session, path = at
        rows = [
            (row, where)
            for row in session.rows(path)
            if contains(where := self._range(session, row), params.position)
        ]
        return hover([row for row, _ in rows], self._pages, rows[0][1]) if rows else None

    async def lenses(self, params: types.CodeLensParams) -> list[types.CodeLens]:
        """Above each collective of a file, the ranks that come to it."""
        at = await self.settled(params.text_document.uri)
        if at is None:
            return []
        session, path = at
        return [
            types.CodeLens(
                self._names().range(session.report.texts, each.place),
                types.Command(each.message, ""),
            )
            for each in session.reached(path)
        ]

    async def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """The fixes of what is found in a range, and that of the whole file."""
        at = await self.settled(params.text_document.uri)
        if at is None:
            return []
        session, path = at
        wanted = params.context.only or []
        rows = [row for row in session.rows(path) if session.fixable(row)]
        found = []
        if _wants(wanted, types.CodeActionKind.QuickFix.value):
            for row in rows:
                if overlap(self._range(session, row), params.range):
                    found.append(self._quick_fix(session, row, params.text_document.uri))
        if rows and _wants(wanted, FIX_ALL):
            found.append(
                types.CodeAction(
                    title="distlint: fix all in this file",
                    kind=FIX_ALL,
                    data={"uri": params.text_document.uri, "all": True},
                )
            )
        if not self._resolves():
            resolved = [await self.resolved(action) for action in found]
            found = [action for action in resolved if action.edit is not None]
        return found

    def _quick_fix(self, session: Session, row: Reported, uri: str) -> types.CodeAction:
        assert row.finding.fix is not None
        safe = row.finding.fix.applicability is Applicability.SAFE
        return types.CodeAction(
            title=title(row),
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[diagnostic(row, session.report.texts, self._names())],
            is_preferred=safe or None,
            data={"uri": uri, "name": row.fingerprint},
        )

    async def resolved(self, action: types.CodeAction) -> types.CodeAction:
        """An action with its edit, where the fix stands its trial; else the client is told why not."""
        data: Any = action.data
        at = await self.settled(str(data["uri"]))
        if at is None:
            return action
        session, path = at
        document = self.workspace.get_text_document(str(data["uri"]))
        version, before = document.version, document.source
        if data.get("all"):
            pieces: Any = await self._in_thread(session.fix_all, path)
        else:
            pieces = await self._in_thread(session.fix_one, str(data["name"]))
        if isinstance(pieces, Refused):
            self._say(f"{action.title}: {pieces.reason}")
        elif pieces:
            edit = types.TextDocumentEdit(
                types.OptionalVersionedTextDocumentIdentifier(document.uri, version),
                list(self._names().edits(before, pieces)),
            )
            action.edit = types.WorkspaceEdit(document_changes=[edit])
        elif data.get("all"):
            self._say("distlint: no fix of this file may be applied without a look at it")
        return action

    def _say(self, text: str) -> None:
        self.window_show_message(types.ShowMessageParams(types.MessageType.Info, text))

    def _range(self, session: Session, row: Reported) -> types.Range:
        return self._names().range(session.report.texts, row.finding.place)

    def _resolves(self) -> bool:
        """Whether the client asks for the edit of an action when somebody chooses it."""
        document = self.client_capabilities.text_document
        action = document.code_action if document is not None else None
        support = action.resolve_support if action is not None else None
        return support is not None and "edit" in support.properties


def _forget(work: asyncio.Future[Any]) -> None:
    """Let a check that nobody waits for any more fail without a word: the next one says it again."""
    if not work.cancelled():
        work.exception()


def _path(uri: str) -> str | None:
    """The absolute path of a file; None for what is no file."""
    path = uris.to_fs_path(uri) if uri.startswith("file:") else None
    return os.path.abspath(path) if path else None


def _name(path: str) -> str:
    return os.path.basename(path)


def _wants(kinds: Sequence[types.CodeActionKind | str], kind: str) -> bool:
    """Whether a client that asks for some kinds of actions (all, where it names none) takes one of `kind`."""
    asked = [each.value if isinstance(each, types.CodeActionKind) else each for each in kinds]
    return not asked or any(kind == each or kind.startswith(f"{each}.") for each in asked)


def serve(ask: Ask) -> None:
    """Serve one client over standard input and output, until it says that it goes."""
    make_server(ask).start_io()


def make_server(ask: Ask) -> Server:
    """A server with all its features."""
    server = Server(ask)

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        folders = [_path(uri) for uri in server.workspace.folders]
        root = server.workspace.root_path
        server.begin([each for each in folders or [root] if each])
        await _watch(server)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.text_changed(params.text_document.uri, params.text_document.text)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.text_changed(uri, server.workspace.get_text_document(uri).source)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        server.disk_changed([params.text_document.uri])

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.text_changed(params.text_document.uri, None)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def watched(params: types.DidChangeWatchedFilesParams) -> None:
        server.disk_changed([each.uri for each in params.changes])

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        added, removed = (
            [path for path in (_path(each.uri) for each in some) if path]
            for some in (params.event.added, params.event.removed)
        )
        server.folders_changed(added, removed)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hovered(params: types.HoverParams) -> types.Hover | None:
        return await server.hover_at(params)

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
        return await server.lenses(params)

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions([types.CodeActionKind.QuickFix, FIX_ALL], resolve_provider=True),
    )
    async def acted(params: types.CodeActionParams) -> list[types.CodeAction]:
        return await server.actions(params)

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolve(action: types.CodeAction) -> types.CodeAction:
        return await server.resolved(action)

    return server


async def _watch(server: Server) -> None:
    """Ask a client that can to tell when files change that it has not open."""
    workspace = server.client_capabilities.workspace
    watching = workspace.did_change_watched_files if workspace is not None else None
    if watching is None or not watching.dynamic_registration:
        return
    patterns = ("**/*.py", "**/pyproject.toml", "**/distlint.toml", "**/*.{yaml,yml,json,sh}")
    watchers = [types.FileSystemWatcher(pattern) for pattern in patterns]
    options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
    registration = types.Registration(
        "distlint-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options
    )
    await server.client_register_capability_async(types.RegistrationParams([registration]))


__all__ = ["Server", "make_server", "serve"]
