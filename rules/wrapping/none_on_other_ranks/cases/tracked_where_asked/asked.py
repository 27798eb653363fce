"""Asked is the run, a flag of the logger, or what the library raises."""

import torch.distributed as dist
import wandb


class Logger:
    def __init__(self, folder):
        self.on = self.run = None
        if dist.get_rank() == 0:
            self.run = wandb.init(dir=folder)
            self.on = True

    def of_the_library(self, values):
        dist.barrier()
        if wandb.run is not None:
            wandb.log(values)

    def of_its_own(self, values):
        dist.barrier()
        if self.run is not None:
            wandb.log(values)

    def of_a_flag(self, values):
        dist.barrier()
        if self.on:
            wandb.log(values)

    def leaves(self, values):
        dist.barrier()
        if self.run is None:
            return
        wandb.log(values)

    def expects_it(self, values):
        dist.barrier()
        try:
            wandb.log(values)
        except wandb.Error:
            print(values)


def main():
    dist.init_process_group("nccl")
    logger = Logger("logs")
    for write in (logger.of_the_library, logger.of_its_own):
        write({"loss": 0.0})
    logger.of_a_flag({"loss": 0.0})
    logger.leaves({"loss": 0.0})
    logger.expects_it({"loss": 0.0})


main()
