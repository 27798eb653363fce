import numpy as np


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
