import os
import shutil


def remove(path):
    # a file that one of two saves has made, and a folder
    if os.path.isfile(path):
        os.remove(path)  # expect: DL305
    elif os.path.isdir(path):
        shutil.rmtree(path)  # expect: DL305
