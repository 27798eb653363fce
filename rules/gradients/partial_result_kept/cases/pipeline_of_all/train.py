"""Rank 0 validates on all that there is, and every rank adds its number to what another part gave."""

from manager import Ranks
from pipeline import Pipeline
from torch import distributed as dist


def of_my_part(model, pipeline):
    error = 0.0
    for batch in pipeline:
        error += model(batch)
    dist.all_reduce(error)
    return error


def main(model, samples, held_out):
    Ranks.initialize()
    ranks = Ranks()
    training = Pipeline(samples, process_rank=ranks.rank, world_size=ranks.world_size)
    mine = Pipeline(held_out, process_rank=ranks.rank, world_size=ranks.world_size)
    whole = Pipeline(held_out)
    for batch in training:
        model(batch).backward()
    total = of_my_part(model, mine)
    if ranks.rank == 0:
        error = 0.0
        for batch in whole:
            error += model(batch).item()
        print(total, error)


if __name__ == "__main__":
    main(abs, [1.0, 2.0], [3.0, 4.0])
