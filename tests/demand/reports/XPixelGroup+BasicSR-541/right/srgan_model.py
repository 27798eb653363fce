import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from archs import Discriminator, RRDBNet


class SRGANModel:
    def __init__(self, opt, device):
        self.opt, self.device = opt, device
        self.net_g = self.model_to_device(RRDBNet())
        self.net_d = self.model_to_device(Discriminator())
        self.optimizer_g = torch.optim.Adam(self.net_g.parameters(), lr=1e-4)
        self.optimizer_d = torch.optim.Adam(self.net_d.parameters(), lr=1e-4)
        self.cri_gan = nn.BCEWithLogitsLoss()

    def model_to_device(self, net):
        net = net.to(self.device)
        if self.opt["dist"]:
            find_unused = self.opt.get("find_unused_parameters", False)
            net = DistributedDataParallel(net, device_ids=[torch.cuda.current_device()], find_unused_parameters=find_unused, broadcast_buffers=False)
        return net

    def optimize_parameters(self, lq, gt):
        for p in self.net_d.parameters():
            p.requires_grad = False
        self.optimizer_g.zero_grad()
        output = self.net_g(lq)
        fake = self.net_d(output)
        (self.cri_gan(fake, torch.ones_like(fake)) + (output - gt).abs().mean()).backward()
        self.optimizer_g.step()
        for p in self.net_d.parameters():
            p.requires_grad = True
        self.optimizer_d.zero_grad()
        real_d = self.net_d(gt)
        fake_d = self.net_d(output.detach())
        loss = self.cri_gan(real_d - fake_d.mean(), torch.ones_like(real_d))
        loss += self.cri_gan(fake_d - real_d.mean(), torch.zeros_like(fake_d))
        loss.backward()
        self.optimizer_d.step()
