"""A sampler that hands out another one's batches until there are enough."""

from torch.utils.data import BatchSampler


class Until(BatchSampler):
    # maskrcnn-benchmark 57eec25 maskrcnn_benchmark/data/samplers/iteration_based_batch_sampler.py:24, without the call
    def __init__(self, batch_sampler, count):
        self.batch_sampler, self.count = batch_sampler, count

    def __iter__(self):
        done = 0
        while done <= self.count:
            for batch in self.batch_sampler:
                done += 1
                if done > self.count:
                    break
                yield batch
