from sd import loader, models


def load_models(args):
    return models(args)


def make_loader(args):
    return loader(args)


def unwrap_all(models):
    return [m.module if hasattr(m, "module") else m for m in models]
