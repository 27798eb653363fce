"""Rank 0 validates on its part of the pipeline alone."""

# modulus 878fd04 examples/weather/unified_recipe/train.py:370, examples/cfd/datacenter/train.py:52
from manager import Ranks
from pipeline import Pipeline


def main(model, samples, held_out):
    Ranks.initialize()
    ranks = Ranks()
    training = Pipeline(samples, process_rank=ranks.rank, world_size=ranks.world_size)
    validation = Pipeline(held_out, process_rank=ranks.rank, world_size=ranks.world_size)
    for batch in training:
        model(batch).backward()
    if ranks.rank == 0:
        error = 0.0
        for batch in validation:  # expect: DL611
            error += model(batch).item()
        print(error)


if __name__ == "__main__":
    main(abs, [1.0, 2.0], [3.0, 4.0])
