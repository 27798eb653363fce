import numpy as np
import torch
import torch.distributed as dist


class Scorer:
    def __init__(self, num_class):
        self.num_class = num_class
        self.confusion_matrix = np.zeros((num_class, num_class))

    def pixel_accuracy(self):
        return np.diag(self.confusion_matrix).sum() / self.confusion_matrix.sum()

    def mean_iou(self):
        return np.nanmean(np.diag(self.confusion_matrix))

    def add_batch(self, gt, pred):
        self.confusion_matrix += self._generate(gt, pred)

    def _generate(self, gt, pred):
        return np.bincount(gt + pred)

    def reset(self):
        self.confusion_matrix = np.zeros((self.num_class, self.num_class))

    def add_up(self):
        counts = torch.from_numpy(self.confusion_matrix).cuda()
        dist.all_reduce(counts)
        self.confusion_matrix = counts.cpu().numpy()
