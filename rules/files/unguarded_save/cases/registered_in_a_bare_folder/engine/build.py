from mmengine.config import Config
from mmengine.runner import Runner


def make(path):
    return Runner.from_cfg(Config.fromfile(path))
