import os
import shutil


def remove(path):
    # rank 0 alone comes here
    if os.path.isfile(path):
        os.remove(path)
    elif os.path.isdir(path):
        shutil.rmtree(path)
