"""From named paths to parsed files: which files there are, what they hold, the trees that matter."""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from distlint.columns import split_lines
from distlint.launch.kinds import LAUNCH_LIMIT, Kind, is_relevant, kind_of
from distlint.nodes import last_name
from distlint.project.cache import Cache, FileFacts, Stamp, content_digest
from distlint.project.files import FileSet, Problem, ProjectFile, discover
from distlint.project.imports import Imports, Written
from distlint.project.modules import (
    View,
    forget_packages,
    is_package,
    neighbourhood,
    project_root,
)
from distlint.project.notebooks import SUFFIX as NOTEBOOK
from distlint.project.prefilter import holds_any
from distlint.project.reading import (
    SIZE_LIMIT,
    Unreadable,
    check_size,
    is_readable,
    parse,
    python_text,
    share_line_numbers,
)
from distlint.project.settings import SettingsTree
from distlint.project.suppressions import MARK

Progress = Callable[[str, int, int], None]
"""Told the name of a stage, how much of it is done, and how much there is (0: unknown)."""

CONTEXT_LIMIT = 5_000
"""Files. A tree above this is not read for the sake of a few named files."""

KNOWN_LIMIT = 50_000
"""Files. A cache that knows more forgets those that the present run has not looked at."""

VERIFIED_BYTES = 1_000_000
"""How much text without any literal is parsed only to see that it is Python (0.1 CPU s)."""

REEXPORT_DEPTH = 4
"""How many `__init__.py` a name may pass through on its way from where it is defined."""

WAVE_BYTES = 8_000_000
"""Trees with more text than this in files without a literal are not searched for callers."""

TOGETHER_BYTES = 12_000_000
"""Relevant text that is analysed together in any case: about 300,000 lines, 600 MiB of trees."""

SHARED_BYTES = 7_000_000
"""Trees of more text than this share their line numbers: 30 MiB less for megatron-core 0.19.2."""

WAVES = 3
"""How many calls a caller may be away from the function that holds a literal."""

_MARK = MARK.encode()

_CALLED = re.compile(r"\b([A-Za-z_]\w{5,})\(|@([A-Za-z_]\w{5,})")
"""Names that are called or used as decorators. Shorter ones (`save`, `train`) tell too little."""

_DOWNLOADS = re.compile(r"\b(?:urlretrieve|\w*download\w*)\(")
"""Calls that fetch files. What only one rank should do stands in helpers that know of no ranks."""

_TOUCHES_FILES = re.compile(
    r"\b(?:urlretrieve|wget|\w*download\w*|extractall|unpack_archive|rmtree|unlink|makedirs"
    r"|save|savez|save_file|dump|copy2?|copyfile|copytree|move|rename|replace|to_csv|to_parquet"
    r"|write_text|write_bytes)\("
    r"|\bopen\([^()]*(?:\([^()]*\)[^()]*)*,\s*(?:mode\s*=\s*)?[\"'][rb]?[wx]"
)
"""Calls that fetch, write or remove files."""

_DRAWS = re.compile(r"\btorch\.(?:rand|randn|randint|rand_like|randn_like|bernoulli|normal)\(")
"""Calls that draw from torch's global stream, as models and losses do."""

_CLASS = re.compile(r"^class (\w+)\(([^)]*)\)", re.MULTILINE)
"""A class and its bases."""


@dataclass(slots=True)
class Entry:
    """A file of the run: where, whether findings in it are wanted, and what it turned out to be."""

    file: ProjectFile
    reported: bool
    facts: FileFacts | None = None
    text: str = ""
    tree: ast.Module | None = None
    failure: Unreadable | None = None
    module: str = ""
    meant: Mapping[Written, str] | None = None


@dataclass(slots=True)
class Survey:
    """All files of a run, before any is parsed."""

    entries: list[Entry] = field(default_factory=list)
    launch: list[Entry] = field(default_factory=list)
    """Scripts and configurations that a rule may have something to say about."""
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def checked(self) -> int:
        """How many files findings are wanted of."""
        return sum(entry.reported for entry in self.entries)


def survey(
    found: FileSet,
    paths: Sequence[str | Path],
    tree: SettingsTree,
    literals: Sequence[bytes],
    *,
    view: View,
    cache: Cache,
    engine: str,
    progress: Progress | None = None,
) -> Survey:
    """Search the files that were `found` in `paths`, and those of the rest of their projects.

    A file whose stamp the cache knows is not opened. `literals` are the words that make a file
    relevant; `engine` names everything the facts depend on besides the files.
    """
    forget_packages(view)
    overlays = view.overlays
    result = Survey(problems=list(found.problems), notes=list(found.notes))
    context = _context(paths, tree, found, view, result)
    known = cache.load_facts(engine)
    fresh: dict[str, tuple[Stamp, FileFacts]] = {}
    changed = False
    total = len(found.files) + len(context)
    for file in (*found.files, *context):
        if progress and len(result.entries) % 64 == 0:
            progress("reading", len(result.entries), total)
        entry = Entry(file, reported=len(result.entries) < len(found.files))
        result.entries.append(entry)
        data = overlays.get(file.path)
        if data is None:
            stored = known.get(file.path)
            if stored is not None and stored[0] == file.stamp:
                entry.facts = stored[1]
                fresh[file.path] = stored
                continue
            if file.stamp[2] > SIZE_LIMIT:  # never opened: it may fill the memory
                entry.facts = FileFacts(f"{file.stamp}", False, False, False)
                continue
            try:
                data = _read(file.path)
            except OSError as error:
                result.problems.append(Problem(file.shown, _reason(error)))
                continue
        entry.facts = _search(file.path, data, literals)
        if file.path not in overlays:
            fresh[file.path] = (file.stamp, entry.facts)
            changed = True
    result.entries = [entry for entry in result.entries if entry.facts is not None]
    for file in found.launch:
        if file.stamp[2] > LAUNCH_LIMIT:  # data, whatever its name says
            continue
        stored = known.get(file.path)
        data = overlays.get(file.path)
        if data is None and stored is not None and stored[0] == file.stamp:
            facts = stored[1]
        else:
            try:
                data = _read(file.path) if data is None else data
            except OSError as error:
                result.problems.append(Problem(file.shown, _reason(error)))
                continue
            facts = _search_launch(file.path, data)
            changed = changed or file.path not in overlays
        if file.path not in overlays:
            fresh[file.path] = (file.stamp, facts)
        if facts.relevant:
            result.launch.append(Entry(file, True, facts))
    if changed:
        # Files of other parts of the project stay known: runs on them alternate in an editor.
        kept = known if len(known) < KNOWN_LIMIT else {}
        cache.save_facts(engine, {**kept, **fresh})
    return result


def projects_of(found: Survey, paths: Sequence[str | Path]) -> list[Survey]:
    """The files of a run in parts that are analysed one after the other, to bound the memory.

    A named directory that is no project itself and holds more than TOGETHER_BYTES of relevant text is a
    shelf of projects: each directory in it is a part. Everything else is one. The largest part comes
    first: what it leaves behind is room enough for the others.
    """
    shelves = [
        str(path)
        for path in (Path(os.path.abspath(named)) for named in paths)
        if path.is_dir() and not is_package(str(path)) and project_root(path) is None
    ]
    if not shelves or _relevant_bytes(found.entries) <= TOGETHER_BYTES:
        return [found]
    parts: dict[str, list[Entry]] = {}
    for entry in found.entries:
        shelf = next((s for s in shelves if entry.file.path.startswith(s + os.sep)), "")
        inside = entry.file.path[len(shelf) + 1 :] if shelf else ""
        book = inside.partition(os.sep)[0] if os.sep in inside else ""
        parts.setdefault(os.path.join(shelf, book), []).append(entry)
    ordered = sorted(parts.values(), key=_relevant_bytes, reverse=True)
    return [Survey(entries) for entries in ordered]


def _relevant_bytes(entries: Iterable[Entry]) -> int:
    """How much text there is to analyse."""
    return sum(entry.file.stamp[2] for entry in entries if entry.facts and entry.facts.relevant)


def load(
    found: Survey,
    literals: Sequence[bytes],
    *,
    overlays: Mapping[str, bytes],
    progress: Progress | None,
) -> list[Entry]:
    """Parse what matters: relevant files, their callers and bases, the `__init__` files names pass through.

    `literals` are those of the survey. Files with suppressions get their text, files that cannot be
    read their failure. Returns the entries that have any of these.
    """
    loaded: dict[str, Entry] = {}
    large = _relevant_bytes(found.entries) > SHARED_BYTES
    for number, entry in enumerate(found.entries):
        if progress and number % 64 == 0:
            progress("parsing", number, len(found.entries))
        if entry.facts is not None and entry.facts.needed:
            _load(entry, overlays, with_tree=entry.facts.relevant)
            if large and entry.tree is not None:
                share_line_numbers(entry.tree)
            loaded[entry.file.path] = entry
    for entry in _without_literals(found.entries):
        text = _parse_only(entry, overlays)
        if text is not None:
            loaded[entry.file.path] = entry
    for entry in _second_wave(found.entries, literals, overlays):
        loaded[entry.file.path] = entry
    imports = Imports(entry.file.path for entry in found.entries)
    for entry in _bases(found.entries, imports, overlays):
        loaded[entry.file.path] = entry
    for entry in _reexports(found.entries, imports, overlays):
        loaded[entry.file.path] = entry
    for entry in _helpers(found.entries, imports, overlays):
        loaded[entry.file.path] = entry
    for entry in loaded.values():
        if entry.tree is not None:
            entry.module = imports.name(entry.file.path)
            _imported_names(entry, imports)
    return sorted(loaded.values(), key=lambda entry: entry.file.shown)


def _context(
    paths: Sequence[str | Path],
    tree: SettingsTree,
    named: FileSet,
    view: View,
    result: Survey,
) -> list[ProjectFile]:
    """The rest of the projects that the named files belong to: names resolve there."""
    around: dict[tuple[Path, ...], None] = {}
    for each in paths:
        path = Path(os.path.abspath(each))
        if path.is_dir() and not is_package(str(path)):
            continue  # a whole tree is its own context
        if path.exists() or str(path) in view.overlays:
            around.setdefault(tuple(neighbourhood(path)))
    context = {file.path: file for file in named.known}
    named_files = {file.path for file in named.files}
    for places in around:
        found = discover(places, tree, view=view, limit=CONTEXT_LIMIT)
        if found.incomplete:
            result.notes.append(
                f"{places[0]}: more than {CONTEXT_LIMIT:,} files; only what is named is known"
            )
            continue
        for file in (*found.files, *found.known):
            if file.path not in named_files:
                context.setdefault(file.path, file)
    return list(context.values())


def _search(path: str, data: bytes, literals: Sequence[bytes]) -> FileFacts:
    launches = path.endswith(NOTEBOOK) and is_relevant(Kind.SHELL, data)
    return FileFacts(
        digest=content_digest(data),
        relevant=launches or holds_any(data, literals),
        marked=_MARK in data,
        readable=is_readable(data),
    )


def _search_launch(path: str, data: bytes) -> FileFacts:
    kind = kind_of(path)
    assert kind is not None
    return FileFacts(
        digest=content_digest(data),
        relevant=is_relevant(kind, data) and is_readable(data),
        marked=_MARK in data,
        readable=True,
    )


def load_launch(
    entries: Sequence[Entry], overlays: Mapping[str, bytes], notes: list[str]
) -> list[Entry]:
    """Give scripts and configurations their texts; what is gone meanwhile, or no text, goes to `notes`."""
    loaded = []
    for entry in entries:
        _load(entry, overlays, with_tree=False)
        if entry.failure is None:
            loaded.append(entry)
        else:
            notes.append(f"{entry.file.shown}: {entry.failure.reason}")
    return loaded


def _load(entry: Entry, overlays: Mapping[str, bytes], *, with_tree: bool) -> None:
    """Read a file, once; with `with_tree`, parse it as well."""
    try:
        if not entry.text:
            data = overlays.get(entry.file.path)
            if data is None:
                check_size(entry.file.stamp[2])
                data = _read(entry.file.path)
            text = python_text(entry.file.path, data)
            entry.text = text.removeprefix("\ufeff")
        if with_tree:
            entry.tree = parse(entry.text)
    except Unreadable as failure:
        entry.failure = failure
    except OSError as error:
        entry.failure = Unreadable(_reason(error))


def _without_literals(entries: Iterable[Entry]) -> list[Entry]:
    """The reported files in which no rule can find anything, where they are few.

    Whether such a file parses is worth saying where that costs next to nothing; on transformers it
    would cost more than the whole check.
    """
    chosen = [
        entry
        for entry in entries
        if entry.reported and entry.facts and not entry.facts.relevant and entry.facts.readable
    ]
    return chosen if sum(entry.file.stamp[2] for entry in chosen) <= VERIFIED_BYTES else []


def _parse_only(entry: Entry, overlays: Mapping[str, bytes]) -> str | None:
    """Parse and forget; the text where it does not parse."""
    had_text = entry.text
    _load(entry, overlays, with_tree=True)
    entry.tree = None
    if entry.failure is not None:
        return entry.text
    entry.text = had_text
    return None


def _second_wave(
    entries: Sequence[Entry], literals: Sequence[bytes], overlays: Mapping[str, bytes]
) -> list[Entry]:
    """Files without a literal that call functions which hold one or make such objects, and their callers.

    They are found by name, so that only names count that one function of the project has and few
    files call. Trees above WAVE_BYTES do without: there the search costs more than it finds.
    """
    rest = [
        entry
        for entry in entries
        if entry.facts and entry.facts.readable and not entry.facts.relevant
    ]
    if sum(entry.file.stamp[2] for entry in rest) > WAVE_BYTES:
        return []
    calls: dict[str, frozenset[str]] = {}
    for entry in rest:
        _load(entry, overlays, with_tree=False)
        found = _CALLED.findall(entry.text)
        calls[entry.file.path] = frozenset(name or decorator for name, decorator in found)
    counts = Counter(name for names in calls.values() for name in names)
    frequent = max(len(rest) // 100, 10)
    words = [literal.decode("latin-1") for literal in literals]

    def of_interest(definition: ast.stmt, text: Sequence[str], names: Container[str]) -> bool:
        body = "\n".join(text[definition.lineno - 1 : definition.end_lineno])
        return any(word in body for word in words) or any(
            (name or decorator) in names for name, decorator in _CALLED.findall(body)
        )

    wave = [entry for entry in entries if entry.tree is not None]
    reaching: set[str] = set()
    taken: list[Entry] = []
    for _ in range(WAVES):
        defined = Counter(node.name for entry in wave for node in _callables(entry))
        known = frozenset(reaching)
        for entry in wave:
            text = split_lines(entry.text)
            for node in _callables(entry):
                telling = defined[node.name] == 1 and counts[node.name] <= frequent
                if telling and of_interest(node, text, known):
                    reaching.add(node.name)
        wave = [
            entry
            for entry in rest
            if entry.tree is None
            and entry.failure is None
            and not calls[entry.file.path].isdisjoint(reaching)
        ]
        for entry in wave:
            _load(entry, overlays, with_tree=True)
        taken += wave
        wave = [entry for entry in wave if entry.tree is not None]
        if not wave:
            break
    return taken


def _callables(entry: Entry) -> list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """What the callers of a module may call: functions, methods, and classes, which make objects.

    OpenRLHF openrlhf/utils/utils.py:26: `get_strategy()`, which every script calls, makes the strategy.
    """
    return [*_functions(entry), *_classes(entry)]


def _functions(entry: Entry) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions of a module and methods of its classes."""
    assert entry.tree is not None
    found: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
    for node in entry.tree.body:
        for each in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                found.append(each)
    return found


def _bases(
    entries: Sequence[Entry], imports: Imports, overlays: Mapping[str, bytes]
) -> list[Entry]:
    """Files without a literal whose classes stand between parsed ones: what is inherited passes through.

    Only bases that are imported from where they are defined are followed.
    """
    by_module = {imports.name(entry.file.path): entry for entry in entries}
    wave = [entry for entry in entries if entry.tree is not None]
    defined = {cls.name for entry in wave for cls in _classes(entry)}
    taken: list[Entry] = []
    for _ in range(WAVES):
        wanted: dict[str, set[str]] = {}
        for entry in wave:
            bases = {last_name(base) for cls in _classes(entry) for base in cls.bases} - defined
            bases |= _annotations(entry) - defined
            for dotted in _imported_names(entry, imports) if bases else ():
                module, _, name = dotted.rpartition(".")
                if name in bases:
                    wanted.setdefault(module, set()).add(name)
        wave = []
        for module in sorted(wanted.keys() & by_module.keys()):
            entry = by_module[module]
            if entry.tree is None and _inherits(entry, wanted[module], defined, overlays):
                _load(entry, overlays, with_tree=True)
                wave.append(entry)
        wave = [entry for entry in wave if entry.tree is not None]
        taken += wave
        if not wave:
            break
        defined |= {cls.name for entry in wave for cls in _classes(entry)}
    return taken


def _annotations(entry: Entry) -> set[str]:
    """The classes of what the functions of a parsed module are given, but for settings of constructors.

    sentence-transformers 6.2.0 cross_encoder/fit_mixin.py: a callback saves its `model: CrossEncoder`.
    """
    return {
        last_name(parameter.annotation)
        for function in _functions(entry)
        if function.name != "__init__"
        for parameter in (*function.args.args, *function.args.kwonlyargs)
        if parameter.annotation is not None
    }


def _inherits(
    entry: Entry, names: Container[str], defined: Container[str], overlays: Mapping[str, bytes]
) -> bool:
    """Whether one of the classes `names` of a file has a base called like one of `defined`."""
    _load(entry, overlays, with_tree=False)
    return any(
        base.strip().rpartition(".")[2] in defined
        for name, bases in _CLASS.findall(entry.text)
        if name in names
        for base in bases.split(",")
    )


def _classes(entry: Entry) -> list[ast.ClassDef]:
    """The classes of a parsed module."""
    assert entry.tree is not None
    return [node for node in entry.tree.body if isinstance(node, ast.ClassDef)]


def _reexports(
    entries: Sequence[Entry], imports: Imports, overlays: Mapping[str, bytes]
) -> list[Entry]:
    """The `__init__` files through which names of parsed modules reach other parsed modules.

    Those that pass on nothing of a parsed module are left out: transformers has 550 of them, and only
    those above a parsed module are parsed to see it.
    """
    parsed = [entry for entry in entries if entry.tree is not None]
    telling = {imports.name(entry.file.path) for entry in parsed}
    above = {name[:end] for name in telling for end, char in enumerate(name) if char == "."}
    packages = [entry for entry in entries if entry.file.path.endswith("__init__.py")]
    by_module = {imports.name(entry.file.path): entry for entry in packages}
    by_module = {name: entry for name, entry in by_module.items() if name in above}
    found: dict[str, frozenset[str]] = {}
    wave = parsed
    for _ in range(REEXPORT_DEPTH):
        named = {name for entry in wave for name in _imported_names(entry, imports)}
        wave = []
        for name in sorted(named & by_module.keys()):
            entry = by_module[name]
            if entry.tree is None and entry.failure is None:
                _load(entry, overlays, with_tree=True)
                wave.append(entry)
        wave = [entry for entry in wave if entry.tree is not None]
        for entry in wave:
            found[imports.name(entry.file.path)] = _imported_names(entry, imports)
        if not wave:
            break
    kept: set[str] = set()

    def passes_on(package: str, name: str) -> bool:
        # Every package imports its project's tools; what it re-exports lies below it.
        return name.startswith(package + ".") and (name in telling or name in kept)

    while more := {
        package
        for package, names in found.items()
        if package not in kept and any(passes_on(package, name) for name in names)
    }:
        kept |= more
    for name in found.keys() - kept:
        by_module[name].tree = None
    return [by_module[name] for name in sorted(kept)]


def _helpers(
    entries: Sequence[Entry], imports: Imports, overlays: Mapping[str, bytes]
) -> list[Entry]:
    """Files without a literal that touch files or draw, and that a file with one imports: its ranks all
    call them.

    And those that such a file imports. Of trees above WAVE_BYTES, only those that download.
    """
    by_module = {
        imports.name(entry.file.path): entry
        for entry in entries
        if entry.tree is None and entry.failure is None
    }
    large = sum(entry.file.stamp[2] for entry in by_module.values()) > WAVE_BYTES
    telling = (_DOWNLOADS,) if large else (_TOUCHES_FILES, _DRAWS)
    wave = [e for e in entries if e.tree is not None and e.facts and e.facts.relevant]
    taken: list[Entry] = []
    for _ in range(WAVES):
        named = {name for entry in wave for name in _imported_names(entry, imports)}
        wave = []
        for name in sorted(named & by_module.keys()):
            entry = by_module.pop(name)
            _load(entry, overlays, with_tree=False)
            if any(words.search(entry.text) for words in telling):
                _load(entry, overlays, with_tree=True)
                wave.append(entry)
        wave = [entry for entry in wave if entry.tree is not None]
        taken += wave
    return taken


def _imported_names(entry: Entry, imports: Imports) -> frozenset[str]:
    """The names of modules of the tree that the imports of a parsed file mention, and names in them."""
    if entry.meant is None:
        assert entry.tree is not None
        entry.meant = imports.meant(entry.file.path, entry.tree, entry.text)
    names = frozenset(entry.meant.values())
    return names | {name.rpartition(".")[0] for name in names}


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as stream:
        return stream.read()


def _reason(error: OSError) -> str:
    return f"cannot be read: {(error.strerror or str(error)).lower()}"
