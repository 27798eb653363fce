import torch
import torch.distributed as dist


class Trainer:
    def __init__(self, args, dataloaders, model, loss_fn, optimizer, device_id, device, dtype):
        self.args = args
        self.dataloaders = dataloaders
        self.model = model
        self.loss_fn = loss_fn
        self.optimizer = optimizer
        self.device_id = device_id
        self.device, self.dtype = device, dtype
        self.best_loss = float("inf")

    def train(self):
        for epoch in range(self.args.num_epoch):
            self.dataloaders["train"].sampler.set_epoch(epoch)
            self.train_epoch()
            if self.device_id <= 0:
                predict, targets = self.predict("valid")
                loss = self.loss_fn(predict, targets)
                if loss < self.best_loss:
                    self.best_loss = loss
                    torch.save({"model_state": self.model.module.state_dict()}, self.args.bestfile)

    def train_epoch(self):
        self.model.train()
        for data, label in self.dataloaders["train"]:
            self.optimizer.zero_grad()
            self.loss_fn(self.model(data.to(self.device)), label.to(self.device)).backward()
            self.optimizer.step()

    def predict(self, split):
        self.model.eval()
        predictions, targets = [], []
        with torch.no_grad():
            for data, label in self.dataloaders[split]:
                predictions.append(self.model.module(data.to(self.device)))
                targets.append(label.to(self.device))
        if self.args.distributed:
            dist.barrier()
        return torch.cat(predictions), torch.cat(targets)
