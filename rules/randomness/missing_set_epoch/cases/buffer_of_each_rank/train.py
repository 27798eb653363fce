# OpenRLHF f5c137f openrlhf/trainer/ppo_trainer.py:277: without a sampler a loader shuffles anew.
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from tqdm import tqdm


class Trainer:
    def fit(self, data, episodes):
        sampler = DistributedSampler(data)
        loader = DataLoader(data, sampler=sampler)
        for episode in range(episodes):
            sampler.set_epoch(episode)
            for prompt in loader:
                self.buffer.append(self.model(prompt))
        self.learn()

    def learn(self):
        loader = DataLoader(self.buffer, batch_size=8, shuffle=True)
        for epoch in range(self.epochs):
            bar = tqdm(loader, desc=f"epoch {epoch}")
            for batch in bar:
                self.model(batch).sum().backward()


if __name__ == "__main__":
    dist.init_process_group("nccl")
    Trainer().fit(range(100), 3)
