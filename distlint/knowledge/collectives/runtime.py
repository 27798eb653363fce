"""distlint's own runtime, which fixed code calls."""

from distlint.knowledge.schema import CallRow, Effect

COLLECTIVE = Effect.COLLECTIVE

ROWS: tuple[CallRow, ...] = (
    CallRow(
        "distlint.runtime.any_rank",
        COLLECTIVE,
        "any_rank",
        group_keyword="",
        source="distlint 0.1.0 distlint/runtime/agreement.py",
    ),
    CallRow(
        "distlint.runtime.all_ranks",
        COLLECTIVE,
        "all_ranks",
        group_keyword="",
        source="distlint 0.1.0 distlint/runtime/agreement.py",
    ),
    CallRow(
        "distlint.runtime.barrier",
        COLLECTIVE,
        "runtime_barrier",
        group_keyword="",
        result="none",
        source="distlint 0.1.0 distlint/runtime/sections.py",
    ),
    CallRow(
        "distlint.runtime.wait_for_everyone",
        COLLECTIVE,
        "runtime_barrier",
        group_keyword="",
        result="none",
        source="distlint 0.1.0 distlint/runtime/sections.py",
    ),
    CallRow(
        "distlint.runtime.main_process_first",
        COLLECTIVE,
        "main_process_first",
        group_keyword="",
        result="none",
        first="main",
        context=True,
        exit_too=True,
        failure_reaches_all=True,
        source="distlint 0.1.0 distlint/runtime/sections.py",
    ),
    CallRow(
        "distlint.runtime.run_on_main",
        COLLECTIVE,
        "run_on_main",
        group_keyword="",
        result="rank",
        source="distlint 0.1.0 distlint/runtime/sections.py",
        # the others wait for the main process, and hear of its exception
    ),
    CallRow(
        "distlint.runtime.save",
        COLLECTIVE,
        "save",
        group_keyword="",
        result="none",
        path=1,
        path_keyword="path",
        also=(Effect.GUARDED_WRITE,),
        writers="main",
        atomic=True,
        source="distlint 0.1.0 distlint/runtime/saving.py",
    ),
    CallRow(
        "distlint.runtime.full_state_dict",
        COLLECTIVE,
        "full_state_dict",
        group_keyword="",
        result="rank",
        source="distlint 0.1.0 distlint/runtime/state.py",
    ),
)
