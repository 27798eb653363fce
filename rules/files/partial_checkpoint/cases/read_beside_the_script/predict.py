import torch
from toolbox.nets import net

# srgan_cosmo2d predict.py:209: it wraps what it loads into, as the training does
wrapped = torch.nn.DataParallel(net())
wrapped.load_state_dict(torch.load("net.pth"))
