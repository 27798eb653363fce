import torch
from toolbox.nets import net

bare = net()
bare.load_state_dict(torch.load("net.pth"))
