import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from drive import make_env, make_policy
from loggers import WandbLogger


class PuffeRL:
    def __init__(self, config, vecenv, policy, logger=None):
        self.config = config
        self.vecenv = vecenv
        self.policy = policy
        self.logger = logger
        self.optimizer = torch.optim.Adam(policy.parameters(), lr=config["lr"])
        self.global_step = 0

    def train(self):
        for obs, returns in self.vecenv.rollouts():
            loss = (self.policy(obs) - returns).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.global_step += len(obs)
        if self.logger is not None:
            self.logger.log({"loss": loss.item()}, self.global_step)


def train(config):
    if "LOCAL_RANK" in os.environ:
        local_rank = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(local_rank)
        dist.init_process_group(backend="nccl")
    is_main = not dist.is_initialized() or dist.get_rank() == 0
    logger = WandbLogger(config) if is_main else None
    vecenv = make_env(config)
    policy = make_policy(vecenv).cuda()
    if dist.is_initialized():
        policy = DistributedDataParallel(policy, device_ids=[local_rank])
    trainer = PuffeRL(config, vecenv, policy, logger)
    while trainer.global_step < config["total_timesteps"]:
        trainer.train()


if __name__ == "__main__":
    train({"lr": 3e-4, "total_timesteps": 10_000_000, "project": "drive"})
