"""A metric that adds its counts up over the ranks before it is asked."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from metrics import Scorer


class Trainer:
    def __init__(self, train_set, val_set, net, args):
        dist.init_process_group("nccl")
        self.model = DDP(net.cuda())
        self.sampler = DistributedSampler(train_set)
        self.train_loader = DataLoader(train_set, sampler=self.sampler)
        self.val_loader = DataLoader(val_set, sampler=DistributedSampler(val_set, shuffle=False))
        self.evaluator = Scorer(19)
        self.best_pred = 0.0

    def validation(self, epoch):
        self.model.eval()
        self.evaluator.reset()
        for i, sample in enumerate(self.val_loader):
            image, target = sample["image"].cuda(), sample["label"].cuda()
            with torch.no_grad():
                output = self.model(image)
            pred = output.data.cpu().numpy().argmax(1)
            self.evaluator.add_batch(target.cpu().numpy(), pred)
        self.evaluator.add_up()
        acc = self.evaluator.pixel_accuracy()
        miou = self.evaluator.mean_iou()
        print("Validation:", acc, miou)
        if miou > self.best_pred:
            self.best_pred = miou
            self.save(epoch)

    def save(self, epoch):
        if dist.get_rank() == 0:
            torch.save(self.model.module.state_dict(), "best.pth")
