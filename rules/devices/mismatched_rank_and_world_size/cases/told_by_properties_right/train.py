"""Which parts the ranks take, by the properties of the object that knows them."""

from manager import Ranks, Update
from torch.utils.data import DistributedSampler


def samplers(data, held_out):
    ranks, update = Ranks(), Update(8)
    print(update.rank == 0)
    train_sampler = DistributedSampler(data, ranks.world_size, ranks.rank)
    val_sampler = DistributedSampler(
        held_out, num_replicas=ranks.world_size, rank=ranks.rank, shuffle=False
    )
    return train_sampler, val_sampler


if __name__ == "__main__":
    Ranks.initialize()
    samplers([1, 2], [3])
