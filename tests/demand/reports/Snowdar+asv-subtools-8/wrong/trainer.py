import torch


class SimpleTrainer:
    def __init__(self, bunch, model, optimizer, epochs):
        self.training_point = [0, 0]
        self.elements = {"data": bunch, "model": model, "optimizer": optimizer}
        self.epochs = epochs

    def train_one_batch(self, batch):
        model, optimizer = self.elements["model"], self.elements["optimizer"]
        model.train()
        inputs, targets = batch
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs.cuda()), targets.cuda())
        loss.backward()
        optimizer.step()
        return loss.item()

    def run(self):
        data = self.elements["data"]
        for this_epoch in range(self.epochs):
            for this_iter, batch in enumerate(data.train_loader):
                self.training_point = [this_epoch, this_iter]
                self.train_one_batch(batch)
