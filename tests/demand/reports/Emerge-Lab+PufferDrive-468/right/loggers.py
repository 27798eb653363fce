import wandb


class WandbLogger:
    def __init__(self, config):
        wandb.init(project=config["project"], config=config)
        self.wandb = wandb

    def log(self, logs, step):
        self.wandb.log(logs, step=step)
