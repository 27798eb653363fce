from torch import nn


class Small(nn.Module):
    pass


MODELS = {"small": Small, "large": Small}
