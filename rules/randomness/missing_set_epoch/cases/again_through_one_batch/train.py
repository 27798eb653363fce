from torch.utils.data import DataLoader, DistributedSampler


def train(model, data, args):
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for prompts in loader:
            answers = model.generate(prompts)
            for inner_epoch in range(args.inner_epochs):
                for part in answers.split(4):
                    model(part).sum().backward()
