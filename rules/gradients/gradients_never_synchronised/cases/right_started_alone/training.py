import torch


class Loop:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def run(self, batches):
        for batch in batches:
            self.model(batch).mean().backward()
            self.optimizer.step()


def accuracy(model, batches):
    return sum(model(batch).mean().item() for batch in batches)
