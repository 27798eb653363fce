"""How launchers are named, and by which variables of the environment they number the processes that they start."""

from __future__ import annotations

import re
from typing import Final

from distlint.patterns import pattern

VARIABLES: Final = (
    r"(?:(?:GLOBAL_|LOCAL_|NODE_|GROUP_)?RANK|(?:LOCAL_)?WORLD_SIZE"
    r"|(?:SLURM_|OMPI_|PMI_|PMIX_|MV2_|HOROVOD_|MPI_)\w*(?:RANK|SIZE|PROCID|LOCALID|NTASKS|JOBID|JOB_ID))"
)
"""Variables by which launchers number the processes."""
LAUNCHERS: Final = (
    r"torchrun|torch\.distributed\.(?:run|launch)\b|accelerate[ -]launch|deepspeed[ \t]+[\w./-]+\.py|mpirun|mpiexec|srun\b"
    r"|horovodrun|nproc_per_node|nproc-per-node|elastic_launch"
)
"""What a text has that names a launcher, starts one, or says how many processes one starts."""
MAKES_GROUP: Final = pattern(
    r"init\w*_?(?:process_group|dist(?!ance)|ddp|device_mesh|parallel|megatron)|set_?up_?(?:dist|ddp)|(?:dist|ddp)\w*_?set_?up",
    re.IGNORECASE,
)
"""Names of what makes a process group, of whatever object."""
_NUMBERS: Final = pattern(rf"[\"']{VARIABLES}[\"']")
_LAUNCHERS: Final = pattern(LAUNCHERS)


def names_launcher(text: str) -> bool:
    """Whether a text names a launcher."""
    return _LAUNCHERS.search(text) is not None


def is_numbered(text: str) -> bool:
    """Whether a text names a launcher, or a variable by which one numbers its processes, as a text of its own.

    A library that has 0 for who was not launched says nothing of an entry point: yolov9 5b1ea9a utils/general.py,
    `RANK = int(os.getenv("RANK", -1))`, which detect.py imports as well.
    """
    return names_launcher(text) or _NUMBERS.search(text) is not None


__all__ = ["LAUNCHERS", "MAKES_GROUP", "VARIABLES", "is_numbered", "names_launcher"]
