from mmengine.config import Config
from mmengine.runner import Runner


def register_all():
    import engine.loops


if __name__ == "__main__":
    register_all()
    Runner.from_cfg(Config.fromfile("config.py")).train()
