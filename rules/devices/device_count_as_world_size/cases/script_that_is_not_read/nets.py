import torch


class Pair:
    def __init__(self, first, second, device):
        self.first = first.to(device)
        self.second = second.to(device)
        if torch.cuda.device_count() > 1:
            self.first = torch.nn.DataParallel(self.first)
            self.second = torch.nn.DataParallel(self.second)
