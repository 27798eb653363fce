# splade 8dcd33a splade/tasks/base/evaluator.py:49: the scripts of several ranks do not come here
import torch
from reading import Reader


class Scores(Reader):
    def __init__(self, model):
        if torch.cuda.device_count() > 1:
            model = torch.nn.DataParallel(model)
        self.model = model
