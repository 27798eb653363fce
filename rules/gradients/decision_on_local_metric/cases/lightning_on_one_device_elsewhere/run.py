"""What trains it."""

import lightning.pytorch as pl
from lightning.pytorch.callbacks import ModelCheckpoint

from transducer import Transducer

trainer = pl.Trainer(devices=1, callbacks=[ModelCheckpoint(monitor="val_loss")])
trainer.fit(Transducer())
