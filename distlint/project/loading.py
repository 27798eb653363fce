"""From named paths to parsed files: which files there are, what they hold, the trees that matter."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from distlint.launch.kinds import (
    Kind,
    composes_in_code,
    imported_by,
    is_data,
    is_relevant,
    kind_of,
    loads_wrapped,
    needs_mmcv_1,
    needs_package,
    needs_torch_1,
    opened,
    says_clipping,
    says_launch,
    spawns_for_all,
    takes_a_hyphen,
    takes_any_rank,
    tells_in_head,
)
from distlint.project.cache import Cache, FileFacts, Stamp, content_digest
from distlint.project.entries import (
    Entry,
    annotated_classes,
    bases_as_written,
    callables,
    called_names,
    classes,
    classes_of_configuration,
    downloads,
    imports_by_name,
    imports_of,
    parsed_classes,
    read_bytes,
    reason_of,
    scripts_named,
    serves_training,
)
from distlint.project.files import FileSet, Problem, ProjectFile, discover
from distlint.project.imports import Imports
from distlint.project.modules import (
    View,
    forget_packages,
    is_package,
    is_shadowed,
    neighbourhood,
    project_root,
)
from distlint.project.notebooks import SUFFIX as NOTEBOOK
from distlint.project.prefilter import holds_any
from distlint.project.reading import SIZE_LIMIT, as_utf_8, is_readable, share_line_numbers
from distlint.project.settings import SettingsTree
from distlint.project.suppressions import MARK
from distlint.project.trees import Trees
from distlint.records import dataclass

Contents = dict[str, tuple[str, dict[str, Any]]]
"""What is known of the content of files: by absolute path the hash, and the answers to questions."""

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

WRAPPER_BYTES = 4_000
"""A script that hands on to another file is no longer."""

WAVE_BYTES = 8_000_000
"""Trees with more text than this in files without a literal are not searched for callers."""

TOGETHER_BYTES = 12_000_000
"""Relevant text that is analysed together in any case: about 300,000 lines, 600 MiB of trees."""

SHARED_BYTES = 7_000_000
"""Trees of more text than this share their line numbers: 30 MiB less for megatron-core 0.19.2."""

WAVES = 3
"""How many calls a caller may be away from the function that holds a literal."""

_MARK = MARK.encode()


@dataclass(slots=True)
class Survey:
    """All files of a run, before any is parsed."""

    entries: list[Entry] = field(default_factory=list)
    launch: list[Entry] = field(default_factory=list)
    """Scripts and configurations that a rule may have something to say about."""
    names: list[str] = field(default_factory=list)
    """All files that are known, as they are shown: Python, scripts and configurations, whatever is in them."""
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
    trees: Trees | None = None,
    progress: Progress | None = None,
) -> Survey:
    """Search the files that were `found` in `paths`, and those of the rest of their projects.

    A file whose stamp the cache knows is not opened. `literals` are the words that make a file
    relevant; `engine` names everything the facts depend on besides the files. `trees` are those of the
    last check.
    """
    forget_packages(view)
    overlays = view.overlays
    result = Survey(problems=list(found.problems), notes=list(found.notes))
    around = _context(paths, tree, found, view, result)
    context = list(around.files.values())
    known = cache.load_facts(engine)
    fresh: dict[str, tuple[Stamp, FileFacts]] = {}
    changed = False
    total = len(found.files) + len(context)
    for file in (*found.files, *context):
        if progress and len(result.entries) % 64 == 0:
            progress("reading", len(result.entries), total)
        named = len(result.entries) < len(found.files)
        data = overlays.get(file.path)
        entry = Entry(file, named, named or file.path in around.own, overlay=data, trees=trees)
        result.entries.append(entry)
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
                data = read_bytes(file.path)
            except OSError as error:
                result.problems.append(Problem(file.shown, reason_of(error)))
                continue
        entry.facts = _search(file.path, data, literals)
        if file.path not in overlays:
            fresh[file.path] = (file.stamp, entry.facts)
            changed = True
    result.entries = [entry for entry in result.entries if entry.facts is not None]
    result.names = [file.shown for file in (*found.files, *context, *found.launch, *around.launch)]
    if trees is not None:
        trees.keep_only([entry.file.path for entry in result.entries])
    for number, file in enumerate((*found.launch, *around.launch)):
        if is_data(file.path, file.stamp[2]):
            continue
        stored = known.get(file.path)
        data = overlays.get(file.path)
        if data is None and stored is not None and stored[0] == file.stamp:
            facts = stored[1]
        else:
            try:
                data = read_bytes(file.path) if data is None else data
            except OSError as error:
                result.problems.append(Problem(file.shown, reason_of(error)))
                continue
            facts = _search_launch(file.path, data)
            changed = changed or file.path not in overlays
        if file.path not in overlays:
            fresh[file.path] = (file.stamp, facts)
        if facts.relevant:
            named = number < len(found.launch)
            result.launch.append(Entry(file, named, facts=facts, overlay=data))
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
    parts: dict[str, Survey] = {}

    def part_of(entry: Entry) -> Survey:
        shelf = next((s for s in shelves if entry.file.path.startswith(s + os.sep)), "")
        inside = entry.file.path[len(shelf) + 1 :] if shelf else ""
        book = inside.partition(os.sep)[0] if os.sep in inside else ""
        return parts.setdefault(os.path.join(shelf, book), Survey())

    for entry in found.entries:
        part_of(entry).entries.append(entry)
    for entry in found.launch:
        part_of(entry).launch.append(entry)
    return sorted(parts.values(), key=lambda part: _relevant_bytes(part.entries), reverse=True)


def _relevant_bytes(entries: Iterable[Entry]) -> int:
    """How much text there is to analyse."""
    return sum(entry.file.stamp[2] for entry in entries if entry.facts and entry.facts.relevant)


def recall(entries: Iterable[Entry], kept: Contents) -> None:
    """Give files what is known of their content, where nothing has been asked of them yet."""
    for entry in entries:
        if not entry.asked:
            digest, answers = kept.get(entry.file.path, ("", {}))
            entry.kept = answers if entry.facts and entry.facts.digest == digest else {}


def load(
    found: Survey,
    literals: Sequence[bytes],
    *,
    kept: Contents | None = None,
    progress: Progress | None = None,
) -> list[Entry]:
    """Which files matter: relevant ones, their callers and bases, the `__init__` files names pass through.

    `literals` are those of the survey. Returns what is analysed, with the name of its module and what its
    imports mean; the files with suppressions; those that cannot be read, with their failure. A file is
    read and parsed only where a question about it is not answered in `kept`, which gets the new answers.
    """
    kept = {} if kept is None else kept
    recall(found.entries, kept)
    loaded = _loaded(found, literals, progress)
    for entry in found.entries:
        if entry.asked and entry.facts:
            kept[entry.file.path] = (entry.facts.digest, entry.kept)
    return sorted(loaded.values(), key=lambda entry: entry.file.shown)


def _loaded(
    found: Survey, literals: Sequence[bytes], progress: Progress | None
) -> dict[str, Entry]:
    loaded: dict[str, Entry] = {}
    entries: list[Entry] = []
    for entry in found.entries:
        if not _is_dead(entry):
            entries.append(entry)
        elif not entry.parses():
            loaded[entry.file.path] = entry
    large = _relevant_bytes(entries) > SHARED_BYTES
    for number, entry in enumerate(entries):
        if progress and number % 64 == 0:
            progress("parsing", number, len(entries))
        if entry.facts is not None and entry.facts.needed:
            if entry.facts.relevant:
                _take(entry)
                if large and entry.tree is not None:
                    share_line_numbers(entry.tree)
            elif not entry.facts.readable:
                entry.read()
            loaded[entry.file.path] = entry
    for entry in _without_literals(entries):
        if not entry.parses():
            loaded[entry.file.path] = entry
        entry.tree = None
    for entry in _second_wave(entries, literals):
        loaded[entry.file.path] = entry
    imports = Imports(
        (entry.file.path for entry in entries),
        (pair for entry in found.launch for pair in _configured(entry)),
    )
    for entry in _bases(entries, imports):
        loaded[entry.file.path] = entry
    for entry in _dataclasses(entries, imports):
        loaded[entry.file.path] = entry
    for entry in _reexports(entries, imports):
        loaded[entry.file.path] = entry
    for entry in _helpers(entries, imports):
        loaded[entry.file.path] = entry
    for entry in _wrappers(found, entries, imports):
        loaded[entry.file.path] = entry
    defined = {
        name for entry in loaded.values() if entry.analysed for name, _ in entry.ask(classes)
    }
    defined |= {imports.name(entry.file.path) for entry in loaded.values() if entry.analysed}
    for entry in loaded.values():
        if entry.analysed:
            entry.module = imports.name(entry.file.path)
            _imported_names(entry, imports)
            entry.chosen = tuple(
                sorted({(k, n if "." in n or n in defined else "") for k, n in entry.chosen})
            )
    return loaded


def _configured(entry: Entry) -> Iterator[tuple[str, str]]:
    """What a configuration has a program make; what is named at its top, under its folder, which is a group of hydra's."""
    folder = os.path.basename(os.path.dirname(entry.file.path))
    for keys, name in entry.ask(classes_of_configuration):
        yield keys or f".{folder}", name


def _is_dead(entry: Entry) -> bool:
    """Whether neither an import nor a launch gets to a file: `policy.py` beside `policy/`, and no script.

    RL4LMs 97df0bd rl4lms/envs/text_generation/policy.py: what the package was made of was left behind.
    """
    return is_shadowed(entry.file.path) and "__main__" not in entry.read()


def open_all(entries: Iterable[Entry]) -> None:
    """Read `entries`, and parse what is analysed of them."""
    entries = list(entries)
    large = _relevant_bytes(entries) > SHARED_BYTES
    for entry in entries:
        if not entry.analysed:
            entry.read()
        elif entry.tree is None:
            entry.analysed = entry.parse() is not None
            if large and entry.tree is not None:
                share_line_numbers(entry.tree)


def groups_of(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Loaded files in groups that no import joins; what is not analysed comes last, each by itself.

    What is found in a file depends on the files of its group, on what else has its imports' names, and on
    how the code is launched.
    """
    entries = list(entries)
    by_module = {entry.module: entry for entry in entries if entry.analysed}
    leader = {module: module for module in by_module}

    def find(module: str) -> str:
        while leader[module] != module:
            leader[module] = leader[leader[module]]
            module = leader[module]
        return module

    for module, entry in by_module.items():
        for dotted in (entry.meant or {}).values():
            while dotted:
                if dotted in by_module:
                    leader[find(dotted)] = find(module)
                dotted = dotted.rpartition(".")[0]
    groups: dict[str, list[Entry]] = {}
    for module, entry in by_module.items():
        groups.setdefault(find(module), []).append(entry)
    return [*groups.values(), *([entry] for entry in entries if not entry.analysed)]


def first_names(entries: Iterable[Entry]) -> set[str]:
    """The first parts of the module names in the imports of analysed files, as written and as meant."""
    return {
        name.partition(".")[0]
        for entry in entries
        if entry.analysed
        for name in (
            *(entry.meant or {}).values(),
            *(module for _, module, _ in entry.ask(imports_of)[0]),
        )
    }


def _take(entry: Entry) -> bool:
    """Have a file analysed; False where it has no syntax tree."""
    entry.analysed = entry.parses()
    return entry.analysed


@dataclass(slots=True)
class _Context:
    """What lies around the named files: code, that of it which a check of everything reports, launch files."""

    files: dict[str, ProjectFile]
    own: set[str] = field(default_factory=set)
    launch: list[ProjectFile] = field(default_factory=list)


def _context(
    paths: Sequence[str | Path],
    tree: SettingsTree,
    named: FileSet,
    view: View,
    result: Survey,
) -> _Context:
    """The rest of the projects that the named files belong to: names resolve there."""
    around: dict[tuple[Path, ...], None] = {}
    sources = set()
    for each in paths:
        path = Path(os.path.abspath(each))
        if path.is_dir() and not is_package(str(path)):
            continue  # a whole tree is its own context
        if path.exists() or str(path) in view.overlays:
            around.setdefault(tuple(neighbourhood(path)))
            sources.add(tree.of(str(path if path.is_dir() else path.parent)).source)
    context = _Context({file.path: file for file in named.known})
    named_files = {file.path for file in named.reported}
    launch: dict[str, ProjectFile] = {}
    for places in around:
        found = discover(places, tree, view=view, limit=CONTEXT_LIMIT)
        if found.incomplete:
            result.notes.append(
                f"{places[0]}: more than {CONTEXT_LIMIT:,} files; only what is named is known"
            )
            continue
        for file in (*found.files, *found.known):
            if file.path not in named_files:
                context.files.setdefault(file.path, file)
        for file in found.reported:
            # What other settings say of a file is found where these apply.
            if file.path not in named_files and (
                tree.of(os.path.dirname(file.path)).source in sources
            ):
                context.own.add(file.path)
                if kind_of(file.path) is not None:
                    launch.setdefault(file.path, file)
    context.launch = list(launch.values())
    return context


def _search(path: str, data: bytes, literals: Sequence[bytes]) -> FileFacts:
    launches = path.endswith(NOTEBOOK) and says_launch(Kind.SHELL, data)
    return FileFacts(
        digest=content_digest(data),
        relevant=launches or holds_any(data, literals),
        marked=_MARK in data,
        readable=is_readable(data),
        any_rank=takes_any_rank(data),
        clips=says_clipping(data),
        loads_wrapped=loads_wrapped(data),
        hyphen=takes_a_hyphen(data),
        composes=composes_in_code(data),
        of_mmcv_1=needs_mmcv_1(data),
        opens=opened(data),
        old_torch=needs_torch_1(data),
        in_package=needs_package(data),
        spawns=spawns_for_all(data),
        told=tells_in_head(path, data),
        imports=imported_by(data),
    )


def _search_launch(path: str, data: bytes) -> FileFacts:
    kind = kind_of(path)
    assert kind is not None
    text = as_utf_8(path, data)
    return FileFacts(
        digest=content_digest(data),
        relevant=is_relevant(kind, text) and is_readable(text),
        marked=_MARK in data,
        readable=True,
    )


def load_launch(entries: Sequence[Entry], notes: list[str]) -> list[Entry]:
    """Give scripts and configurations their texts; what is gone meanwhile, or no text, goes to `notes`."""
    loaded = []
    for entry in entries:
        entry.read()
        if entry.failure is None:
            loaded.append(entry)
        else:
            notes.append(f"{entry.file.shown}: {entry.failure.reason}")
    return loaded


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


def _second_wave(entries: Sequence[Entry], literals: Sequence[bytes]) -> list[Entry]:
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
    calls = {entry.file.path: frozenset(entry.ask(called_names).split()) for entry in rest}
    counts = Counter(name for names in calls.values() for name in names)
    frequent = max(len(rest) // 100, 10)
    words = [literal.decode("latin-1") for literal in literals]
    wave = [entry for entry in entries if entry.analysed]
    reaching: set[str] = set()
    taken: list[Entry] = []
    for _ in range(WAVES):
        defined = Counter(name for entry in wave for name, _, _ in entry.ask(callables, words))
        known = frozenset(reaching)
        for entry in wave:
            for name, holds, called in entry.ask(callables, words):
                telling = defined[name] == 1 and counts[name] <= frequent
                if telling and (holds or not known.isdisjoint(called.split())):
                    reaching.add(name)
        wave = [
            entry
            for entry in rest
            if not entry.analysed
            and entry.failure is None
            and not calls[entry.file.path].isdisjoint(reaching)
        ]
        taken += wave
        wave = [entry for entry in wave if _take(entry)]
        if not wave:
            break
    return taken


def _bases(entries: Sequence[Entry], imports: Imports) -> list[Entry]:
    """Files without a literal whose classes stand between parsed ones: what is inherited passes through.

    Only bases that are imported from where they are defined are followed.
    """
    by_module = {imports.name(entry.file.path): entry for entry in entries}
    wave = [entry for entry in entries if entry.analysed]
    defined = {name for entry in wave for name, _ in entry.ask(classes)}
    taken: list[Entry] = []
    for _ in range(WAVES):
        wanted: dict[str, set[str]] = {}
        for entry in wave:
            bases = {base for _, own in entry.ask(classes) for base in own} - defined
            bases.update(name for name in entry.ask(annotated_classes) if name not in defined)
            for dotted in _imported_names(entry, imports) if bases else ():
                module, _, name = dotted.rpartition(".")
                if name in bases:
                    wanted.setdefault(module, set()).add(name)
        wave = []
        for module in sorted(wanted.keys() & by_module.keys()):
            entry = by_module[module]
            inherits = not entry.analysed and _inherits(entry, wanted[module], defined)
            if inherits and _take(entry):
                wave.append(entry)
        taken += wave
        if not wave:
            break
        defined |= {name for entry in wave for name, _ in entry.ask(classes)}
    return taken


def _dataclasses(entries: Sequence[Entry], imports: Imports) -> list[Entry]:
    """Files without a literal whose dataclasses are the options of a parsed one, and those that these derive from.

    LLaMA-Factory's hparams/model_args.py, of which hparams/parser.py makes a parser.
    """
    by_module = {imports.name(entry.file.path): entry for entry in entries}
    wanted = {entry.file.path: entry.ask(parsed_classes) for entry in entries if entry.analysed}
    wave = [entry for entry in entries if wanted.get(entry.file.path)]
    taken: list[Entry] = []
    for _ in range(WAVES):
        modules = {
            module
            for entry in wave
            for module, _, name in (d.rpartition(".") for d in _imported_names(entry, imports))
            if name in wanted[entry.file.path]
        }
        wave = [by_module[each] for each in sorted(modules & by_module.keys())]
        wave = [entry for entry in wave if not entry.analysed and _take(entry)]
        wanted = {
            entry.file.path: [base for _, own in entry.ask(classes) for base in own]
            for entry in wave
        }
        taken += wave
    return taken


def _inherits(entry: Entry, names: Container[str], defined: Container[str]) -> bool:
    """Whether one of the classes `names` of a file has a base called like one of `defined`."""
    return any(
        base.strip().rpartition(".")[2] in defined
        for name, bases in entry.ask(bases_as_written)
        if name in names
        for base in bases.split(",")
    )


def _reexports(entries: Sequence[Entry], imports: Imports) -> list[Entry]:
    """The `__init__` files through which names of parsed modules reach other parsed modules.

    Those that pass on nothing of a parsed module are left out: transformers has 550 of them, and only
    those above a parsed module are parsed to see it.
    """
    parsed = [entry for entry in entries if entry.analysed]
    telling = {imports.name(entry.file.path) for entry in parsed}
    above = {name[:end] for name in telling for end, char in enumerate(name) if char == "."}
    packages = [entry for entry in entries if entry.file.path.endswith("__init__.py")]
    by_module = {imports.name(entry.file.path): entry for entry in packages}
    by_module = {name: entry for name, entry in by_module.items() if name in above}
    found: dict[str, frozenset[str]] = {}
    wave = parsed
    for _ in range(REEXPORT_DEPTH):
        named = {name for entry in wave for name in _imported_names(entry, imports)}
        wave = [
            entry
            for name in sorted(named & by_module.keys())
            if not (entry := by_module[name]).analysed and entry.failure is None and _take(entry)
        ]
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
        by_module[name].analysed = False
        by_module[name].tree = None
    return [by_module[name] for name in sorted(kept)]


def _helpers(entries: Sequence[Entry], imports: Imports) -> list[Entry]:
    """Files without a literal that touch files, draw, or define models or data sets, and that a file with
    one imports: its ranks all call them. Those too through which it comes to another file that is read.

    And those that such a file imports; what lies behind a package's `__init__` is no further away than the package. Of
    trees above WAVE_BYTES, only those that download.
    """
    by_module = {
        imports.name(entry.file.path): entry
        for entry in entries
        if not entry.analysed and entry.failure is None
    }
    large = sum(entry.file.stamp[2] for entry in by_module.values()) > WAVE_BYTES
    telling = downloads if large else serves_training
    # What a package passes on it also runs: its data sets put themselves into a registry.
    wave = [
        e
        for e in entries
        if e.analysed
        and e.facts
        and (e.facts.relevant or (not large and e.file.path.endswith("__init__.py")))
    ]
    read = {imports.name(entry.file.path) for entry in entries if entry.analysed}

    def leads_on(entry: Entry) -> bool:
        return not large and not read.isdisjoint(_imported_names(entry, imports))

    taken: list[Entry] = []
    for _ in range(WAVES):
        passing, wave = wave, []
        while passing:
            named = {name for entry in passing for name in _imported_names(entry, imports)}
            passing = []
            for name in sorted(named & by_module.keys()):
                entry = by_module.pop(name)
                if (entry.ask(telling) or leads_on(entry)) and _take(entry):
                    (passing if entry.file.path.endswith("__init__.py") else wave).append(entry)
            taken += passing
        taken += wave
    return taken


def _wrappers(found: Survey, entries: Sequence[Entry], imports: Imports) -> list[Entry]:
    """Short scripts without a literal that launches name, and that have a parsed file do the work.

    LLaVA's llava/train/train_mem.py: `from llava.train.train import train`, and `train()`.
    """
    named = {name for entry in found.launch for name in entry.ask(scripts_named)}
    telling = {imports.name(entry.file.path) for entry in entries if entry.analysed}
    short = [
        entry
        for entry in entries
        if not entry.analysed
        and entry.failure is None
        and entry.file.stamp[2] <= WRAPPER_BYTES
        and os.path.basename(entry.file.path) in named
    ]
    return [
        entry
        for entry in short
        if not telling.isdisjoint(_imported_names(entry, imports)) and _take(entry)
    ]


def _imported_names(entry: Entry, imports: Imports) -> frozenset[str]:
    """The names of modules of the tree that the imports of a parsed file mention, and names in them."""
    if entry.meant is None:
        written, added, script = entry.ask(imports_of)
        asked = [(level, module, name) for level, module, name in written]
        entry.meant = imports.meant(entry.file.path, asked, added, script)
        if not added:
            entry.lacking = tuple(sorted(set(imports.lacking(entry.file.path, asked))))
        by_name: bool = bool(imports.configured) and entry.ask(imports_by_name)
        if by_name:
            chosen, entry.chosen = imports.chosen(entry.file.path, added, script)
            entry.meant = {**chosen, **entry.meant}
    names = frozenset(entry.meant.values())
    return names | {name.rpartition(".")[0] for name in names}
