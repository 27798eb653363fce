"""Copies the runtime into a user's package, so that a training image needs no linter."""

from __future__ import annotations

from pathlib import Path

from distlint.records import dataclass

MARK = "# Copied from distlint {version} by `distlint vendor`: change it there, not here.\n"
LICENSE = "# SPDX-License-Identifier: Apache-2.0\n"
_MARK_START = MARK.partition("{")[0]


class CannotVendor(Exception):
    """Why the copy was not written, in one line that says what to do."""


@dataclass(frozen=True, slots=True)
class Vendored:
    """What was written.

    module: the name to import it by, and the value of the setting ``runtime-module``.
    files: the names of the files, sorted.
    """

    module: str
    files: tuple[str, ...]


def vendor_runtime(target: Path, *, force: bool) -> Vendored:
    """Writes the runtime as the package `target`, whole or not at all.

    Args:
        target: the directory that becomes the package; its parent must exist.
        force: replace an earlier copy. Anything else is never replaced.

    Raises:
        CannotVendor: the name cannot be imported, the place is taken, or cannot be written.
    """
    if not target.name.isidentifier():
        raise CannotVendor(
            f"{target}: `{target.name}` cannot be imported: end the path in the name of a package, "
            "for instance mypackage/distributed"
        )
    if not target.parent.is_dir():
        raise CannotVendor(f"{target}: {target.parent} is not a directory: create it first")
    if target.exists():
        _check_replaceable(target, force)
    files = _copies()
    try:
        _write(target, files)
    except OSError as error:
        raise CannotVendor(f"{target}: {error.strerror or error}") from None
    return Vendored(_module_name(target), tuple(sorted(files)))


def ensure_vendored(target: Path) -> Vendored:
    """The copy at `target`, made where there is none; `files` is empty where it was there.

    Raises:
        CannotVendor: as `vendor_runtime`.
    """
    if is_copy(target):
        return Vendored(_module_name(target), ())
    return vendor_runtime(target, force=False)


def is_copy(folder: str | Path) -> bool:
    """Whether a folder is a package that was copied from the runtime."""
    try:
        with Path(folder, "__init__.py").open(encoding="utf-8", errors="replace") as init:
            return init.readline().startswith(_MARK_START)
    except OSError:
        return False


def _check_replaceable(target: Path, force: bool) -> None:
    if not is_copy(target):
        raise CannotVendor(
            f"{target} exists and is not a copy of the runtime: name a directory that is not there"
        )
    if not force:
        raise CannotVendor(f"{target} holds a copy already: pass --force to replace it")


def _copies() -> dict[str, str]:
    """The runtime's files by name, each with its origin in the first lines."""
    from importlib import metadata, resources  # a check, which asks for copies, needs neither

    head = MARK.format(version=metadata.version("distlint")) + LICENSE
    runtime = resources.files("distlint") / "runtime"
    return {
        file.name: head + file.read_text(encoding="utf-8")
        for file in runtime.iterdir()
        if file.name.endswith(".py")
    }


def _write(target: Path, files: dict[str, str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
        new = Path(folder) / "new"
        new.mkdir()
        for name, text in files.items():
            (new / name).write_text(text, encoding="utf-8", newline="\n")
        if target.exists():
            # A rename onto a directory fails unless it is empty. The old copy goes with `folder`.
            target.rename(Path(folder) / "old")
        new.rename(target)


def _module_name(target: Path) -> str:
    names = [target.name]
    folder = target.resolve().parent
    while (folder / "__init__.py").is_file():
        names.append(folder.name)
        folder = folder.parent
    return ".".join(reversed(names))
