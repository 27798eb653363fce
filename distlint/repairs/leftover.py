"""Copies that nobody imports any more: an edit in one of them would repair nothing that runs."""

from __future__ import annotations

from distlint.analysis.program.definitions import Module
from distlint.analysis.program.linked import importers
from distlint.analysis.program.program import Program


def used_twin(program: Program, module: Module) -> Module | None:
    """The file in use of which another one is a copy that was left behind; None where nothing shows that.

    Amphion d3de90f models/codec/codec_inference.py holds word for word the class and the functions of
    models/vocoders/vocoder_inference.py, and everybody imports that one. A file that may be started, or whose
    names another file does not have, may be there for somebody else.
    """
    names = {*module.classes, *module.functions}
    if not module.classes or module.is_script or len(importers(program, module)) > 1:
        return None
    for other in program.modules.values():
        if (
            other is not module
            and names <= {*other.classes, *other.functions}
            and len(importers(program, other)) > 1
        ):
            return other
    return None
