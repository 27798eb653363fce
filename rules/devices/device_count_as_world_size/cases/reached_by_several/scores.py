import torch
from reading import Reader


class Scores(Reader):
    def __init__(self, model):
        if torch.cuda.device_count() > 1:  # expect: DL508
            model = torch.nn.DataParallel(model)
        self.model = model
