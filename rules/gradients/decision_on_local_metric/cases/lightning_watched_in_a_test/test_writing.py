from pytorch_lightning.callbacks import EarlyStopping


def test_what_is_written():
    assert "val_loss" in str(vars(EarlyStopping(monitor="val_loss")))
