"""Comments that silence a finding, and comments that silence nothing."""

import torch.distributed as dist

# Bugs


def reached_by_all():
    dist.barrier()  # distlint: ignore[DL101]  # expect: DL901


def no_such_rule():
    dist.barrier()  # distlint: ignore[DL1O1]  # expect: DL901


def one_of_two():
    if dist.get_rank() == 0:
        dist.barrier()  # distlint: ignore[DL101, DL109]  # expect: DL901


# Correct


def silenced():
    if dist.get_rank() == 0:
        dist.barrier()  # distlint: ignore[DL101] the others wait in another program


def by_its_name():
    if dist.get_rank() == 0:
        # distlint: ignore[collective-not-on-all-ranks]
        dist.barrier()


def by_its_family():
    if dist.get_rank() == 0:
        dist.barrier()  # distlint: ignore[DL1]


def of_another_linter():
    dist.barrier()  # noqa: DL101
