"""The sampler for evaluation is told the epoch, and not the one to train."""

from torch.utils.data import DataLoader, DistributedSampler


def the_other_sampler_is_told(model, train_data, held_out, epochs):
    # generative-recommenders 2e81fab generative_recommenders/research/trainer/train.py:307 tells both
    sampler = DistributedSampler(train_data)  # expect: DL403
    eval_sampler = DistributedSampler(held_out)
    loader = DataLoader(train_data, sampler=sampler)
    eval_loader = DataLoader(held_out, sampler=eval_sampler)
    for epoch in range(epochs):
        eval_sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).sum().backward()
        for batch in eval_loader:
            model(batch)
