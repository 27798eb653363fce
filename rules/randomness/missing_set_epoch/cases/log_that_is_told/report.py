"""Keeps what an epoch has come to."""


class Report:
    def __init__(self):
        self.epoch = 0
        self.losses = {}

    def set_epoch(self, epoch):
        if epoch < 0:
            raise ValueError(epoch)
        self.epoch = epoch

    def add(self, loss):
        self.losses.setdefault(self.epoch, []).append(loss)
