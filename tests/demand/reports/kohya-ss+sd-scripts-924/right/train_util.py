from torch.nn.parallel import DistributedDataParallel as DDP

from sd import loader, models


def load_models(args):
    return models(args)


def make_loader(args):
    return loader(args)


def transform_if_model_is_DDP(model):
    return model.module if isinstance(model, DDP) else model
