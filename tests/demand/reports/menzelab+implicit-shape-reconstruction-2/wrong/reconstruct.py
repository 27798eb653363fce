import sys

import torch

from shapes import AutoDecoder, fit_latent

net = AutoDecoder()
net.load_state_dict(torch.load(sys.argv[1], map_location="cpu"))
fit_latent(net.eval())
