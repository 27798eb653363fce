import os
import shutil


def remove(path):
    # FunASR dfcc5d4 funasr/utils/misc.py:108
    if os.path.isfile(path):
        os.remove(path)
    elif os.path.isdir(path):
        shutil.rmtree(path)  # expect: DL305
