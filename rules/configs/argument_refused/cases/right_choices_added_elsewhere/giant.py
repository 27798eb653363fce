from torch import nn

import models


class Giant(nn.Module):
    pass


models.MODELS.update(giant=Giant)
