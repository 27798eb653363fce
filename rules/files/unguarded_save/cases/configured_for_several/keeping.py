import torch
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.utilities import rank_zero_only


class Keeper(Callback):
    def on_train_epoch_end(self, trainer, pl_module):
        torch.save(pl_module.state_dict(), "epoch.pt")  # expect: DL301


class KeeperOfMain(Callback):
    @rank_zero_only
    def on_train_epoch_end(self, trainer, pl_module):
        torch.save(pl_module.state_dict(), "epoch_of_main.pt")
